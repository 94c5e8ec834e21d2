// Values that are sampled at computed positions: GridSample, AffineGrid, DeformConv.
#include <algorithm>
#include <cmath>

#include "graphs/ops/families/nn/fold_nn.h"

namespace dfsim::inline graphs {
namespace {

// How positions outside an image are read.
enum class Border { kZeros, kEdge, kReflection };

// One axis of a sampled image.
struct SampledAxis {
  int64_t extent;
  bool align_corners;
  Border border;

  // [-1, 1] to a position; runtimes compute it in single precision.
  double denormalized(double n) const {
    const auto length = static_cast<double>(extent);
    const double at = align_corners ? (n + 1) / 2 * (length - 1) : ((n + 1) * length - 1) / 2;
    return static_cast<double>(static_cast<float>(at));
  }

  // Back and forth between the borders until it is inside.
  double reflected(double at) const {
    const double low = align_corners ? 0 : -0.5;
    const double high = static_cast<double>(extent) - (align_corners ? 1 : 0.5);
    const double range = high - low;
    const double beyond = at < low ? low - at : at > high ? at - high : -1;
    if (beyond < 0 || range <= 0) {
      return at;
    }
    const double turns = std::floor(beyond / range);
    const double rest = beyond - turns * range;
    const bool even = std::fmod(turns, 2) == 0;
    return (at < low) == even ? low + rest : high - rest;
  }

  // A denormalised position brought inside by the border's rule; `zeros` leaves it outside.
  double settled(double at, bool nearest) const {
    at = nearest ? std::nearbyint(at) : at;
    const double low = align_corners ? 0 : -0.5;
    const double high = static_cast<double>(extent) - (align_corners ? 1 : 0.5);
    if (at >= low && at <= high) {
      return at;
    }
    return border == Border::kEdge         ? std::clamp(at, 0.0, static_cast<double>(extent - 1))
           : border == Border::kReflection ? reflected(at)
                                           : at;
  }

  // The element to read for position `i`; -1: outside, where it is zero.
  int64_t element(int64_t i) const {
    if (border == Border::kReflection) {
      return std::clamp<int64_t>(to_whole(reflected(static_cast<double>(i))), 0, extent - 1);
    }
    if (border == Border::kEdge) {
      return std::clamp<int64_t>(i, 0, extent - 1);
    }
    return i >= 0 && i < extent ? i : -1;
  }
};

double cubic_weight(double distance) {
  constexpr double kA = -0.75;
  const double x = std::abs(distance);
  return x <= 1  ? ((kA + 2) * x - (kA + 3)) * x * x + 1
         : x < 2 ? ((kA * x - 5 * kA) * x + 8 * kA) * x - 4 * kA
                 : 0;
}

// The weighted sum of the neighbours of `position` (one coordinate per axis).
class Sampler {
 public:
  Sampler(std::vector<SampledAxis> axes, const std::string& mode)
      : axes_(std::move(axes)),
        cubic_(mode.find("cubic") != std::string::npos),
        nearest_(mode == "nearest") {}

  template <typename Pixel>
  double at(const std::vector<double>& position, Pixel pixel) const {
    return along(0, 0, position, pixel);
  }

  // A grid's coordinate of that axis as a position.
  double position(size_t axis, double coordinate) const {
    return axes_[axis].settled(axes_[axis].denormalized(coordinate), nearest_);
  }

 private:
  template <typename Pixel>
  double along(size_t axis, int64_t prefix, const std::vector<double>& position,
               Pixel pixel) const {
    if (axis == axes_.size()) {
      return pixel(prefix);
    }
    const SampledAxis& sampled = axes_[axis];
    const double at = position[axis];
    const auto read = [&](int64_t i) {
      const int64_t element = sampled.element(i);
      return element < 0 ? 0.0
                         : along(axis + 1, prefix * sampled.extent + element, position, pixel);
    };
    if (nearest_) {
      return read(to_whole(at));
    }
    const int64_t floor = to_whole(std::floor(at));
    double sum = 0;
    for (int64_t i = floor - (cubic_ ? 1 : 0); i <= floor + (cubic_ ? 2 : 1); ++i) {
      const double distance = at - static_cast<double>(i);
      const double weight = cubic_ ? cubic_weight(distance) : 1 - std::abs(distance);
      sum += weight * read(i);
    }
    return sum;
  }

  std::vector<SampledAxis> axes_;
  bool cubic_;
  bool nearest_;
};

std::optional<Sampler> sampler_of(const InferContext& context, const Extents& space) {
  const Attributes& attributes = context.attributes();
  const bool align = attributes.int_or("align_corners", 0) != 0;
  const std::string padding = attributes.string_or("padding_mode", "zeros");
  const Border border = padding == "border"       ? Border::kEdge
                        : padding == "reflection" ? Border::kReflection
                                                  : Border::kZeros;
  std::vector<SampledAxis> axes;
  for (const int64_t extent : space) {
    if (extent < 1) {
      return std::nullopt;
    }
    axes.push_back({extent, align, border});
  }
  return Sampler(std::move(axes), attributes.string_or("mode", "linear"));
}

}  // namespace

// The grid's last axis counts coordinates from the last axis of the image to the first.
void fold_grid_sample(InferContext& context) {
  const ConstValue* x = context.value(0);
  const ConstValue* grid = context.value(1);
  const auto out = small_extents(context, 0);
  if (x == nullptr || grid == nullptr || !out || !is_floating(x->dtype) ||
      !is_floating(grid->dtype) || x->extents.size() < 3) {
    return;
  }
  const Extents space(x->extents.begin() + 2, x->extents.end());
  const auto sampler = sampler_of(context, space);
  if (!sampler || grid->extents.back() != static_cast<int64_t>(space.size()) ||
      grid->extents[0] != x->extents[0]) {
    return;
  }
  const int64_t size = small_product(space);
  const int64_t points = small_product(*out) / std::max<int64_t>(1, (*out)[0] * (*out)[1]);
  ConstValue result = empty_value(x->dtype, *out);
  for (int64_t row = 0; row < (*out)[0] * (*out)[1]; ++row) {
    for (int64_t p = 0; p < points; ++p) {
      const int64_t first = (row / (*out)[1] * points + p) * static_cast<int64_t>(space.size());
      std::vector<double> position;
      for (size_t axis = 0; axis < space.size(); ++axis) {
        const auto coordinate = static_cast<size_t>(first) + space.size() - 1 - axis;
        position.push_back(sampler->position(axis, grid->floats[coordinate]));
      }
      append_double(&result, sampler->at(position, [&](int64_t i) {
        return x->floats[static_cast<size_t>(row * size + i)];
      }));
    }
  }
  context.set_value(0, std::move(result));
}

// theta [N, k, k + 1] applied to the centres of a grid over [-1, 1].
void fold_affine_grid(InferContext& context) {
  const ConstValue* theta = context.value(0);
  const auto out = small_extents(context, 0);
  if (theta == nullptr || !out || out->empty() || !is_floating(theta->dtype)) {
    return;
  }
  const auto k = static_cast<size_t>(out->back());
  if (out->size() != k + 2 || theta->extents != Extents{(*out)[0], out->back(), out->back() + 1}) {
    return;
  }
  const bool align = context.attributes().int_or("align_corners", 0) != 0;
  const Extents space(out->begin() + 1, out->end() - 1);
  ConstValue result = empty_value(theta->dtype, *out);
  for (int64_t n = 0; n < (*out)[0]; ++n) {
    IndexCounter position(space);
    for (int64_t p = 0; p < small_product(space); ++p, position.next()) {
      for (size_t row = 0; row < k; ++row) {
        const auto first = (static_cast<size_t>(n) * k + row) * (k + 1);
        double sum = theta->floats[first + k];
        for (size_t column = 0; column < k; ++column) {
          // Coordinates count from the last axis to the first.
          const size_t axis = k - 1 - column;
          const auto extent = static_cast<double>(space[axis]);
          const auto at = static_cast<double>(position[axis]);
          const double centre = align ? -1 + 2 * at / (extent - 1) : -1 + (2 * at + 1) / extent;
          sum += theta->floats[first + column] * centre;
        }
        append_double(&result, sum);
      }
    }
  }
  context.set_value(0, std::move(result));
}

namespace {

// Operands of DeformConv on images: offsets [N, offset groups x taps x 2, H, W], mask the same
// without the 2.
struct Deformed {
  const ConstValue* x;
  const ConstValue* w;
  const ConstValue* offset;
  const ConstValue* mask;
  Window window;
  Extents out;
  std::vector<int64_t> begins;
  int64_t group;
  int64_t offset_group;
  int64_t taps;
};

std::optional<Deformed> deformed_of(const InferContext& context) {
  const ConstValue* x = context.value(0);
  const ConstValue* w = context.value(1);
  const ConstValue* offset = context.value(2);
  const auto out = small_extents(context, 0);
  if (x == nullptr || w == nullptr || offset == nullptr || !out || x->extents.size() != 4 ||
      w->extents.size() != 4 || offset->extents.size() != 4 || !is_floating(x->dtype) ||
      small_product(*out) > kMaxFoldedSteps / std::max<int64_t>(1, small_product(w->extents))) {
    return std::nullopt;
  }
  auto window = Window::from_conv(context, 2, Shape::of(w->extents));
  const int64_t group = context.attributes().int_or("group", 1);
  const int64_t offset_group = context.attributes().int_or("offset_group", 1);
  const int64_t taps = w->extents[2] * w->extents[3];
  if (!window.ok() || group < 1 || offset_group < 1 || x->extents[1] != w->extents[1] * group ||
      x->extents[1] % offset_group != 0 || (*out)[1] % group != 0 ||
      offset->extents != Extents{(*out)[0], offset_group * taps * 2, (*out)[2], (*out)[3]}) {
    return std::nullopt;
  }
  auto begins = window->begins({x->extents[2], x->extents[3]}, {(*out)[2], (*out)[3]});
  return Deformed{x,
                  w,
                  offset,
                  context.value(4),
                  std::move(*window),
                  *out,
                  std::move(begins),
                  group,
                  offset_group,
                  taps};
}

// The product of one tap: the image blended where the offset says, times mask and weight.
double deformed_tap(const Deformed& d, const Sampler& sampler, const Extents& at, int64_t channel,
                    int64_t tap, int64_t weight) {
  const int64_t owner = channel / (d.x->extents[1] / d.offset_group) * d.taps + tap;
  const auto offset = [&](int64_t axis) {
    return d.offset->floats[static_cast<size_t>(
        ((at[0] * d.offset_group * d.taps * 2 + owner * 2 + axis) * d.out[2] + at[2]) * d.out[3] +
        at[3])];
  };
  const int64_t k[2] = {tap / d.w->extents[3], tap % d.w->extents[3]};
  std::vector<double> position;
  for (size_t axis = 0; axis < 2; ++axis) {
    position.push_back(static_cast<double>(at[axis + 2] * d.window.strides()[axis] -
                                           d.begins[axis] + k[axis] * d.window.dilations()[axis]) +
                       offset(static_cast<int64_t>(axis)));
  }
  const int64_t size = d.x->extents[2] * d.x->extents[3];
  const double sampled = sampler.at(position, [&](int64_t i) {
    return d.x->floats[static_cast<size_t>((at[0] * d.x->extents[1] + channel) * size + i)];
  });
  const double mask =
      d.mask == nullptr
          ? 1
          : d.mask->as_double(static_cast<size_t>(
                ((at[0] * d.offset_group * d.taps + owner) * d.out[2] + at[2]) * d.out[3] + at[3]));
  return sampled * mask * d.w->as_double(static_cast<size_t>(weight));
}

}  // namespace

void fold_deform_conv(InferContext& context) {
  const auto d = deformed_of(context);
  if (!d || d->x->extents[2] < 1 || d->x->extents[3] < 1) {
    return;
  }
  const Sampler sampler(
      {{d->x->extents[2], true, Border::kZeros}, {d->x->extents[3], true, Border::kZeros}},
      "linear");
  const ConstValue* bias = context.value(3);
  const int64_t depth = d->w->extents[1];
  ConstValue out = empty_value(d->x->dtype, d->out);
  IndexCounter at(d->out);
  for (int64_t i = 0; i < small_product(d->out); ++i, at.next()) {
    const int64_t m = at[1];
    double sum = bias != nullptr ? bias->as_double(static_cast<size_t>(m)) : 0;
    for (int64_t c = 0; c < depth; ++c) {
      const int64_t channel = m / (d->out[1] / d->group) * depth + c;
      for (int64_t tap = 0; tap < d->taps; ++tap) {
        sum += deformed_tap(*d, sampler, at.index(), channel, tap, (m * depth + c) * d->taps + tap);
      }
    }
    append_double(&out, sum);
  }
  context.set_value(0, std::move(out));
}

}  // namespace dfsim::inline graphs
