// The parameters of a runtime that are fitted, and what is known of each without measured
// deployments: kernels cost in a server what they cost alone, launches and schedulers take what
// profiles of PyTorch programs on these hosts show.
#include "serving/validation/fit_parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/text.h"

namespace dfsim::inline serving {

const std::vector<FitParameter>& fit_parameters() {
  using R = ServingRuntime;
  using F = FrontendModel;
  static const std::vector<FitParameter> kParameters = {
      // name, where it is, from, to, prior, spread of the prior
      {"step_us", &R::step_us, nullptr, nullptr, 0, 20000, 500, 500},
      {"per_sequence_us", &R::per_sequence_us, nullptr, nullptr, 0, 300, 8, 8},
      {"per_token_us", &R::per_token_us, nullptr, nullptr, 0, 4, 1, 1},
      {"eager_kernel_us", &R::eager_kernel_us, nullptr, nullptr, 0, 40, 8, 5},
      {"kernel_gap_us", &R::kernel_gap_us, nullptr, nullptr, 0, 10, 0.5, 0.5},
      {"gemm_scale", &R::gemm_scale, nullptr, nullptr, 0.7, 1.6, 1, 0.1},
      {"gemm_compute_scale", &R::gemm_compute_scale, nullptr, nullptr, 0.7, 1.6, 1.05, 0.1},
      {"gemm_8bit_scale", &R::gemm_8bit_scale, nullptr, nullptr, 0.7, 1.6, 1, 0.1},
      {"prefill_attention_scale", &R::prefill_attention_scale, nullptr, nullptr, 0.5, 2, 1, 0.1},
      {"decode_attention_scale", &R::decode_attention_scale, nullptr, nullptr, 0.5, 2, 1, 0.1},
      {"moe_scale", &R::moe_scale, nullptr, nullptr, 0.5, 2, 1, 0.15},
      {"moe_prefill_scale", &R::moe_prefill_scale, nullptr, nullptr, 0.5, 4, 1, 0.8},
      {"quantize_scale", &R::quantize_scale, nullptr, nullptr, 0, 1.5, 0.5, 0.3},
      {"comm_scale", &R::comm_scale, nullptr, nullptr, 0.3, 4, 1, 0.2},
      {"latency_us", nullptr, &F::latency_us, nullptr, 0, 200000, 0, 40000},
      {"request_us", nullptr, &F::request_us, nullptr, 0, 50000, 0, 1000},
      {"prompt_token_us", nullptr, &F::prompt_token_us, nullptr, 0, 20, 0, 0.4},
      {"output_token_us", nullptr, &F::output_token_us, nullptr, 0, 300, 0, 30},
      {"memory_share", nullptr, nullptr, &FrameworkProfile::memory_share, 0.7, 0.95, 0.87, 0.02},
  };
  return kParameters;
}

Status set_parameters(const std::string& text, FrameworkProfile* profile) {
  for (const std::string& item : split(text, ',')) {
    const size_t equals = item.find('=');
    const std::string name = item.substr(0, equals);
    const auto parameter = std::find_if(fit_parameters().begin(), fit_parameters().end(),
                                        [&](const FitParameter& p) { return p.name == name; });
    if (parameter == fit_parameters().end()) {
      std::vector<std::string> names;
      for (const FitParameter& known : fit_parameters()) {
        names.push_back(known.name);
      }
      return invalid_input(unknown_name_message("parameter of the runtime", name, names));
    }
    const std::string number = equals == std::string::npos ? "" : item.substr(equals + 1);
    double value = 0;
    const auto parsed = std::from_chars(number.data(), number.data() + number.size(), value);
    if (parsed.ec != std::errc() || parsed.ptr != number.data() + number.size() ||
        !(value >= parameter->low && value <= parameter->high)) {
      return invalid_input(fmt::format("{}: is '{}', expected a number from {} to {}", name,
                                       printable(number), parameter->low, parameter->high));
    }
    parameter->of(*profile) = value;
  }
  return ok_status();
}

}  // namespace dfsim::inline serving
