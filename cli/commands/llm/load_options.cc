// Options that describe a load: lengths, limits, seed.
#include <charconv>
#include <cmath>

#include "base/text.h"
#include "cli/commands/llm/load_options.h"

namespace dfsim::cli {
namespace {

StatusOr<double> positive_number(const std::string& place, const std::string& text) {
  double value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() || !(value > 0) ||
      !std::isfinite(value)) {
    return invalid_input(place + ": '" + printable(text) + "', expected a number above 0");
  }
  return value;
}

}  // namespace

OptionTable llm_load_options(LlmLoadOptions& o) {
  return {{.names = "--isl",
           .target = &o.isl,
           .help = "Tokens of a prompt",
           .show_default = true,
           .range = {1, 1e8}},
          {.names = "--osl",
           .target = &o.osl,
           .help = "Tokens of an output",
           .show_default = true,
           .range = {1, 1e8}},
          {.names = "--length-range",
           .target = &o.range,
           .help = "Lengths are uniform between these factors: 0.8,1.2 is plus or minus 20 %",
           .value = "LOW,HIGH",
           .show_default = true},
          {.names = "--sla",
           .target = &o.sla,
           .help = "Limits in ms: ttft=500,tpot=30,e2e=20000",
           .value = "NAME=MS,..."},
          {.names = "--seed",
           .target = &o.seed,
           .help = "Seed of the random numbers",
           .show_default = true}};
}

Status set_lengths(const LlmLoadOptions& o, WorkloadOptions* workload) {
  const std::vector<std::string> factors = split(o.range, ',');
  if (factors.size() != 2) {
    return invalid_input("--length-range: '" + printable(o.range) +
                         "', expected two factors such as 0.8,1.2");
  }
  DFSIM_ASSIGN_OR_RETURN(const double low, positive_number("--length-range", factors[0]));
  DFSIM_ASSIGN_OR_RETURN(const double high, positive_number("--length-range", factors[1]));
  DFSIM_ASSIGN_OR_RETURN(workload->lengths.prompt, make_length_range("--isl", o.isl, low, high));
  DFSIM_ASSIGN_OR_RETURN(workload->lengths.output, make_length_range("--osl", o.osl, low, high));
  return ok_status();
}

StatusOr<ServiceLevel> parse_service_level(const std::string& text) {
  ServiceLevel level;
  if (text.empty()) {
    return level;
  }
  for (const std::string& part : split(text, ',')) {
    const size_t equals = part.find('=');
    const std::string name = part.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : part.substr(equals + 1);
    DFSIM_ASSIGN_OR_RETURN(const double ms, positive_number("--sla " + name, value));
    if (name == "ttft") {
      level.ttft_ms = ms;
    } else if (name == "tpot") {
      level.tpot_ms = ms;
    } else if (name == "e2e") {
      level.e2e_ms = ms;
    } else {
      return invalid_input(unknown_name_message("limit", name, {"ttft", "tpot", "e2e"}));
    }
  }
  return level;
}

}  // namespace dfsim::cli
