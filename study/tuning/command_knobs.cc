// A knob acts in one of three ways: `threads`, `inter`, `processes` and `placement` are known here;
// a name that the command has as {name} is text in its arguments; any other name is an environment
// variable.
#include "study/tuning/command_knobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <set>
#include <utility>

#include "base/text.h"
#include "study/tuning/scaling_model.h"

namespace dfsim::inline study {
namespace {

constexpr size_t kMostSettings = 20000;
constexpr size_t kMostValues = 64;

// Each runtime reads its own; setting all costs nothing.
constexpr std::array kThreadVariables = {"OMP_NUM_THREADS",        "MKL_NUM_THREADS",
                                         "OPENBLAS_NUM_THREADS",   "NUMEXPR_NUM_THREADS",
                                         "TF_NUM_INTRAOP_THREADS", "RAYON_NUM_THREADS"};
constexpr std::array kInterVariables = {"TF_NUM_INTEROP_THREADS"};
// The assumption about an unknown program: the start-up and dispatch of a batch take as long as a
// tenth of its first sample's arithmetic.
constexpr double kUsualBatchOverhead = 0.1;
constexpr double kUsualSaturation = 0.25;  // of the cores fill the memory's bandwidth

bool occurs(const std::vector<std::string>& command, const std::string& name) {
  return std::any_of(command.begin(), command.end(), [&name](const std::string& argument) {
    return argument.find("{" + name + "}") != std::string::npos;
  });
}

bool read_positive(const std::string& text, double* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size() && *number > 0 &&
         std::isfinite(*number);
}

StatusOr<CommandKnob> read_vary(const std::string& entry) {
  const size_t sign = entry.find('=');
  if (sign == std::string::npos || sign == 0) {
    return invalid_input(
        fmt::format("--vary {}: expected NAME=A,B,..., such as batch=1,8,32", printable(entry)));
  }
  CommandKnob knob;
  knob.name = entry.substr(0, sign);
  for (size_t begin = sign + 1; begin <= entry.size();) {
    const size_t end = std::min(entry.find(',', begin), entry.size());
    knob.values.push_back(entry.substr(begin, end - begin));
    begin = end + 1;
  }
  if (const std::set<std::string> different(knob.values.begin(), knob.values.end());
      different.size() < knob.values.size()) {
    return invalid_input(
        fmt::format("--vary {}: a value is there twice; give each one once", printable(entry)));
  }
  if (knob.values.size() > kMostValues) {
    return invalid_input(fmt::format("--vary {}: found {} values, expected at most {}",
                                     printable(knob.name), knob.values.size(), kMostValues));
  }
  const std::set<std::string> whole = {"threads", "processes", "batch", "inter"};
  for (const std::string& value : knob.values) {
    const bool fine = !value.empty() && value.size() < 10 && value.front() != '0' &&
                      value.find_first_not_of("0123456789") == std::string::npos;
    if (whole.count(knob.name) != 0 && !fine) {
      return invalid_input(fmt::format("--vary {}: found '{}', expected a whole number above 0",
                                       printable(knob.name), printable(value)));
    }
    if (knob.name == "placement") {
      DFSIM_RETURN_IF_ERROR(
          place_processes({{0, 0, 0}}, value, 1, 1).status().with_place("--vary placement"));
    }
  }
  return knob;
}

// 1, 2, 4... and `most`.
std::vector<std::string> doublings(int most) {
  std::vector<std::string> values;
  for (int value = 1; value < most; value *= 2) {
    values.push_back(std::to_string(value));
  }
  values.push_back(std::to_string(most));
  return values;
}

// Placements that differ on these processors.
std::vector<std::string> useful_placements(const std::vector<Cpu>& cpus) {
  std::vector<std::string> names = {"free"};
  if (cpus.size() > 1) {
    names.emplace_back("compact");
  }
  if (cores_of(cpus) < static_cast<int>(cpus.size()) || nodes_of(cpus) > 1) {
    names.emplace_back("spread");
  }
  if (nodes_of(cpus) > 1) {
    names.emplace_back("node");
  }
  return names;
}

// The positions of a knob's values: logarithms of numbers, else no order.
SearchAxis axis_of(CommandKnob& knob) {
  SearchAxis axis;
  std::vector<double> logs;
  for (const std::string& value : knob.values) {
    double number = 0;
    if (!read_positive(value, &number)) {
      axis.ordered = false;
      axis.positions.assign(knob.values.size(), 0);
      return axis;
    }
    logs.push_back(std::log(number));
  }
  knob.numbers = true;
  const auto [least, most] = std::minmax_element(logs.begin(), logs.end());
  for (const double log : logs) {
    axis.positions.push_back(*most > *least ? (log - *least) / (*most - *least) : 0);
  }
  return axis;
}

double prior_of(const CommandSpace& space, const SettingIndex& setting) {
  const int threads = static_cast<int>(space.number(setting, "threads", 1));
  const int processes = static_cast<int>(space.number(setting, "processes", 1));
  const auto batch = static_cast<double>(space.number(setting, "batch", 1));
  const auto cores = static_cast<double>(space.cpus.size());
  ScalingModel model;
  model.saturation = std::max(1.0, cores * kUsualSaturation);
  const double crowding = std::max(1.0, threads * processes / cores);
  return std::log(scaled_time(model, threads, processes) / processes * crowding *
                  (kUsualBatchOverhead / batch + 1 - kUsualBatchOverhead));
}

// All combinations that may run, in the order of an odometer whose first is the default.
Status enumerate(CommandSpace& space) {
  double count = 1;
  for (const CommandKnob& knob : space.knobs) {
    count *= static_cast<double>(knob.values.size());
  }
  if (count > static_cast<double>(kMostSettings) * 4) {
    return invalid_input(
        fmt::format("--vary: {:.0f} combinations, expected at most {}; give fewer values", count,
                    kMostSettings));
  }
  SettingIndex setting(space.knobs.size(), 0);
  for (bool more = true; more;) {
    const int64_t threads = space.number(setting, "threads", 1);
    const int64_t processes = space.number(setting, "processes", 1);
    const bool crowded = threads * processes > static_cast<int64_t>(space.cpus.size());
    const bool first = space.settings.empty();
    if (first || processes == 1 || !crowded) {
      space.settings.push_back(setting);
    }
    more = false;
    for (size_t i = space.knobs.size(); i-- > 0 && !more;) {
      setting[i] = (setting[i] + 1) % space.knobs[i].values.size();
      more = setting[i] != 0;
    }
  }
  if (space.settings.size() > kMostSettings) {
    return invalid_input(fmt::format("--vary: {} settings, expected at most {}; give fewer values",
                                     space.settings.size(), kMostSettings));
  }
  return ok_status();
}

Status check_placeholders(const CommandSpace& space) {
  for (const char* name : {"batch", "inter"}) {
    const bool varied = std::any_of(space.knobs.begin(), space.knobs.end(),
                                    [name](const CommandKnob& knob) { return knob.name == name; });
    if (occurs(space.command, name) && !varied) {
      return invalid_input(fmt::format(
          "{{{}}}: the command has it, but no values are given; add --vary {}=1,2,4", name, name));
    }
  }
  for (const CommandKnob& knob : space.knobs) {
    if (knob.name == "batch" && !occurs(space.command, "batch")) {
      return invalid_input(
          "--vary batch: the command has no {batch} to put the value in; write it where the batch "
          "size belongs");
    }
    const bool variable =
        !knob.name.empty() && knob.name.find_first_of("{}= \t") == std::string::npos;
    if (!variable) {
      return invalid_input(fmt::format("--vary {}: is not a name of a placeholder or variable",
                                       printable(knob.name)));
    }
  }
  return ok_status();
}

template <typename Names>
void set_all(const Names& names, const std::string& value, CommandCopy* copy) {
  for (const char* name : names) {
    copy->environment.push_back(fmt::format("{}={}", name, value));
  }
}

void replace_all(std::string& text, const std::string& what, const std::string& by) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size())) {
    text.replace(at, what.size(), by);
  }
}

void apply_knob(const CommandSpace& space, const std::string& name, const std::string& value,
                CommandCopy* copy) {
  const bool placeholder = occurs(space.command, name);
  for (std::string& argument : copy->arguments) {
    replace_all(argument, "{" + name + "}", value);
  }
  if (name == "threads") {
    set_all(kThreadVariables, value, copy);
  } else if (name == "inter") {
    set_all(kInterVariables, value, copy);
  } else if (!placeholder && name != "processes" && name != "placement") {
    copy->environment.push_back(value.empty() ? name : name + "=" + value);
  }
}

}  // namespace

CommandSetting CommandSpace::values(const SettingIndex& setting) const {
  CommandSetting result;
  for (size_t i = 0; i < knobs.size(); ++i) {
    result.push_back(knobs[i].values[setting[i]]);
  }
  return result;
}

int64_t CommandSpace::number(const SettingIndex& setting, const std::string& knob,
                             int64_t otherwise) const {
  for (size_t i = 0; i < knobs.size(); ++i) {
    if (knobs[i].name == knob) {
      return std::stoll(knobs[i].values[setting[i]]);
    }
  }
  return otherwise;
}

StatusOr<std::vector<CommandCopy>> CommandSpace::copies(const SettingIndex& setting) const {
  const int processes = static_cast<int>(number(setting, "processes", 1));
  const int threads = static_cast<int>(number(setting, "threads", 1));
  std::string placement = "free";
  CommandCopy copy;
  copy.arguments = command;
  for (size_t i = 0; i < knobs.size(); ++i) {
    const std::string& value = knobs[i].values[setting[i]];
    apply_knob(*this, knobs[i].name, value, &copy);
    if (knobs[i].name == "placement") {
      placement = value;
    }
  }
  DFSIM_ASSIGN_OR_RETURN(const auto places, place_processes(cpus, placement, processes, threads));
  std::vector<CommandCopy> result;
  for (const std::vector<int>& place : places) {
    result.push_back(copy);
    result.back().cpus = place;
  }
  return result;
}

std::string command_setting_text(const CommandSpace& space, const SettingIndex& setting) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < space.knobs.size(); ++i) {
    const std::string& value = space.knobs[i].values[setting[i]];
    if (space.knobs[i].values.size() > 1) {
      parts.push_back(fmt::format("{} {}", printable(space.knobs[i].name),
                                  value.empty() ? "unset" : printable(value)));
    }
  }
  return parts.empty() ? "as it is" : join(parts, ", ");
}

StatusOr<CommandSpace> command_space(const std::vector<std::string>& command,
                                     const std::vector<std::string>& vary, std::vector<Cpu> cpus) {
  CommandSpace space;
  space.command = command;
  space.cpus = std::move(cpus);
  const int cores = static_cast<int>(space.cpus.size());
  std::vector<std::string> threads = doublings(cores);
  std::reverse(threads.begin(), threads.end());  // all of them are the default
  space.knobs = {{"threads", threads},
                 {"processes", doublings(cores)},
                 {"placement", useful_placements(space.cpus)}};
  std::set<std::string> seen;
  for (const std::string& entry : vary) {
    DFSIM_ASSIGN_OR_RETURN(CommandKnob knob, read_vary(entry));
    if (!seen.insert(knob.name).second) {
      return invalid_input(
          fmt::format("--vary {}: is there twice; give its values once", printable(knob.name)));
    }
    const auto known = std::find_if(space.knobs.begin(), space.knobs.end(),
                                    [&knob](const CommandKnob& k) { return k.name == knob.name; });
    if (known != space.knobs.end()) {
      *known = std::move(knob);
    } else {
      space.knobs.push_back(std::move(knob));
    }
  }
  DFSIM_RETURN_IF_ERROR(check_placeholders(space));
  for (CommandKnob& knob : space.knobs) {
    space.axes.push_back(axis_of(knob));
  }
  DFSIM_RETURN_IF_ERROR(enumerate(space));
  for (const SettingIndex& setting : space.settings) {
    space.priors.push_back(prior_of(space, setting));
  }
  return space;
}

}  // namespace dfsim::inline study
