// The geometry of the operators of each family, which the families' entries name.
#include "opmodel/features/feature_family.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <span>
#include <vector>

#include "datasets/profiles/profile.h"
#include "graphs/ops/families/extensions/runtime_ops.h"
#include "opmodel/features/conv_gradient.h"
#include "opmodel/features/cpu_effort.h"

namespace dfsim::inline opmodel {

namespace {

using Extents = std::vector<int64_t>;

// Product of extents; a missing tensor ({-1}) and unknown extents count as no elements.
double elements(std::span<const int64_t> extents) {
  double product = 1;
  for (const int64_t extent : extents) {
    product *= static_cast<double>(std::max<int64_t>(extent, 0));
  }
  return product;
}

DType dtype_at(const std::vector<DType>& dtypes, size_t i) {
  return i < dtypes.size() ? dtypes[i] : DType::kUnknown;
}

double tensor_bytes(const std::vector<Extents>& tensors, const std::vector<DType>& dtypes) {
  double bytes = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    bytes += elements(tensors[i]) * dtype_bits(dtype_at(dtypes, i)) / 8;
  }
  return bytes;
}

bool all_known(const std::vector<Extents>& tensors, size_t count) {
  if (tensors.size() < count) {
    return false;
  }
  return std::all_of(tensors.begin(), tensors.begin() + static_cast<ptrdiff_t>(count),
                     [](const Extents& extents) {
                       return std::all_of(extents.begin(), extents.end(),
                                          [](int64_t extent) { return extent > 0; });
                     });
}

int64_t int_attribute(const OpDescriptor& op, std::string_view name, int64_t fallback) {
  const std::string_view text = attribute_value(op.attributes, name);
  int64_t value = fallback;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// Kernels of ONNX Runtime tell no signed from unsigned bytes.
DType arithmetic_of(DType dtype) { return dtype == DType::kUInt8 ? DType::kInt8 : dtype; }

// Fills what all families share.
OpGeometry start(const OpDescriptor& op, Family family, std::string kind) {
  OpGeometry geometry;
  geometry.family = family;
  geometry.kind = std::move(kind);
  geometry.dtype = arithmetic_of(op.dtype);
  const DType weight = dtype_at(op.input_dtypes, right_operand(op));
  geometry.weight_dtype = arithmetic_of(weight == DType::kUnknown ? op.dtype : weight);
  geometry.bytes_in = tensor_bytes(op.input_extents, op.input_dtypes);
  geometry.bytes_out = tensor_bytes(op.output_extents, op.output_dtypes);
  geometry.bytes = geometry.bytes_in + geometry.bytes_out;
  return geometry;
}

// ONNX Runtime's products may read [m, batch..., k] as [batch..., m, k].
Extents with_batch_in_front(const OpDescriptor& op, size_t input, std::string_view attribute) {
  Extents extents = op.input_extents[input];
  if (extents.size() > 2 && int_attribute(op, attribute, 0) != 0) {
    std::rotate(extents.begin(), extents.begin() + 1, extents.end() - 1);
  }
  return extents;
}

}  // namespace

size_t right_operand(const OpDescriptor& op) {
  const std::string_view type = op.op_type;
  const size_t dot = type.rfind('.');
  const std::string_view name = dot == std::string_view::npos ? type : type.substr(dot + 1);
  return name == "QLinearMatMul" || name == "QLinearConv" || name == "QGemm" ? 3 : 1;
}

bool gemm_geometry(const OpDescriptor& op, OpGeometry* out) {
  if (op.op_class != OpClass::kMatMul) {
    return false;
  }
  const size_t right = right_operand(op);
  if (!all_known(op.input_extents, right + 1)) {
    return false;
  }
  const Extents a = with_batch_in_front(op, 0, "transBatchA");
  const Extents b = with_batch_in_front(op, right, "transBatchB");
  if (a.empty() || b.empty()) {
    return false;
  }
  const bool trans_a = int_attribute(op, "transA", 0) != 0;
  const bool trans_b = int_attribute(op, "transB", 0) != 0;
  const double k = static_cast<double>(trans_a && a.size() > 1 ? a[a.size() - 2] : a.back());
  const double b_k = static_cast<double>(b.size() == 1 || trans_b ? b.back() : b[b.size() - 2]);
  if (k != b_k) {
    return false;
  }
  const double n =
      elements(b.size() == 1 ? Extents{} : Extents(b.end() - 2, b.end())) / (b.size() == 1 ? 1 : k);
  const double batch_b = b.size() > 2 ? elements({b.data(), b.size() - 2}) : 1;
  // A shared right operand folds all leading axes of the left one into M.
  double batch = 1;
  double m = elements(a) / k;
  if (batch_b > 1) {
    const double rows =
        a.size() > 1 ? static_cast<double>(trans_a ? a.back() : a[a.size() - 2]) : 1;
    batch = std::max(batch_b, m / rows);
    m = rows;
  }
  // Products of 8 bits, weight-only and block-scaled ones run kernels of their own.
  const std::string_view quant = attribute_value(op.attributes, "quant");
  std::string kind = batch_b > 1 ? "bmm" : "linear";
  if (dtype_bits(op.dtype) == 8) {
    kind += "-8bit";
  }
  if (!quant.empty()) {
    kind += "-";
    kind += quant;
  }
  *out = start(op, Family::kGemm, std::move(kind));
  const size_t third = 2 * right;
  const bool bias = op.input_extents.size() > third && elements(op.input_extents[third]) > 1;
  out->dims = {batch, m, n, k, bias ? 1.0 : 0.0};
  out->flops = 2 * batch * m * n * k;
  out->matrix = true;
  return batch * m * n * k > 0;
}

bool conv_geometry(const OpDescriptor& op, OpGeometry* out) {
  if (op.op_class != OpClass::kConv) {
    return false;
  }
  if (is_conv_gradient(op)) {
    const bool fits = conv_geometry(forward_convolution(op), out);
    out->kind += is_filter_gradient(op) ? kFilterGradientSuffix : kImageGradientSuffix;
    return fits;
  }
  const size_t right = right_operand(op);
  if (!all_known(op.input_extents, right + 1) || !all_known(op.output_extents, 1)) {
    return false;
  }
  Extents x = op.input_extents[0];
  const Extents& w = op.input_extents[right];
  Extents y = op.output_extents[0];
  if (x.size() < 3 || x.size() != w.size() || x.size() != y.size()) {
    return false;
  }
  if (right != 1 && y[1] != w[0] && y.back() == w[0]) {  // channels last
    std::rotate(x.begin() + 1, x.end() - 1, x.end());
    std::rotate(y.begin() + 1, y.end() - 1, y.end());
  }
  const double group = static_cast<double>(int_attribute(op, "group", 1));
  const double c = static_cast<double>(x[1]);
  const auto tail = [](const Extents& extents) {
    return elements({extents.data() + 3, extents.size() - 3});
  };
  const bool transposed = op.op_type.find("Transpose") != std::string::npos;
  std::string kind = group <= 1 ? "dense" : group >= c ? "depthwise" : "grouped";
  kind = transposed ? "transposed" : std::move(kind);
  *out = start(op, Family::kConv, right == 1 ? std::move(kind) : kind + "-8bit");
  const double stride = static_cast<double>(std::max<int64_t>(int_attribute(op, "strides", 1), 1));
  const double kernel = static_cast<double>(w[2]) * tail(w);
  out->dims = {static_cast<double>(x[0]),
               c,
               static_cast<double>(y[1]),
               static_cast<double>(x[2]),
               tail(x),
               static_cast<double>(y[2]),
               tail(y),
               static_cast<double>(w[2]),
               tail(w),
               stride,
               std::max(group, 1.0)};
  // Transposed: every input element meets every weight of its group once.
  out->flops = transposed ? 2 * elements(x) * elements(w) / static_cast<double>(w[0])
                          : 2 * elements(y) * kernel * static_cast<double>(w[1]);
  out->matrix = group <= 1;
  if (!(out->flops > 0)) {
    return false;
  }
  if (!transposed && !op.op_type.starts_with("com.microsoft.nchwc.")) {
    out->cpu_effort = image_products_effort(*out);
  }
  return true;
}

bool runs_on_channels_last(const OpDescriptor& op, const OpGeometry& geometry) {
  return geometry.family == Family::kConv && geometry.kind == "depthwise" &&
         dtype_bits(geometry.dtype) == 16 && attribute_value(op.attributes, kChannelsLast) == "1";
}

bool has_costly_activation(const OpDescriptor& op) {
  const std::string_view activation = attribute_value(op.attributes, "activation");
  return !activation.empty() && activation != "Relu";
}

bool attention_geometry(const OpDescriptor& op, OpGeometry* out) {
  if (op.op_class != OpClass::kAttention) {
    return false;
  }
  if (!all_known(op.input_extents, 2) || op.input_extents[0].size() != 4 ||
      op.input_extents[1].size() != 4) {
    return false;
  }
  const Extents& q = op.input_extents[0];
  const Extents& k = op.input_extents[1];
  const std::string_view kind = attribute_value(op.attributes, "kind");
  std::string name(kind.empty() ? (q[2] == 1 ? "generation" : "encoder") : kind);
  *out = start(op, Family::kAttention, std::move(name));
  const bool causal = int_attribute(op, "causal", 0) != 0 && q[2] > 1;
  const double window = static_cast<double>(int_attribute(op, "window", 0));
  const double queries = static_cast<double>(q[2]);
  const double keys = static_cast<double>(k[2]);
  // Pairs of query and key that are looked at.
  double pairs = causal ? queries * (keys - queries + (queries + 1) / 2) : queries * keys;
  if (window > 0 && window < keys) {
    pairs = std::min(pairs, queries * window);
  }
  out->dims = {static_cast<double>(q[0]),
               static_cast<double>(q[1]),
               static_cast<double>(k[1]),
               queries,
               keys,
               static_cast<double>(q[3]),
               causal ? 1.0 : 0.0,
               window};
  out->flops = 4 * static_cast<double>(q[0] * q[1]) * pairs * static_cast<double>(q[3]);
  // An op does not read the part of a cache outside the window of all queries.
  const double seen = window > 0 ? std::min(keys, window + queries - 1) : keys;
  for (size_t i = 1; i < std::min<size_t>(op.input_extents.size(), 3) && seen < keys; ++i) {
    const double unread =
        tensor_bytes({op.input_extents[i]}, {dtype_at(op.input_dtypes, i)}) * (1 - seen / keys);
    out->bytes_in -= unread;
    out->bytes -= unread;
  }
  out->matrix = true;
  return out->flops > 0;
}

namespace {

// Columns of a row-wise op: the normalised part (of a group, where channels are in groups), or the
// last axis.
double column_count(const OpDescriptor& op, const Extents& x) {
  if (x.empty()) {
    return 1;
  }
  const auto rank = static_cast<int64_t>(x.size());
  const int64_t groups = int_attribute(op, "num_groups", 0);
  if (op.op_type == "GroupNormalization" && groups > 0 && rank > 1) {
    return std::max(1.0, elements({x.data() + 1, x.size() - 1}) / static_cast<double>(groups));
  }
  const int64_t axis = std::clamp<int64_t>(int_attribute(op, "axis", rank - 1), 0, rank - 1);
  if (op.op_class == OpClass::kNorm) {
    return elements({x.data() + axis, x.size() - static_cast<size_t>(axis)});
  }
  return static_cast<double>(
      x[static_cast<size_t>(op.op_class == OpClass::kSoftmax ? axis : rank - 1)]);
}

// Kernels of softmax go along the last axis. ONNX Runtime swaps another one with it before and
// after: blockwise if no others lie between them, which then takes a tenth of the time.
std::string_view inner_axis_suffix(const OpDescriptor& op, const Extents& x) {
  const auto rank = static_cast<int64_t>(x.size());
  const int64_t axis = int_attribute(op, "axis", rank - 1);
  if (axis < 0 || axis + 1 >= rank ||
      elements({x.data() + axis + 1, static_cast<size_t>(rank - axis - 1)}) <= 1) {
    return "";
  }
  const bool others_between =
      elements({x.data() + axis + 1, static_cast<size_t>(rank - axis - 2)}) > 1;
  return others_between ? "-across" : "-inner";
}

}  // namespace

bool rows_geometry(const OpDescriptor& op, OpGeometry* out) {
  if (op.op_class != OpClass::kElementwise && op.op_class != OpClass::kSoftmax &&
      op.op_class != OpClass::kNorm) {
    return false;
  }
  if (op.input_extents.empty() || !all_known(op.output_extents, 1)) {
    return false;
  }
  const Extents& y = op.output_extents[0];
  const double count = elements(y);
  if (count <= 0) {
    return false;
  }
  double in = 0;
  double largest = 0;
  for (const Extents& extents : op.input_extents) {
    in += elements(extents);
    largest = std::max(largest, elements(extents));
  }
  std::string kind = op.op_type;
  if (op.op_class == OpClass::kSoftmax) {
    kind += inner_axis_suffix(op, y);
  }
  if (op.op_class == OpClass::kElementwise && op.input_extents.size() > 1 && in < 1.5 * largest) {
    kind += "-broadcast";  // the other operands are scalars or small
  }
  *out = start(op, Family::kRows, std::move(kind));
  const double columns = column_count(op, y);
  out->dims = {count / columns, columns, count, in};
  out->flops = count;
  return true;
}

namespace {

// FLOPs of a product whose layout is not known: (MK * KN * MN)^0.5 = MNK in any order of axes; for
// a convolution it falls short by one extent of the kernel.
double product_flops(const OpDescriptor& op) {
  if (op.input_extents.size() < 2 || op.output_extents.empty()) {
    return 0;
  }
  return 2 * std::sqrt(elements(op.input_extents[0]) * elements(op.input_extents[1]) *
                       elements(op.output_extents[0]));
}

}  // namespace

bool generic_geometry(const OpDescriptor& op, OpGeometry* out_geometry) {
  OpGeometry& geometry = *out_geometry;
  // A mode is an algorithm of its own (Resize, Pad).
  const std::string_view mode = attribute_value(op.attributes, "mode");
  geometry =
      start(op, Family::kGeneric, mode.empty() ? op.op_type : op.op_type + "-" + std::string(mode));
  double in = 0;
  for (const Extents& extents : op.input_extents) {
    in += elements(extents);
  }
  double out = 0;
  for (const Extents& extents : op.output_extents) {
    out += elements(extents);
  }
  geometry.dims = {in, out, static_cast<double>(op.input_extents.size()),
                   static_cast<double>(op.output_extents.size())};
  // An op reads only those rows of a table that it outputs.
  if (op.op_class == OpClass::kGather && !op.input_extents.empty()) {
    const double table = tensor_bytes({op.input_extents[0]}, {dtype_at(op.input_dtypes, 0)});
    const double unread = std::max(0.0, table - geometry.bytes_out);
    geometry.bytes_in -= unread;
    geometry.bytes -= unread;
  }
  geometry.matrix = op.op_class == OpClass::kMatMul || op.op_class == OpClass::kConv;
  geometry.flops = geometry.matrix ? product_flops(op) : out;
  if (op.op_class == OpClass::kGather && out > 0) {
    geometry.cpu_effort = indexed_effort(op, out);
  }
  if (op.op_type == "Resize" || op.op_type == "Upsample") {
    geometry.cpu_effort = resampling_effort(op);
  }
  if (op.op_class == OpClass::kRnn) {
    add_recurrent_work(op, &geometry);
  }
  return true;
}

}  // namespace dfsim::inline opmodel
