// dfsim profiles: imports other tools' measurements, validates profiles, says what they hold.
#include <fmt/format.h>

#include <map>
#include <memory>
#include <set>

#include "base/io/file.h"
#include "base/json/json_tree.h"
#include "base/text.h"
#include "base/text_table.h"
#include "base/units.h"
#include "cli/commands/commands.h"
#include "datasets/importers/importer.h"
#include "datasets/profiles/profile_io.h"
#include "datasets/profiles/profile_stats.h"
#include "opmodel/train/profile_model.h"
#include "opmodel/train/row_bounds.h"
#include "study/chain/model_source.h"

namespace dfsim::cli {
namespace {

using Json = JsonTree;

struct ProfilesOptions {
  std::vector<std::string> files;
  std::string format = "dfsim";
  std::string output = "-";
  std::string model;   // import: the optimised model that was profiled
  std::string device;  // check: the only one that may be there
  ProfileImportOptions origin;
  bool json = false;
};

Json drops_json(const DropReport& drops) {
  Json reasons = Json::object();
  for (int i = 0; i < kDropReasonCount; ++i) {
    const auto reason = static_cast<DropReason>(i);
    reasons[std::string(drop_reason_name(reason))] = drops.count(reason);
  }
  Json first = Json::array();
  for (const DropReport::Entry& entry : drops.entries()) {
    first.push_back({{"file", entry.file},
                     {"row", entry.row},
                     {"reason", drop_reason_name(entry.reason)},
                     {"message", entry.message}});
  }
  return {{"total", drops.total()}, {"reasons", reasons}, {"first", first}};
}

std::string drops_text(const DropReport& drops) {
  std::string text = fmt::format("rows left out: {}\n", drops.summary());
  for (const DropReport::Entry& entry : drops.entries()) {
    text += fmt::format("  {}:{}: {}: {}\n", entry.file, entry.row, drop_reason_name(entry.reason),
                        printable(entry.message, 200));
  }
  if (drops.total() > static_cast<int64_t>(drops.entries().size())) {
    text += fmt::format("  and {} more\n",
                        drops.total() - static_cast<int64_t>(drops.entries().size()));
  }
  return text;
}

std::vector<std::string> devices_of(const Profile& profile) {
  std::set<std::string> devices;
  for (const ProfileRow& row : profile.rows()) {
    devices.insert(profile.text(row.device));
  }
  return {devices.begin(), devices.end()};
}

Status run_import(const ProfilesOptions& options, const GlobalOptions& global) {
  DropReport drops;
  DFSIM_ASSIGN_OR_RETURN(Profile profile,
                         import_profiles(options.format, options.files, options.origin, &drops));
  size_t completed = 0;
  if (!options.model.empty()) {
    ModelOptions ran;
    ran.path = options.model;
    DFSIM_ASSIGN_OR_RETURN(const ImportedModel model, import_model(ran));
    completed = complete_from_graph(model.graph, &profile);
    if (completed == 0) {
      return invalid_input(
          fmt::format("{}: none of its nodes has the name and type of an op of the profile; give "
                      "the model that "
                      "ran, as the runtime wrote it (optimized_model_filepath)",
                      options.model));
    }
  }
  DFSIM_RETURN_IF_ERROR(write_profile(profile, options.output));
  const Json json = {{"schema", "dfsim.profiles-import/1"},
                     {"rows", profile.size()},
                     {"rows_completed", completed},
                     {"devices", devices_of(profile)},
                     {"output", options.output},
                     {"left_out", drops_json(drops)}};
  const std::string text =
      options.json
          ? json.text()
          : fit_lines(fmt::format("{} rows of {} written to {}\n{}{}", profile.size(),
                                  join(devices_of(profile), ", "), options.output,
                                  completed == 0 ? ""
                                                 : fmt::format("{} of them completed from {}\n",
                                                               completed, options.model),
                                  drops_text(drops)));
  // With the profile itself on stdout, what is said about it goes to stderr.
  if (options.output == "-") {
    fmt::print(stderr, "{}", global.quiet ? "" : text);
    return ok_status();
  }
  return options.json || !global.quiet ? write_file("-", text) : ok_status();
}

// One file of `check`; `problem` says why it fails, "" when it does not.
struct CheckedFile {
  std::string path;
  int64_t rows = 0;
  std::vector<std::string> devices;
  DropReport drops;
  std::string problem;
};

CheckedFile check_file(const std::string& path, const std::string& device) {
  CheckedFile checked;
  checked.path = path;
  auto profile = read_profile(path, &checked.drops);
  if (!profile.ok()) {
    checked.problem = profile.status().message();
    return checked;
  }
  drop_impossible(*profile, row_bounds(""), path, &checked.drops);
  checked.rows = static_cast<int64_t>(profile->size());
  checked.devices = devices_of(*profile);
  if (!device.empty() && checked.devices != std::vector<std::string>{device}) {
    checked.problem = fmt::format("{}: rows of {}, expected only {}", path,
                                  printable(join(checked.devices, ", "), 200), device);
  } else if (checked.drops.total() > 0) {
    checked.problem = fmt::format("{}: {} rows cannot be used ({})", path, checked.drops.total(),
                                  checked.drops.summary());
  }
  return checked;
}

Json check_json(const std::vector<CheckedFile>& files) {
  Json list = Json::array();
  bool sound = true;
  for (const CheckedFile& file : files) {
    sound = sound && file.problem.empty();
    list.push_back({{"file", file.path},
                    {"ok", file.problem.empty()},
                    {"problem", file.problem},
                    {"rows", file.rows},
                    {"devices", file.devices},
                    {"left_out", drops_json(file.drops)}});
  }
  return {{"schema", "dfsim.profiles-check/1"}, {"ok", sound}, {"files", list}};
}

Status run_check(const ProfilesOptions& options, const GlobalOptions& global) {
  std::vector<CheckedFile> files;
  std::vector<std::string> problems;
  std::string text;
  for (const std::string& path : options.files) {
    files.push_back(check_file(path, options.device));
    const CheckedFile& file = files.back();
    if (!file.problem.empty()) {
      problems.push_back(file.problem);
    }
    text += fmt::format("{}: {} rows of {}\n", path, file.rows,
                        file.devices.empty() ? "no device" : join(file.devices, ", "));
    text += file.drops.total() > 0 ? drops_text(file.drops) : "";
  }
  if (options.json || !global.quiet) {
    DFSIM_RETURN_IF_ERROR(
        write_file("-", options.json ? check_json(files).text() : fit_lines(text)));
  }
  return problems.empty() ? ok_status() : invalid_input(join(problems, "; "));
}

Json stats_json(const ProfileStats& stats, const DropReport& drops) {
  Json groups = Json::array();
  for (const ProfileGroup& group : stats.groups) {
    groups.push_back({{"device", group.device},
                      {"op_type", group.op_type},
                      {"op_class", op_class_name(group.op_class)},
                      {"dtype", dtype_name(group.dtype)},
                      {"timing", timing_kind_name(group.timing)},
                      {"rows", group.rows},
                      {"distinct", group.distinct},
                      {"min_ns", group.min_ns},
                      {"median_ns", group.median_ns},
                      {"max_ns", group.max_ns},
                      {"min_bytes", group.min_bytes},
                      {"max_bytes", group.max_bytes}});
  }
  Json networks = Json::array();
  for (const NetworkStats& network : stats.networks) {
    networks.push_back({{"network", network.network},
                        {"device", network.device},
                        {"batch", network.batch},
                        {"rows", network.rows},
                        {"op_types", network.op_types},
                        {"total_ns", network.total_ns}});
  }
  return {{"schema", "dfsim.profiles-stats/1"},
          {"rows", stats.rows},
          {"groups", groups},
          {"networks", networks},
          {"duplicates",
           {{"measurements", stats.duplicates.measurements},
            {"rows", stats.duplicates.rows},
            {"median_spread", stats.duplicates.median_spread},
            {"p90_spread", stats.duplicates.p90_spread}}},
          {"left_out", drops_json(drops)}};
}

// One table per device and kind of timing.
std::string groups_text(const std::vector<ProfileGroup>& groups) {
  std::map<std::pair<std::string, TimingKind>, TextTable> tables;
  for (const ProfileGroup& group : groups) {
    const auto [it, added] =
        tables.try_emplace({group.device, group.timing}, TextTable({{"op"},
                                                                    {"class"},
                                                                    {"dtype"},
                                                                    {"rows", Align::kRight},
                                                                    {"distinct", Align::kRight},
                                                                    {"shortest", Align::kRight},
                                                                    {"median", Align::kRight},
                                                                    {"longest", Align::kRight},
                                                                    {"largest", Align::kRight}}));
    it->second.add_row({printable(group.op_type), std::string(op_class_name(group.op_class)),
                        std::string(dtype_name(group.dtype)), fmt::format("{}", group.rows),
                        fmt::format("{}", group.distinct), format_time(group.min_ns),
                        format_time(group.median_ns), format_time(group.max_ns),
                        format_bytes(group.max_bytes)});
  }
  std::string text;
  for (const auto& [key, table] : tables) {
    text += fmt::format("{} ({})\n{}\n", printable(key.first), timing_kind_name(key.second),
                        table.render(100, 2));
  }
  return text;
}

std::string stats_text(const ProfileStats& stats, const DropReport& drops) {
  std::string text = groups_text(stats.groups);
  if (!stats.networks.empty()) {
    TextTable networks({{"network"},
                        {"batch", Align::kRight},
                        {"device"},
                        {"rows", Align::kRight},
                        {"op types", Align::kRight},
                        {"total", Align::kRight}});
    for (const NetworkStats& network : stats.networks) {
      networks.add_row({printable(network.network), fmt::format("{}", network.batch),
                        printable(network.device), fmt::format("{}", network.rows),
                        fmt::format("{}", network.op_types), format_time(network.total_ns)});
    }
    text += networks.render() + "\n";
  }
  text += fmt::format("{} rows; {} measurements are there more than once ({} rows)", stats.rows,
                      stats.duplicates.measurements, stats.duplicates.rows);
  if (stats.duplicates.measurements > 0) {
    text += fmt::format(", {:.2f} % from their median (p90 {:.2f} %)",
                        100 * stats.duplicates.median_spread, 100 * stats.duplicates.p90_spread);
  }
  return text + "\n" + (drops.total() > 0 ? drops_text(drops) : "");
}

Status run_stats(const ProfilesOptions& options) {
  DropReport drops;
  DFSIM_ASSIGN_OR_RETURN(const Profile profile,
                         import_profiles(options.format, options.files, options.origin, &drops));
  const ProfileStats stats = profile_stats(profile);
  return write_file(options.output, options.json ? stats_json(stats, drops).text()
                                                 : fit_lines(stats_text(stats, drops)));
}

std::string formats_help() {
  std::string text = "Formats:";
  for (const auto& importer : importers()) {
    text += fmt::format("\n  {:15}{}", importer->name(), importer->description());
  }
  return text;
}

OptionTable profile_files(ProfilesOptions& o) {
  return {{.names = "FILE",
           .target = &o.files,
           .help = "Files (or folders, where the format is one)",
           .required = true},
          {.names = "--json", .target = &o.json, .help = "Print JSON"}};
}

OptionSpec profile_format(ProfilesOptions& o) {
  return {.names = "--format",
          .target = &o.format,
          .help = "Format of the files, see below",
          .show_default = true};
}

OptionTable profile_origin(ProfilesOptions& o) {
  return {
      {.names = "--device",
       .target = &o.origin.device,
       .help = "Device, where the file does not say it"},
      {.names = "--runtime", .target = &o.origin.runtime, .help = "Runtime that was measured"},
      {.names = "--runtime-version", .target = &o.origin.runtime_version, .help = "Its version"},
      {.names = "--network", .target = &o.origin.network, .help = "Network that was measured"},
      {.names = "--batch", .target = &o.origin.batch, .help = "Its batch size", .positive = true}};
}

CommandSpec import_command() {
  const auto options = std::make_shared<ProfilesOptions>();
  ProfilesOptions& o = *options;
  OptionSpec format = profile_format(o);
  format.required = true;
  format.show_default = false;
  return {
      .name = "import",
      .summary = "Convert other tools' measurements into a profile",
      .options = joined(
          {profile_files(o),
           {format},
           profile_origin(o),
           {{.names = "--optimized-model",
             .target = &o.model,
             .help = "Model as the runtime ran it, ONNX or TensorFlow: gives attributes, left-out "
                     "operands and "
                     "missing shapes to the ops it names",
             .value = "FILE"},
            {.names = "-o,--output",
             .target = &o.output,
             .help = "Profile to write: .csv, .jsonl, each also with .gz; - is stdout",
             .show_default = true}}}),
      .footer = formats_help(),
      .examples = {{"dfsim profiles import --format kineto trace.json.gz -o ops.csv.gz",
                    "a profile of the operators in a PyTorch trace"}},
      .run = [options](const GlobalOptions& global) { return run_import(*options, global); }};
}

CommandSpec check_command() {
  const auto options = std::make_shared<ProfilesOptions>();
  return {.name = "check",
          .summary = "Validate profiles; rows that cannot be used are an error",
          .options = joined({profile_files(*options),
                             {{.names = "--device",
                               .target = &options->device,
                               .help = "The only device that may be there"}}}),
          .run = [options](const GlobalOptions& global) { return run_check(*options, global); }};
}

CommandSpec stats_command() {
  const auto options = std::make_shared<ProfilesOptions>();
  ProfilesOptions& o = *options;
  return {.name = "stats",
          .summary = "Rows by device, op, dtype and timing; ranges; duplicates",
          .options = joined({profile_files(o),
                             {profile_format(o)},
                             profile_origin(o),
                             {{.names = "-o,--output",
                               .target = &o.output,
                               .help = "File to write, - is stdout",
                               .show_default = true}}}),
          .footer = formats_help(),
          .run = [options](const GlobalOptions&) { return run_stats(*options); }};
}

}  // namespace

CommandSpec profiles_command() {
  return {.name = "profiles",
          .summary = "Import, check and describe measured operator times",
          .examples = {{"dfsim profiles check ops.csv.gz",
                        "whether every row of a profile can be used"}},
          .commands = {import_command(), check_command(), stats_command()}};
}

}  // namespace dfsim::cli
