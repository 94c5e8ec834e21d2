// aiconfigurator's tables as kernel samples.
//
// A table's kind shows in its columns, as in the importer of profiles (datasets/): gemm_dtype,
// attn_dtype with op_name, moe_dtype, allreduce_dtype, nccl_dtype, quant_dtype with op_name.
// Message sizes are numbers of elements: 2^29 of NCCL's half take as long as 2^30 int8.
#include "serving/kernels/kernel_tables.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <optional>

#include "base/text.h"
#include "datasets/tables/csv.h"

namespace dfsim::inline serving {

namespace {

// One record by names of columns. A missing or malformed cell is remembered as the first problem.
class KernelRow {
 public:
  KernelRow(const std::map<std::string, size_t, std::less<>>& columns,
            std::span<const std::string_view> fields)
      : columns_(columns), fields_(fields) {}

  bool has(std::string_view name) const { return columns_.count(name) > 0; }
  std::string_view text(std::string_view name) const {
    const auto at = columns_.find(name);
    return at == columns_.end() || at->second >= fields_.size() ? std::string_view()
                                                                : fields_[at->second];
  }
  // A number above or equal to `least`.
  double number(std::string_view name, double least) {
    const std::string cell(text(name));
    char* end = nullptr;
    const double value = std::strtod(cell.c_str(), &end);
    if (cell.empty() || *end != '\0' || !std::isfinite(value) || value < least) {
      if (problem_.empty()) {
        problem_ = fmt::format("{} is '{}', expected a number of at least {}", name,
                               printable(cell), least);
      }
      return least;
    }
    return value;
  }
  double number_or_zero(std::string_view name) { return text(name).empty() ? 0 : number(name, 0); }
  const std::string& problem() const { return problem_; }

 private:
  const std::map<std::string, size_t, std::less<>>& columns_;
  std::span<const std::string_view> fields_;
  std::string problem_;
};

std::string dtype_text(std::string_view dtype) {
  return std::string(dtype == "float16" || dtype == "half" ? "bfloat16" : dtype);
}

// Each fills `sample` from `row`; false leaves the row out.
bool fill_gemm(KernelRow& row, KernelSample* sample) {
  sample->kind = KernelKind::kGemm;
  sample->category = dtype_text(row.text("gemm_dtype"));
  sample->anchor = {row.number("n", 1), row.number("k", 1)};
  sample->sizes = {row.number("m", 0), 1};
  return true;
}

bool fill_attention(KernelRow& row, KernelSample* sample) {
  const std::string_view op = row.text("op_name");
  const bool prefill = op.starts_with("context");
  if (!prefill && !op.starts_with("generation")) {
    return false;
  }
  sample->kind = prefill ? KernelKind::kPrefillAttention : KernelKind::kDecodeAttention;
  const double heads = row.number("num_heads", 1);
  const double listed = row.number_or_zero("num_key_value_heads");
  const double kv_heads = listed > 0 ? listed : heads;  // 0 = as many as heads
  const double step = row.number_or_zero("step");
  sample->category =
      attention_category(dtype_text(row.text("attn_dtype")), dtype_text(row.text("kv_cache_dtype")),
                         static_cast<int64_t>(row.number("head_dim", 1)),
                         static_cast<int64_t>(row.number_or_zero("window_size")));
  sample->anchor = {heads, kv_heads};
  // Decode rows count the new token in isl and those before it in step.
  sample->sizes = {row.number("batch_size", 1), row.number("isl", 1) + (prefill ? 0 : step)};
  return !prefill || step == 0;
}

bool fill_moe(KernelRow& row, KernelSample* sample) {
  sample->kind = KernelKind::kMoe;
  sample->category =
      fmt::format("{}/{}", dtype_text(row.text("moe_dtype")), row.text("distribution"));
  const double tp = row.number("moe_tp_size", 1);
  const double ep = row.number("moe_ep_size", 1);
  const double experts = row.number("num_experts", 1);
  sample->anchor = {row.number("hidden_size", 1), row.number("inter_size", 1) / tp,
                    row.number("topk", 1), experts / ep, experts};
  sample->sizes = {row.number("num_tokens", 1), 1};
  return row.text("kernel_source").find("nongated") == std::string_view::npos;
}

bool fill_all_reduce(KernelRow& row, KernelSample* sample) {
  sample->kind = KernelKind::kAllReduce;
  const std::string_view backend = row.text("backend");
  sample->category = backend.find("eager") != std::string_view::npos ? "eager" : "graph";
  sample->anchor = {row.number("num_gpus", 2)};
  sample->sizes = {row.number("message_size", 1) * 2, 1};
  return true;
}

bool fill_collective(KernelRow& row, KernelSample* sample) {
  sample->kind = KernelKind::kCollective;
  sample->category = std::string(row.text("op_name"));
  sample->anchor = {row.number("num_gpus", 2)};
  sample->sizes = {row.number("message_size", 1) * 2, 1};
  return row.text("nccl_dtype") == "half";
}

bool fill_quantize(KernelRow& row, KernelSample* sample) {
  const bool scale = row.text("op_name") == "compute_scale";
  sample->kind = scale ? KernelKind::kComputeScale : KernelKind::kScaleMatrix;
  sample->category = std::string(row.text("quant_dtype"));
  sample->anchor = {row.number("k", 1)};
  sample->sizes = {row.number("m", 0), 1};
  return true;
}

using FillSample = bool (*)(KernelRow&, KernelSample*);

FillSample filler_for(const KernelRow& row) {
  constexpr std::pair<const char*, FillSample> kFillers[] = {
      {"gemm_dtype", fill_gemm},       {"attn_dtype", fill_attention},
      {"moe_dtype", fill_moe},         {"allreduce_dtype", fill_all_reduce},
      {"nccl_dtype", fill_collective}, {"quant_dtype", fill_quantize}};
  for (const auto& [column, filler] : kFillers) {
    if (row.has(column)) {
      return filler;
    }
  }
  return nullptr;
}

}  // namespace

StatusOr<std::vector<KernelSample>> read_kernel_table(const std::string& path) {
  DFSIM_ASSIGN_OR_RETURN(CsvReader csv, CsvReader::open(path));
  std::map<std::string, size_t, std::less<>> columns;
  FillSample fill = nullptr;
  std::vector<KernelSample> samples;
  while (true) {
    DFSIM_ASSIGN_OR_RETURN(const CsvReader::Record record, csv.next());
    if (record == CsvReader::Record::kEnd) {
      break;
    }
    if (columns.empty()) {
      for (const std::string_view name : csv.fields()) {
        columns.emplace(std::string(name), columns.size());
      }
      fill = filler_for(KernelRow(columns, {}));
      if (fill == nullptr || columns.count("latency") == 0) {
        return invalid_input(
            fmt::format("{}: is not a table of serving kernels, expected a column latency and one "
                        "of gemm_dtype, "
                        "attn_dtype, moe_dtype, allreduce_dtype, nccl_dtype, quant_dtype",
                        path));
      }
      continue;
    }
    KernelRow row(columns, csv.fields());
    KernelSample sample;
    const bool wanted = fill(row, &sample);
    sample.time_us = row.number("latency", 0) * 1e3;
    if (!row.problem().empty()) {
      return invalid_input(fmt::format("{}:{}: {}", path, csv.line_number(), row.problem()));
    }
    // A time of 0 is a difference of two others that the noise swallowed (compute_scale); tables
    // also hold a few products without rows.
    if (wanted && sample.time_us > 0 && sample.sizes[0] > 0) {
      samples.push_back(std::move(sample));
    }
  }
  if (samples.empty()) {
    return invalid_input(fmt::format("{}: has no rows of serving kernels", path));
  }
  return samples;
}

}  // namespace dfsim::inline serving
