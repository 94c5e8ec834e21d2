// The dimensions have the names that exporters of decoders give them.
#include "graphs/llm/llm_import.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>

#include "base/text.h"
#include "graphs/llm/llm_config_reader.h"
#include "graphs/llm/llm_graph.h"

namespace dfsim::inline graphs {
namespace {

constexpr std::string_view kPrefix = "hf:";
constexpr std::string_view kBatch = "batch_size";
constexpr std::string_view kTokens = "sequence_length";
constexpr std::string_view kPast = "past_sequence_length";

std::string without_prefix(const std::string& path) {
  return path.starts_with(kPrefix) ? path.substr(kPrefix.size()) : path;
}

Status check_options(const ImportOptions& options) {
  for (const auto& [name, extent] : options.dims) {
    if (name != kBatch && name != kTokens && name != kPast) {
      return invalid_input(
          "--dim: " +
          unknown_name_message("dimension", name,
                               {std::string(kBatch), std::string(kTokens), std::string(kPast)}));
    }
  }
  const auto batch = options.dims.find(std::string(kBatch));
  if (options.batch && batch != options.dims.end() && batch->second != *options.batch) {
    return invalid_input(
        fmt::format("--batch is {}, --dim {} is {}; expected one of them, or equal ones",
                    *options.batch, kBatch, batch->second));
  }
  if (!options.input_shapes.empty() || !options.trip_counts.empty() || options.branch) {
    return invalid_input(
        "--input-shape, --trip-count and --branch are for graphs; a config.json takes --batch, "
        "--dim sequence_length=N and --dim past_sequence_length=N");
  }
  return ok_status();
}

ConfigTypes config_types(const LlmConfig& config) {
  ConfigTypes types;
  types.dtype = config.published_half == LlmPrecision::kFp16 ? DType::kFloat16 : DType::kBFloat16;
  const auto quantised = [&](LlmPrecision precision) {
    if (precision == LlmPrecision::kBf16 || precision == LlmPrecision::kFp16) {
      return false;
    }
    types.weights = llm_precision_name(precision);
    return true;
  };
  types.attention = quantised(config.published_attention);
  const bool dense = std::ranges::any_of(config.layers, &LlmLayer::dense);
  types.mlp = (dense || config.experts.shared_intermediate > 0) && quantised(config.published_mlp);
  types.experts = config.experts.experts > 0 && quantised(config.published_experts);
  return types;
}

}  // namespace

bool is_llm_config(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const fs::path file(without_prefix(path));
  return path.starts_with(kPrefix) || to_lower(file.extension().string()) == ".json" ||
         (fs::is_directory(file, ignored) && fs::exists(file / "config.json", ignored));
}

StatusOr<ImportedModel> import_llm_config(const std::string& path, const ImportOptions& options,
                                          DType dtype) {
  constexpr int64_t kAssumedTokens = 128;
  const std::string file = without_prefix(path);
  DFSIM_ASSIGN_OR_RETURN(const LlmConfig config, read_llm_config(file));
  if (const Status checked = check_options(options); !checked.ok()) {
    return checked.with_place(path);
  }
  ImportedModel model;
  const auto extent_of = [&](std::string_view name, std::optional<int64_t> given,
                             int64_t assumed) -> int64_t {
    const auto it = options.dims.find(std::string(name));
    const std::optional<int64_t> known =
        it != options.dims.end() ? std::optional(it->second) : given;
    model.report.dims.push_back(
        {std::string(name), known.value_or(assumed), known ? "given" : "assumed"});
    return known.value_or(assumed);
  };
  LlmGraphOptions graph;
  graph.batch = extent_of(kBatch, options.batch, 1);
  graph.new_tokens = extent_of(kTokens, std::nullopt, kAssumedTokens);
  graph.context_tokens = extent_of(kPast, std::nullopt, 0);
  model.report.config = config_types(config);
  graph.dtype = dtype == DType::kUnknown ? model.report.config->dtype : dtype;
  auto built = build_llm_graph(config, graph);
  if (!built.ok()) {
    return Status(built.status().code(),
                  fmt::format("{}; change --batch or --dim", built.status().message()))
        .with_place(path);
  }
  model.graph = std::move(*built);
  model.report.batch = graph.batch;
  if (std::string note = left_out_text(config); !note.empty()) {
    model.report.notes.push_back(std::move(note));
  }
  model.report.file_nodes = static_cast<int64_t>(model.graph.op_count());
  return model;
}

}  // namespace dfsim::inline graphs
