// NeuSight's operator measurements (ASPLOS'25; MIT licence), one CSV row per op, shape and GPU.
//
// Columns: op, device, torch ("p2.1.0"), cuda, latency_ms, kernel (of the longest), and the shape
// in those of B M N K H Cin Cout ksize in_size stride pad that the op has. The last letter u of an
// elementwise op means that the second operand is a scalar. For linear and bmm N is the reduced
// dimension: (B,M,N) times (N,K). FP32 with TF32 off; CUDA events round one eager op, mean of the
// five fastest of 25, so launch is included. Convolutions have no bias, groups or dilation.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <memory>

#include "base/text.h"
#include "datasets/importers/importer_list.h"
#include "datasets/importers/row_sink.h"
#include "datasets/importers/tensor_lists.h"
#include "datasets/tables/csv.h"
#include "datasets/tables/table_reader.h"

namespace dfsim::inline datasets {
namespace neusight {
namespace {

enum Column : int {
  kOp,
  kDevice,
  kTorch,
  kCuda,
  kLatency,
  kB,
  kM,
  kN,
  kK,
  kH,
  kCin,
  kCout,
  kKsize,
  kIn,
  kStride,
  kPad,
  kKernel,
  kColumns
};
constexpr std::array<std::string_view, kColumns> kNames = {
    "op", "device", "torch", "cuda",  "latency_ms", "B",      "M",   "N",     "K",
    "H",  "Cin",    "Cout",  "ksize", "in_size",    "stride", "pad", "kernel"};

enum class Kind { kConv, kBmm, kLinear, kBinary, kWithScalar, kUnary, kNorm, kSoftmax };

struct OpInfo {
  std::string_view name;
  std::string_view op_type;
  Kind kind;
  OpClass op_class;
};

constexpr std::array<OpInfo, 17> kOps = {{
    {"conv", "Conv", Kind::kConv, OpClass::kConv},
    {"bmm", "MatMul", Kind::kBmm, OpClass::kMatMul},
    {"linear", "Gemm", Kind::kLinear, OpClass::kMatMul},
    {"add", "Add", Kind::kBinary, OpClass::kElementwise},
    {"addu", "Add", Kind::kWithScalar, OpClass::kElementwise},
    {"mul", "Mul", Kind::kBinary, OpClass::kElementwise},
    {"mulu", "Mul", Kind::kWithScalar, OpClass::kElementwise},
    {"div", "Div", Kind::kBinary, OpClass::kElementwise},
    {"divu", "Div", Kind::kWithScalar, OpClass::kElementwise},
    {"pow", "Pow", Kind::kBinary, OpClass::kElementwise},
    {"powu", "Pow", Kind::kWithScalar, OpClass::kElementwise},
    {"relu", "Relu", Kind::kUnary, OpClass::kElementwise},
    {"gelu", "Gelu", Kind::kUnary, OpClass::kElementwise},
    {"tanh", "Tanh", Kind::kUnary, OpClass::kElementwise},
    {"ln", "LayerNormalization", Kind::kNorm, OpClass::kNorm},
    {"softmax", "Softmax", Kind::kSoftmax, OpClass::kSoftmax},
    {"sqrt", "Sqrt", Kind::kUnary, OpClass::kElementwise},
}};

const OpInfo* find_op(std::string_view name) {
  for (const OpInfo& op : kOps) {
    if (op.name == name) {
      return &op;
    }
  }
  return nullptr;
}

// The columns that say the shape of an op of this kind.
std::span<const Column> shape_columns(Kind kind) {
  static constexpr std::array kConv = {kB, kCin, kCout, kKsize, kIn, kStride, kPad};
  static constexpr std::array kMatrix = {kB, kM, kN, kK};
  static constexpr std::array kVector = {kB, kH};
  if (kind == Kind::kConv) {
    return kConv;
  }
  return kind == Kind::kBmm || kind == Kind::kLinear ? std::span<const Column>(kMatrix) : kVector;
}

class NeusightImporter : public Importer {
 public:
  std::string_view name() const override { return "neusight"; }
  std::string_view description() const override {
    return "NeuSight operator CSV (fp32 GPU ops, launch-inclusive)";
  }
  Status import(const std::string& path, const ProfileImportOptions& options, Profile& profile,
                DropReport* drops) const override;
};

// Fills shapes and attributes; `d` is indexed by Column.
void describe(const OpInfo& op, const std::array<int64_t, kColumns>& d, Profile& profile,
              ProfileRow* row) {
  constexpr DType kType = DType::kFloat32;
  TensorList in;
  TensorList out;
  std::string attributes;
  switch (op.kind) {
    case Kind::kConv: {
      const int64_t k = d[kKsize];
      const ConvGeometry conv{.kernel = {k, k},
                              .strides = {d[kStride], d[kStride]},
                              .pads = {d[kPad], d[kPad], d[kPad], d[kPad]},
                              .dilations = {1, 1}};
      in = {tensor(kType, {d[kB], d[kCin], d[kIn], d[kIn]}),
            tensor(kType, {d[kCout], d[kCin], k, k})};
      out = {tensor(kType, conv_output(in[0].extents, d[kCout], conv))};
      attributes = conv_attributes(conv);
      break;
    }
    case Kind::kBmm:
      in = {tensor(kType, {d[kB], d[kM], d[kN]}), tensor(kType, {d[kB], d[kN], d[kK]})};
      out = {tensor(kType, {d[kB], d[kM], d[kK]})};
      break;
    case Kind::kLinear:
      in = {tensor(kType, {d[kB] * d[kM], d[kN]}), tensor(kType, {d[kK], d[kN]}),
            tensor(kType, {d[kK]})};
      out = {tensor(kType, {d[kB] * d[kM], d[kK]})};
      attributes = gemm_attributes(false, true);
      break;
    default: {
      const TensorSpec x = tensor(kType, {d[kB], d[kH]});
      in = {x};
      out = {x};
      if (op.kind == Kind::kBinary) {
        in.push_back(x);
      } else if (op.kind == Kind::kWithScalar) {
        in.push_back(tensor(kType, {}));
      } else if (op.kind == Kind::kNorm) {
        in.insert(in.end(), 2, tensor(kType, {d[kH]}));
      }
      if (op.kind == Kind::kNorm || op.kind == Kind::kSoftmax) {
        attributes = "axis=1";
      }
    }
  }
  row->inputs = profile.intern(in);
  row->outputs = profile.intern(out);
  row->attributes = profile.intern(attributes);
}

// Reads one record; gives what is wrong with it, or "".
std::string read_record(const TableReader& table, const ProfileImportOptions& options,
                        RowSink& sink, ProfileRow* row, double* latency_ms) {
  const OpInfo* const op = find_op(table.cell(kOp));
  if (op == nullptr) {
    return fmt::format("unknown op '{}'", printable(table.cell(kOp)));
  }
  std::array<int64_t, kColumns> dims{};
  for (const Column column : shape_columns(op->kind)) {
    const auto value = table.integer(column);
    if (!value.has_value() || *value < (column == kPad ? 0 : 1) || *value > kMaxExtent) {
      return fmt::format("{} is '{}', expected a positive extent", kNames[column],
                         printable(table.cell(column)));
    }
    dims[column] = *value;
  }
  const auto latency = table.number(kLatency);
  *latency_ms = latency.value_or(std::nan(""));
  describe(*op, dims, sink.profile(), row);
  row->op_type = sink.profile().intern(op->op_type);
  row->op_class = op->op_class;
  row->kernel = sink.profile().intern(table.cell(kKernel));
  std::string_view torch = table.cell(kTorch);
  if (torch.starts_with('p')) {
    torch.remove_prefix(1);
  }
  const std::string version = table.cell(kCuda).empty()
                                  ? std::string(torch)
                                  : fmt::format("{}+{}", torch, table.cell(kCuda));
  set_origin(sink.profile(), options, table.cell(kDevice), "pytorch", version, row);
  return "";
}

Status NeusightImporter::import(const std::string& path, const ProfileImportOptions& options,
                                Profile& profile, DropReport* drops) const {
  constexpr std::array<int, 8> kRequired = {kOp, kDevice, kLatency, kB, kM, kN, kK, kH};
  DFSIM_ASSIGN_OR_RETURN(TableReader table, TableReader::open(path, kNames, kRequired));
  RowSink sink(profile, drops, path);
  // The file says which of NeuSight's recordings a row is of (opmodel/train/recording_effects.h).
  const TextId provenance = profile.intern(fmt::format(
      "NeuSight operator data (MIT), {}", std::filesystem::path(path).filename().string()));
  while (true) {
    DFSIM_ASSIGN_OR_RETURN(const bool more, table.next(sink));
    if (!more) {
      return ok_status();
    }
    ProfileRow row;
    row.timing = TimingKind::kLaunchInclusive;
    row.samples = 5;
    row.provenance = provenance;
    double latency_ms = 0;
    std::string problem = read_record(table, options, sink, &row, &latency_ms);
    if (problem.empty()) {
      sink.add(row, table.line_number(), latency_ms * kNsPerMs);
    } else {
      sink.drop(table.line_number(), DropReason::kMalformed, std::move(problem));
    }
  }
}

}  // namespace
}  // namespace neusight

std::unique_ptr<Importer> make_neusight_importer() {
  return std::make_unique<neusight::NeusightImporter>();
}

}  // namespace dfsim::inline datasets
