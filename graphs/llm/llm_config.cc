// Names and sizes of the numeric formats: one table, which all three functions look into.
#include "graphs/llm/llm_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace dfsim::inline graphs {

namespace {

struct PrecisionRow {
  LlmPrecision precision;
  std::string_view name;
  double bits;  // with scales
};
constexpr std::array<PrecisionRow, 8> kPrecisions = {{
    {LlmPrecision::kBf16, "bf16", 16},
    {LlmPrecision::kFp16, "fp16", 16},
    {LlmPrecision::kFp8, "fp8", 8},
    {LlmPrecision::kFp8Block, "fp8_block", 8 + 32.0 / (128 * 128)},
    {LlmPrecision::kInt8, "int8", 8},
    {LlmPrecision::kInt4, "int4", 4 + 16.0 / 128},
    {LlmPrecision::kMxfp4, "mxfp4", 4 + 8.0 / 32},
    {LlmPrecision::kNvfp4, "nvfp4", 4 + 8.0 / 16},
}};

const PrecisionRow& row_of(LlmPrecision precision) {
  return *std::find_if(kPrecisions.begin(), kPrecisions.end(),
                       [&](const PrecisionRow& row) { return row.precision == precision; });
}

}  // namespace

std::string left_out_text(const LlmConfig& config) {
  if (config.left_out.empty()) {
    return "";
  }
  std::vector<std::string> towers;
  for (const std::string& key : config.left_out) {
    towers.push_back(key.substr(0, key.find('_')) + " tower");
  }
  return fmt::format("the language model alone is counted; its {} ({}) {} left out",
                     join(towers, " and "), join(config.left_out, ", "),
                     towers.size() == 1 ? "is" : "are");
}

std::string llm_precision_name(LlmPrecision precision) {
  return std::string(row_of(precision).name);
}

double llm_bits_per_weight(LlmPrecision precision) { return row_of(precision).bits; }

StatusOr<LlmPrecision> llm_precision_from_name(const std::string& name) {
  std::vector<std::string> names;
  for (const PrecisionRow& row : kPrecisions) {
    if (row.name == name) {
      return row.precision;
    }
    names.emplace_back(row.name);
  }
  if (name == "bfloat16") {
    return LlmPrecision::kBf16;
  }
  return not_found(unknown_name_message("precision", name, names));
}

}  // namespace dfsim::inline graphs
