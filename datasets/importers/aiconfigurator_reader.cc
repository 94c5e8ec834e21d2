// aiconfigurator's measured tables (Apache-2.0): GEMM, attention and NCCL collectives, latency in
// ms.
//
// All have framework, version, device, op_name, kernel_source, latency. Which table it is shows in
// the dtype column:
// - gemm_dtype, m, n, k: (m,k) times a weight (n,k) without bias -> Gemm, transB=1. bfloat16 | fp8
//   (e4m3 in, bf16 out) | fp8_block (also scaled per block) | int8_wo, int4_wo (fp16 activations,
//   packed weights) | sq (SmoothQuant: int8 times int8, fp16 out).
// - attn_dtype, kv_cache_dtype, batch_size, isl, step, num_heads, num_key_value_heads, head_dim,
//   window_size (0 = none): context: isl queries over isl keys, causal; generation: one query over
//   isl + step keys; encoder: isl over isl, not causal, as many key heads as heads.
// - nccl_dtype, num_gpus, message_size: elements (half takes twice as long as int8), not bytes.
// Kernel time: CUDA graphs of repeated kernels, floor about 2.5 us.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <memory>

#include "base/text.h"
#include "datasets/importers/importer_list.h"
#include "datasets/importers/row_sink.h"
#include "datasets/importers/tensor_lists.h"
#include "datasets/tables/table_reader.h"

namespace dfsim::inline datasets {
namespace aiconfigurator {
namespace {

enum Column : int {
  kFramework,
  kVersion,
  kDevice,
  kOpName,
  kKernel,
  kLatency,
  kGemmDtype,
  kM,
  kN,
  kK,
  kAttnDtype,
  kKvDtype,
  kBatch,
  kIsl,
  kStep,
  kHeads,
  kKvHeads,
  kHeadDim,
  kWindow,
  kNcclDtype,
  kGpus,
  kMessage,
  kColumns
};
constexpr std::array<std::string_view, kColumns> kNames = {
    "framework",   "version",    "device",   "op_name",     "kernel_source",       "latency",
    "gemm_dtype",  "m",          "n",        "k",           "attn_dtype",          "kv_cache_dtype",
    "batch_size",  "isl",        "step",     "num_heads",   "num_key_value_heads", "head_dim",
    "window_size", "nccl_dtype", "num_gpus", "message_size"};

class AiconfiguratorImporter : public Importer {
 public:
  std::string_view name() const override { return "aiconfigurator"; }
  std::string_view description() const override {
    return "aiconfigurator tables: GEMM, attention, NCCL (kernel-only)";
  }
  Status import(const std::string& path, const ProfileImportOptions& options, Profile& profile,
                DropReport* drops) const override;
};

DType dtype_of(std::string_view name) {
  return name == "half" ? DType::kFloat16 : dtype_from_name(name);
}

struct GemmType {
  std::string_view name;
  DType a;
  DType b;
  DType out;
  DType compute;
  std::string_view quant;
};
constexpr std::array<GemmType, 7> kGemmTypes = {{
    {"bfloat16", DType::kBFloat16, DType::kBFloat16, DType::kBFloat16, DType::kBFloat16, ""},
    {"float16", DType::kFloat16, DType::kFloat16, DType::kFloat16, DType::kFloat16, ""},
    {"fp8", DType::kFloat8E4M3, DType::kFloat8E4M3, DType::kBFloat16, DType::kFloat8E4M3, ""},
    {"fp8_block", DType::kFloat8E4M3, DType::kFloat8E4M3, DType::kBFloat16, DType::kFloat8E4M3,
     "block"},
    {"int8_wo", DType::kFloat16, DType::kInt8, DType::kFloat16, DType::kFloat16, "weight-only"},
    {"int4_wo", DType::kFloat16, DType::kInt4, DType::kFloat16, DType::kFloat16, "weight-only"},
    {"sq", DType::kInt8, DType::kInt8, DType::kFloat16, DType::kInt8, ""},
}};

// Reads positive extents; "" or what is wrong.
template <size_t N>
std::string read_extents(const TableReader& table, const std::array<Column, N>& columns,
                         std::array<int64_t, N>* values) {
  for (size_t i = 0; i < N; ++i) {
    const auto value = table.integer(columns[i]);
    if (!value.has_value() || *value < 1 || *value > kMaxExtent) {
      return fmt::format("{} is '{}', expected a positive number", kNames[columns[i]],
                         printable(table.cell(columns[i])));
    }
    (*values)[i] = *value;
  }
  return "";
}

std::string read_gemm(const TableReader& table, Profile& profile, ProfileRow* row) {
  const std::string_view name = table.cell(kGemmDtype);
  const GemmType* type = nullptr;
  for (const GemmType& candidate : kGemmTypes) {
    type = candidate.name == name ? &candidate : type;
  }
  if (type == nullptr) {
    return fmt::format("unknown gemm_dtype '{}'", printable(name));
  }
  std::array<int64_t, 3> mnk{};
  std::string problem = read_extents<3>(table, {kM, kN, kK}, &mnk);
  if (!problem.empty()) {
    return problem;
  }
  const auto [m, n, k] = mnk;
  row->op_type = profile.intern("Gemm");
  row->op_class = OpClass::kMatMul;
  row->inputs = profile.intern({tensor(type->a, {m, k}), tensor(type->b, {n, k})});
  row->outputs = profile.intern({tensor(type->out, {m, n})});
  row->compute_dtype = type->compute;
  const std::string trans = gemm_attributes(false, true);
  row->attributes =
      profile.intern(type->quant.empty() ? trans : fmt::format("quant={};{}", type->quant, trans));
  return "";
}

std::string read_attention(const TableReader& table, Profile& profile, ProfileRow* row) {
  std::string_view kind = table.cell(kOpName);
  kind = kind.substr(0, kind.find('_'));
  const bool encoder = kind == "encoder";
  if (!encoder && kind != "context" && kind != "generation") {
    return fmt::format("unknown op_name '{}'", printable(table.cell(kOpName)));
  }
  std::array<int64_t, 4> bshd{};
  std::string problem = read_extents<4>(table, {kBatch, kIsl, kHeads, kHeadDim}, &bshd);
  if (!problem.empty()) {
    return problem;
  }
  const auto [b, s, h, d] = bshd;
  const int64_t listed_heads = table.integer(kKvHeads).value_or(0);
  const int64_t kv_heads = encoder || listed_heads <= 0 ? h : listed_heads;  // 0 = as many as heads
  const int64_t window = table.integer(kWindow).value_or(0);
  const int64_t step = table.integer(kStep).value_or(0);
  const DType q = dtype_of(table.cell(kAttnDtype));
  const DType kv = table.has(kKvDtype) ? dtype_of(table.cell(kKvDtype)) : q;
  if (q == DType::kUnknown || kv == DType::kUnknown || step < 0 || step > kMaxExtent) {
    return "unknown dtype or negative step";
  }
  const int64_t keys = kind == "generation" ? s + step : s;
  const TensorSpec cache = tensor(kv, {b, kv_heads, keys, d});
  row->op_type = profile.intern("Attention");
  row->op_class = OpClass::kAttention;
  row->inputs = profile.intern({tensor(q, {b, h, s, d}), cache, cache});
  row->outputs = profile.intern({tensor(q, {b, h, s, d})});
  row->attributes = profile.intern(fmt::format("causal={};kind={};kv_heads={};window={}",
                                               encoder ? 0 : 1, kind, kv_heads, window));
  return "";
}

std::string read_collective(const TableReader& table, Profile& profile, ProfileRow* row) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kOps = {{
      {"all_reduce", "AllReduce"},
      {"all_gather", "AllGather"},
      {"reduce_scatter", "ReduceScatter"},
      {"alltoall", "AllToAll"},
  }};
  std::string_view op_type;
  for (const auto& [name, type] : kOps) {
    op_type = table.cell(kOpName) == name ? type : op_type;
  }
  std::array<int64_t, 2> sizes{};
  std::string problem = read_extents<2>(table, {kGpus, kMessage}, &sizes);
  const DType dtype = dtype_of(table.cell(kNcclDtype));
  if (op_type.empty() || dtype == DType::kUnknown) {
    return "unknown collective or dtype";
  }
  row->op_type = profile.intern(op_type);
  row->op_class = OpClass::kCollective;
  row->inputs = profile.intern({tensor(dtype, {sizes[1]})});
  row->outputs = row->inputs;
  row->attributes = profile.intern(fmt::format("ranks={}", sizes[0]));
  return problem;
}

Status AiconfiguratorImporter::import(const std::string& path, const ProfileImportOptions& options,
                                      Profile& profile, DropReport* drops) const {
  constexpr std::array<int, 4> kRequired = {kFramework, kDevice, kOpName, kLatency};
  DFSIM_ASSIGN_OR_RETURN(TableReader table, TableReader::open(path, kNames, kRequired));
  using Read = std::string (*)(const TableReader&, Profile&, ProfileRow*);
  Read read = nullptr;
  if (table.has(kGemmDtype)) {
    read = read_gemm;
  } else if (table.has(kAttnDtype)) {
    read = read_attention;
  } else if (table.has(kNcclDtype)) {
    read = read_collective;
  } else {
    return unsupported(fmt::format(
        "{}: has none of gemm_dtype, attn_dtype and nccl_dtype; only those tables are read", path));
  }
  RowSink sink(profile, drops, path);
  const TextId provenance = profile.intern("aiconfigurator tables (Apache-2.0)");
  while (true) {
    DFSIM_ASSIGN_OR_RETURN(const bool more, table.next(sink));
    if (!more) {
      return ok_status();
    }
    ProfileRow row;
    row.timing = TimingKind::kKernelOnly;
    row.provenance = provenance;
    row.kernel = profile.intern(table.cell(kKernel));
    set_origin(profile, options, table.cell(kDevice), to_lower(table.cell(kFramework)),
               table.cell(kVersion), &row);
    std::string problem = read(table, profile, &row);
    if (problem.empty()) {
      sink.add(row, table.line_number(), table.number(kLatency).value_or(std::nan("")) * kNsPerMs);
    } else {
      sink.drop(table.line_number(), DropReason::kMalformed, std::move(problem));
    }
  }
}

}  // namespace
}  // namespace aiconfigurator

std::unique_ptr<Importer> make_aiconfigurator_importer() {
  return std::make_unique<aiconfigurator::AiconfiguratorImporter>();
}

}  // namespace dfsim::inline datasets
