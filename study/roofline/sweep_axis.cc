// Parses sweeps. Reserved names are axes of their own; any other name is a dimension of the model.
#include "study/roofline/sweep_axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/text.h"

namespace dfsim::inline study {
namespace {

constexpr size_t kMaxSweep = 64;

constexpr std::array<std::pair<std::string_view, RooflineAxis>, 6> kReserved = {{
    {"threads", RooflineAxis::kThreads},
    {"processes", RooflineAxis::kProcesses},
    {"inter", RooflineAxis::kInter},
    {"precision", RooflineAxis::kPrecision},
    {"layout", RooflineAxis::kLayout},
    {"placement", RooflineAxis::kPlacement},
}};

Status add_number(const std::string& text, Sweep* sweep) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1) {
    return invalid_input(
        fmt::format("--sweep: '{}' is not a whole number above 0", printable(text)));
  }
  if (!sweep->numbers.empty() && value <= sweep->numbers.back()) {
    return invalid_input(
        fmt::format("--sweep: {} after {}, expected rising values", value, sweep->numbers.back()));
  }
  sweep->numbers.push_back(value);
  return ok_status();
}

Status add_name(const std::string& text, const Sweep& sweep) {
  const bool again =
      std::find(sweep.values.begin(), sweep.values.end(), text) != sweep.values.end();
  return text.empty() || again
             ? invalid_input(fmt::format("--sweep: found '{}'{} among the values of {}, expected "
                                         "different names",
                                         printable(text), again ? " twice" : "", sweep.name))
             : ok_status();
}

}  // namespace

bool has_names(RooflineAxis axis) {
  return axis == RooflineAxis::kPrecision || axis == RooflineAxis::kLayout ||
         axis == RooflineAxis::kPlacement;
}

StatusOr<Sweep> parse_sweep(const std::string& text) {
  Sweep sweep;
  // A path of a precision's rules may hold a '='; a name of a dimension may, too.
  const auto is_named = [&text](const auto& axis) {
    return text.starts_with(std::string(axis.first) + "=");
  };
  const auto reserved = std::find_if(kReserved.begin(), kReserved.end(), is_named);
  const size_t equals = reserved != kReserved.end() ? text.find('=') : text.rfind('=');
  if (equals == std::string::npos || equals == 0) {
    return invalid_input(fmt::format(
        "--sweep: found '{}', expected batch=1,8,32, threads=1,2,4, precision=fp32,int8 or "
        "NAME=1,8,32 for a dimension",
        printable(text)));
  }
  sweep.name = text.substr(0, equals);
  sweep.axis = reserved != kReserved.end() ? reserved->second : RooflineAxis::kSize;
  for (const std::string& part : split(text.substr(equals + 1), ',')) {
    DFSIM_RETURN_IF_ERROR(has_names(sweep.axis) ? add_name(part, sweep) : add_number(part, &sweep));
    sweep.values.push_back(part);
  }
  if (sweep.values.size() < 2 || sweep.values.size() > kMaxSweep) {
    return invalid_input(
        fmt::format("--sweep: {} values, expected 2 to {}", sweep.values.size(), kMaxSweep));
  }
  return sweep;
}

void RooflineSetting::set(const Sweep& sweep, size_t value) {
  switch (sweep.axis) {
    case RooflineAxis::kSize:
      sizes[sweep.name] = sweep.numbers[value];
      break;
    case RooflineAxis::kThreads:
      threads = sweep.numbers[value];
      break;
    case RooflineAxis::kProcesses:
      processes = sweep.numbers[value];
      break;
    case RooflineAxis::kInter:
      inter = sweep.numbers[value];
      break;
    case RooflineAxis::kPrecision:
      precision = sweep.values[value];
      break;
    case RooflineAxis::kLayout:
      layout = sweep.values[value];
      break;
    case RooflineAxis::kPlacement:
      placement = sweep.values[value];
      break;
  }
}

}  // namespace dfsim::inline study
