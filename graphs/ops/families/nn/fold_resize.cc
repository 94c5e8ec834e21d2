// Values of Resize and Upsample. Interpolation works axis by axis: each output position is a
// weighted sum of a few input positions, with the coordinates and filters that the standard names.
#include <algorithm>
#include <cmath>

#include "graphs/ops/families/layout/movement_rules.h"
#include "graphs/ops/families/nn/fold_nn.h"

namespace dfsim::inline graphs {
namespace {

// One output position of an axis: source[i] with weight[i]; without sources it is `fill`.
struct Sample {
  std::vector<int64_t> sources;
  std::vector<double> weights;
};

struct ResizeFilter {
  std::string mode;
  std::string nearest;
  std::string transform;
  double cubic = -0.75;
  double fill = 0;
  bool antialias = false;
  bool exclude_outside = false;

  static ResizeFilter of(const InferContext& context) {
    const Attributes& attributes = context.attributes();
    const bool early = context.op().op_type == "Upsample" || context.version() < 11;
    ResizeFilter filter;
    filter.mode = attributes.string_or("mode", "nearest");
    filter.nearest = attributes.string_or("nearest_mode", early ? "floor" : "round_prefer_floor");
    filter.transform =
        attributes.string_or("coordinate_transformation_mode", early ? "asymmetric" : "half_pixel");
    filter.cubic = attributes.get_float("cubic_coeff_a").value_or(-0.75);
    filter.fill = attributes.get_float("extrapolation_value").value_or(0);
    filter.antialias = attributes.int_or("antialias", 0) != 0;
    filter.exclude_outside = attributes.int_or("exclude_outside", 0) != 0;
    return filter;
  }

  double cubic_weight(double distance) const {
    const double x = std::abs(distance);
    return x <= 1  ? ((cubic + 2) * x - (cubic + 3)) * x * x + 1
           : x < 2 ? ((cubic * x - 5 * cubic) * x + 8 * cubic) * x - 4 * cubic
                   : 0;
  }
  double weight(double distance) const {
    return mode == "cubic" ? cubic_weight(distance) : std::max(0.0, 1 - std::abs(distance));
  }
};

// An axis of `in` elements resized to `out`; region: begin and end of a crop, in [0, 1].
struct ResizeAxis {
  int64_t in;
  int64_t out;
  double scale;
  std::pair<double, double> region = {0, 1};
};

// Where output position `i` lies among the input's positions; std::nullopt: an unknown transform.
std::optional<double> source_of(const ResizeFilter& filter, const ResizeAxis& axis, int64_t i) {
  const auto at = static_cast<double>(i);
  const auto in = static_cast<double>(axis.in);
  const double width = axis.scale * in;
  if (filter.transform == "align_corners") {
    return width == 1 ? 0 : at * (in - 1) / (width - 1);
  }
  if (filter.transform == "asymmetric") {
    return at / axis.scale;
  }
  if (filter.transform == "tf_crop_and_resize") {
    const double extent = axis.region.second - axis.region.first;
    const double inside = width == 1 ? extent * (in - 1) / 2 : at * extent * (in - 1) / (width - 1);
    return inside + axis.region.first * (in - 1);
  }
  const double half_pixel = (at + 0.5) / axis.scale - 0.5;
  if (filter.transform == "half_pixel") {
    return half_pixel;
  }
  if (filter.transform == "pytorch_half_pixel") {
    return width == 1 ? -0.5 : half_pixel;
  }
  if (filter.transform == "half_pixel_symmetric") {
    return in / 2 * (1 - static_cast<double>(axis.out) / width) + half_pixel;
  }
  return std::nullopt;
}

int64_t nearest_of(const std::string& mode, double source) {
  return to_whole(mode == "floor"               ? std::floor(source)
                  : mode == "ceil"              ? std::ceil(source)
                  : mode == "round_prefer_ceil" ? std::floor(source + 0.5)
                                                : std::ceil(source - 0.5));
}

Sample sample_at(const ResizeFilter& filter, const ResizeAxis& axis, double source) {
  Sample sample;
  if (filter.transform == "tf_crop_and_resize" &&
      (source < 0 || source > static_cast<double>(axis.in - 1))) {
    return sample;
  }
  if (filter.mode == "nearest") {
    sample.sources = {std::clamp<int64_t>(nearest_of(filter.nearest, source), 0, axis.in - 1)};
    sample.weights = {1};
    return sample;
  }
  // Shrinking with antialias widens the filter by the scale.
  const double stretch = filter.antialias ? std::min(axis.scale, 1.0) : 1.0;
  const double reach = (filter.mode == "cubic" ? 2 : 1) / stretch;
  double sum = 0;
  for (int64_t i = to_whole(std::ceil(source - reach)); i <= to_whole(std::floor(source + reach));
       ++i) {
    const bool outside = i < 0 || i >= axis.in;
    const double weight = filter.exclude_outside && outside
                              ? 0
                              : filter.weight((static_cast<double>(i) - source) * stretch);
    sample.sources.push_back(std::clamp<int64_t>(i, 0, axis.in - 1));
    sample.weights.push_back(weight);
    sum += weight;
  }
  for (double& weight : sample.weights) {
    weight /= filter.antialias || filter.exclude_outside ? sum : 1;
  }
  return sample;
}

// Replaces axis `axis` of `values` by its samples.
std::vector<double> resample(const std::vector<double>& values, Extents* extents, size_t axis,
                             const std::vector<Sample>& samples, double fill) {
  int64_t inner = 1;
  for (size_t i = axis + 1; i < extents->size(); ++i) {
    inner *= (*extents)[i];
  }
  const int64_t length = (*extents)[axis];
  const int64_t outer = static_cast<int64_t>(values.size()) / std::max<int64_t>(1, length * inner);
  std::vector<double> result;
  for (int64_t row = 0; row < outer; ++row) {
    for (const Sample& sample : samples) {
      for (int64_t k = 0; k < inner; ++k) {
        double sum = sample.sources.empty() ? fill : 0;
        for (size_t i = 0; i < sample.sources.size(); ++i) {
          const auto at = static_cast<size_t>((row * length + sample.sources[i]) * inner + k);
          sum += sample.weights[i] * values[at];
        }
        result.push_back(sum);
      }
    }
  }
  (*extents)[axis] = static_cast<int64_t>(samples.size());
  return result;
}

// Begin and end of the crop of an axis, from input 1: begins of all resized axes, then ends.
std::pair<double, double> crop_of(const InferContext& context, size_t axis, size_t rank) {
  const ConstValue* roi = context.value(1);
  const auto* axes = context.attributes().get_ints("axes");
  size_t place = axis;
  size_t count = rank;
  if (axes != nullptr) {
    count = axes->size();
    place = count;
    for (size_t i = 0; i < count; ++i) {
      const int64_t given = (*axes)[i] < 0 ? (*axes)[i] + static_cast<int64_t>(rank) : (*axes)[i];
      place = given == static_cast<int64_t>(axis) ? i : place;
    }
  }
  const bool cropped = context.op().op_type == "Resize" && context.version() >= 11 &&
                       roi != nullptr && roi->size() == 2 * count && place < count;
  return cropped ? std::pair(roi->as_double(place), roi->as_double(place + count))
                 : std::pair(0.0, 1.0);
}

}  // namespace

void fold_resize(InferContext& context) {
  const ConstValue* x = context.value(0);
  const auto out = small_extents(context, 0);
  const auto scales = x != nullptr ? resize_scales(context) : std::nullopt;
  if (!scales || !out || !has_arithmetic(x->dtype) || x->size() == 0 ||
      scales->size() != x->extents.size()) {
    return;
  }
  const ResizeFilter filter = ResizeFilter::of(context);
  if (filter.mode != "nearest" && filter.mode != "linear" && filter.mode != "cubic") {
    return;
  }
  std::vector<double> values;
  for (size_t i = 0; i < x->size(); ++i) {
    values.push_back(x->as_double(i));
  }
  Extents extents = x->extents;
  for (size_t axis = 0; axis < extents.size(); ++axis) {
    const ResizeAxis resized = {extents[axis], (*out)[axis], (*scales)[axis],
                                crop_of(context, axis, extents.size())};
    const bool whole = resized.region == std::pair(0.0, 1.0);
    if (!(resized.scale > 0) || (resized.scale == 1 && resized.in == resized.out && whole)) {
      continue;
    }
    std::vector<Sample> samples;
    for (int64_t i = 0; i < resized.out; ++i) {
      const auto source = source_of(filter, resized, i);
      if (!source || std::abs(*source) > 1e9 || (filter.antialias && resized.scale < 1e-3)) {
        return;
      }
      samples.push_back(sample_at(filter, resized, *source));
    }
    values = resample(values, &extents, axis, samples, filter.fill);
    if (static_cast<int64_t>(values.size()) > kMaxFoldedSteps) {
      return;
    }
  }
  if (extents != *out) {
    return;
  }
  ConstValue result = empty_value(x->dtype, *out);
  for (const double value : values) {
    if (!append_double(&result, is_floating(x->dtype) ? value : std::nearbyint(value))) {
      return;
    }
  }
  context.set_value(0, std::move(result));
}

}  // namespace dfsim::inline graphs
