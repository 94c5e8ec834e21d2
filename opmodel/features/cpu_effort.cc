// Convolutions outside of blocks, gathers and scatters, resampling, recurrent layers. FLOPs
// below are those that a core makes in a large product in the same time.
#include "opmodel/features/cpu_effort.h"

#include <algorithm>
#include <cmath>

#include "datasets/profiles/profile.h"
#include "opmodel/features/feature_writer.h"

namespace dfsim::inline opmodel {

// ONNX Runtime scatters along an axis that is not the innermost one column by column: each element
// is in another line of memory than the one before, and so are its index and its new value. Up to
// the size of a core's second cache that takes no longer than along rows (5 ns), beyond it 45 to
// 190 ns on a Cascade Lake.
double scattered_column_bytes(const OpDescriptor& op) {
  constexpr double kSecondCache = 1.5e6;  // bytes
  constexpr double kLine = 16;            // elements
  const std::vector<size_t> axis = index_list(op, "axis");
  if ((op.op_type != "ScatterElements" && op.op_type != "Scatter") || axis.empty() ||
      op.input_extents.size() < 3 || op.input_dtypes.size() < 3) {
    return 0;
  }
  double inner = 1;
  for (size_t i = axis[0] + 1; i < op.input_extents[0].size(); ++i) {
    inner *= static_cast<double>(op.input_extents[0][i]);
  }
  double bytes = 0;
  for (size_t i = 0; i < 3; ++i) {
    bytes += element_count(op.input_extents[i]) * dtype_bits(op.input_dtypes[i]) / 8;
  }
  return inner >= kLine && bytes > kSecondCache ? bytes : 0;
}

// Columns fill vectors, and each product takes as long to start as some FLOPs. A kernel of more
// than one element first copies what each result reads (im2col), which a few output channels do not
// pay for. Depthwise convolutions have kernels of their own.
double image_products_effort(const OpGeometry& geometry) {
  constexpr double kColumns = 16;
  constexpr double kStartFlops = 18'000;  // 0.2 us of a measured core
  constexpr double kCopyFlops = 38;       // per element: 0.4 to 0.65 ns
  const auto& d = geometry.dims;
  const double columns = d[dim::kOH] * d[dim::kOW];
  const double filled = columns > 1 ? std::ceil(columns / kColumns) * kColumns / columns : 1;
  const double kernel = d[dim::kKH] * d[dim::kKW];
  const bool copies = kernel > 1 && d[dim::kGroup] < d[dim::kC];
  const double copied =
      copies ? d[dim::kBatch] * d[dim::kC] * kernel * columns * kCopyFlops / geometry.flops : 0;
  return filled + copied + d[dim::kBatch] * d[dim::kGroup] * kStartFlops / geometry.flops;
}

// A kernel looks up and copies piece by piece. A piece of up to 64 elements takes the same time in
// eight of ten measured rows within a tenth: 7 to 8 ns (Genoa), 9 to 11 (Milan) or 16 to 18
// (Cascade Lake), and a single element by ScatterElements half of that. In FLOPs that is about the
// same on all three.
double indexed_effort(const OpDescriptor& op, double flops) {
  constexpr double kPiece = 700;
  constexpr double kElement = 300;
  constexpr double kColumnElement = 10'000;
  const double each = scattered_column_bytes(op) > 0     ? kColumnElement
                      : op.op_type.ends_with("Elements") ? kElement
                                                         : kPiece;
  return 1 + indexed_pieces(op) * each / flops;
}

// ONNX Runtime has loops of its own for images (four axes, or two) and takes any other tensor
// through a general one: 13 ns per result to look up the nearest, 5 to 6 to interpolate in five
// axes and in three (Cascade Lake).
double resampling_effort(const OpDescriptor& op) {
  constexpr double kLookUp = 400;
  constexpr double kInterpolation = 80;
  const size_t axes = op.input_extents.empty() ? 0 : op.input_extents[0].size();
  const std::string_view mode = attribute_value(op.attributes, "mode");
  if (mode == "linear") {
    return axes == 3 || axes == 5 ? kInterpolation : 1;
  }
  return mode == "nearest" && axes == 5 ? kLookUp : 1;
}

// A recurrent layer multiplies the inputs of all steps at once and the state step by step, and
// applies a function to every gate: the effort is what the measured rows of two CPUs show. Each
// step reads the weights of the state again, at 60 GB/s for 256 KiB and ever slower for more, 12
// GB/s for 16 MiB (Cascade Lake, batch 1). X is [steps, batch, inputs], R [directions, gates of the
// state, state], the last two the other way round where a layer is quantised.
void add_recurrent_work(const OpDescriptor& op, OpGeometry* geometry) {
  constexpr double kStep = 1.25;
  constexpr double kGateFunctions = 200;  // FLOPs
  constexpr double kWeight = 5.5;         // FLOPs in the time to read a weight
  constexpr double kMostOfWeight = 27;
  constexpr double kFastWeights = 256.0 * 1024;  // bytes
  constexpr double kSlower = 0.4;                // exponent of how many times more there are
  geometry->flops = 0;
  if (op.input_extents.size() < 3 || op.input_extents[0].size() != 3 ||
      op.input_extents[2].size() != 3 || element_count(op.input_extents[0]) <= 0 ||
      element_count(op.input_extents[1]) <= 0 || element_count(op.input_extents[2]) <= 0) {
    return;
  }
  const std::vector<int64_t>& x = op.input_extents[0];
  const std::vector<int64_t>& r = op.input_extents[2];
  const auto inputs = static_cast<double>(x[2]);
  const bool quantised = op.op_type.ends_with("DynamicQuantizeLSTM");
  const auto gates = static_cast<double>(r[quantised ? 2 : 1]);
  const auto state = static_cast<double>(r[quantised ? 1 : 2]);
  const auto batch = static_cast<double>(x[1]);
  const double bytes = gates * state * (quantised ? 1 : 4);
  const double read =
      std::min(kWeight * std::pow(std::max(1.0, bytes / kFastWeights), kSlower), kMostOfWeight);
  const double products = 2 * batch * gates * (inputs + state);
  const double effort =
      batch * gates * (2 * inputs + kGateFunctions) + gates * state * (2 * batch * kStep + read);
  geometry->flops = static_cast<double>(x[0] * r[0]) * products;
  geometry->cpu_effort = effort / products;
}

}  // namespace dfsim::inline opmodel
