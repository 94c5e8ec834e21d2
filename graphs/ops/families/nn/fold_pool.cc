// Values of pools, and of what undoes or aligns them.
#include <algorithm>
#include <cmath>

#include "graphs/ops/families/nn/fold_nn.h"

namespace dfsim::inline graphs {
namespace {

struct Pool {
  const ConstValue* x;
  Window window;
  Extents out;
  Extents in_space;
  Extents out_space;
  std::vector<int64_t> begins;

  int64_t in_size() const { return small_product(in_space); }
  int64_t out_size() const { return small_product(out_space); }
};

// std::nullopt: not small, or not as the shape rule has it.
std::optional<Pool> pool_of(const InferContext& context) {
  const ConstValue* x = context.value(0);
  const auto out = small_extents(context, 0);
  if (x == nullptr || !out || x->extents.size() < 3 || !has_arithmetic(x->dtype)) {
    return std::nullopt;
  }
  auto window = Window::from_pool(context, static_cast<int>(x->extents.size()) - 2);
  if (!window.ok() || small_product(*out) >
                          kMaxFoldedSteps / std::max<int64_t>(1, small_product(window->kernel()))) {
    return std::nullopt;
  }
  const Extents in_space(x->extents.begin() + 2, x->extents.end());
  const Extents out_space(out->begin() + 2, out->end());
  auto begins = window->begins(in_space, out_space);
  return Pool{x, std::move(*window), *out, in_space, out_space, std::move(begins)};
}

// Calls on_window(row, position, taps) for each output element; `row` counts images x channels.
template <typename OnWindow>
void for_each_window(const Pool& pool, OnWindow on_window) {
  const WindowTaps taps(pool.window, pool.in_space, pool.begins);
  for (int64_t row = 0; row < pool.out[0] * pool.out[1]; ++row) {
    IndexCounter position(pool.out_space);
    for (int64_t i = 0; i < pool.out_size(); ++i, position.next()) {
      on_window(row, position.index(), taps);
    }
  }
}

// Taps of a window within the padded input. An average may count these; it never counts taps after
// the padding, which the last window has when its extent was rounded up.
int64_t padded_taps(const Pool& pool, const Extents& position) {
  int64_t taps = 1;
  for (size_t i = 0; i < position.size(); ++i) {
    const int64_t first = position[i] * pool.window.strides()[i] - pool.begins[i];
    const int64_t end = pool.window.padded_end(i, pool.in_space[i]);
    int64_t inside = 0;
    for (int64_t k = 0; k < pool.window.kernel()[i]; ++k) {
      inside += first + k * pool.window.dilations()[i] < end ? 1 : 0;
    }
    taps *= inside;
  }
  return taps;
}

// Indices count in the whole tensor; with storage_order 1 the last two axes change places.
int64_t flat_index(const Pool& pool, int64_t row, int64_t source, bool column_major) {
  if (column_major && pool.in_space.size() == 2) {
    source = source % pool.in_space[1] * pool.in_space[0] + source / pool.in_space[1];
  }
  return row * pool.in_size() + source;
}

}  // namespace

void fold_max_pool(InferContext& context) {
  const auto pool = pool_of(context);
  if (!pool) {
    return;
  }
  const bool column_major = context.attributes().int_or("storage_order", 0) != 0;
  std::vector<int64_t> best;
  ConstValue indices = empty_value(DType::kInt64, pool->out);
  for_each_window(*pool, [&](int64_t row, const Extents& position, const WindowTaps& taps) {
    int64_t at = -1;
    int64_t source_of_best = 0;
    taps.at(position, [&](int64_t, int64_t source) {
      const int64_t here = row * pool->in_size() + source;
      if (at < 0 || pool->x->as_double(static_cast<size_t>(here)) >
                        pool->x->as_double(static_cast<size_t>(at))) {
        at = here;
        source_of_best = source;
      }
    });
    best.push_back(at);
    append_int(&indices, flat_index(*pool, row, source_of_best, column_major));
  });
  if (std::any_of(best.begin(), best.end(), [](int64_t at) { return at < 0; })) {
    return;  // a window of padding alone
  }
  ConstValue out = empty_value(pool->x->dtype, pool->out);
  for (const int64_t at : best) {
    append_element_of(*pool->x, at, &out);
  }
  context.set_value(0, std::move(out));
  if (context.has_output(1)) {
    context.set_value(1, std::move(indices));
  }
}

void fold_average_pool(InferContext& context) {
  const auto pool = pool_of(context);
  if (!pool || !is_floating(pool->x->dtype)) {
    return;
  }
  const bool count_padding = context.attributes().int_or("count_include_pad", 0) != 0;
  ConstValue out = empty_value(pool->x->dtype, pool->out);
  for_each_window(*pool, [&](int64_t row, const Extents& position, const WindowTaps& taps) {
    double sum = 0;
    int64_t count = 0;
    taps.at(position, [&](int64_t, int64_t source) {
      sum += pool->x->floats[static_cast<size_t>(row * pool->in_size() + source)];
      ++count;
    });
    count = count_padding ? padded_taps(*pool, position) : count;
    append_double(&out, sum / static_cast<double>(count));
  });
  context.set_value(0, std::move(out));
}

void fold_lp_pool(InferContext& context) {
  const auto pool = pool_of(context);
  if (!pool || !is_floating(pool->x->dtype)) {
    return;
  }
  const auto power = static_cast<double>(context.attributes().int_or("p", 2));
  ConstValue out = empty_value(pool->x->dtype, pool->out);
  for_each_window(*pool, [&](int64_t row, const Extents& position, const WindowTaps& taps) {
    double sum = 0;
    taps.at(position, [&](int64_t, int64_t source) {
      const auto at = static_cast<size_t>(row * pool->in_size() + source);
      sum += std::pow(std::abs(pool->x->floats[at]), power);
    });
    append_double(&out, std::pow(sum, 1 / power));
  });
  context.set_value(0, std::move(out));
}

// Indices count in the tensor that the attributes give, also when a larger output is asked for.
void fold_max_unpool(InferContext& context) {
  const ConstValue* x = context.value(0);
  const auto indices = context.ints(1);
  const auto out = small_extents(context, 0);
  if (x == nullptr || !indices || !out || indices->size() != x->size() || x->extents.size() < 3 ||
      out->size() != x->extents.size()) {
    return;
  }
  const auto window = Window::from_pool(context, static_cast<int>(x->extents.size()) - 2);
  Dims dims = {Dim(x->extents[0]), Dim(x->extents[1])};
  if (!window.ok() ||
      !window->append_transposed_output(context, Shape::of(x->extents), &dims).ok()) {
    return;
  }
  const Extents counted = Shape(dims).extents();
  const Extents strides = row_major_strides(*out);
  std::vector<int64_t> sources(static_cast<size_t>(small_product(*out)), -1);
  for (size_t i = 0; i < indices->size(); ++i) {
    int64_t rest = (*indices)[i];
    int64_t target = 0;
    bool inside = rest >= 0;
    for (size_t axis = counted.size(); axis-- > 0;) {
      const int64_t position = rest % counted[axis];
      inside = inside && position < (*out)[axis];
      target += position * strides[axis];
      rest /= counted[axis];
    }
    if (!inside || rest != 0) {
      return;
    }
    sources[static_cast<size_t>(target)] = static_cast<int64_t>(i);
  }
  fold_by_index(context, 0, *out, sources);
}

namespace {

// One axis of a bilinear sample: two neighbours and the weight of the second.
struct Neighbours {
  int64_t low = 0;
  int64_t high = 0;
  double high_weight = 0;
};

// std::nullopt: more than one element outside the image, which counts as 0.
std::optional<Neighbours> neighbours(double position, int64_t extent) {
  if (position < -1 || position > static_cast<double>(extent)) {
    return std::nullopt;
  }
  position = std::max(position, 0.0);
  const auto low = static_cast<int64_t>(position);
  if (low >= extent - 1) {
    return Neighbours{extent - 1, extent - 1, 0};
  }
  return Neighbours{low, low + 1, position - static_cast<double>(low)};
}

// One region [left, top, right, bottom] on one axis: where its bins begin and how they are sampled.
struct RegionAxis {
  double start;
  double bin;
  int64_t samples;

  double position(int64_t bin_index, int64_t sample) const {
    return start + static_cast<double>(bin_index) * bin +
           (static_cast<double>(sample) + 0.5) * bin / static_cast<double>(samples);
  }
};

RegionAxis region_axis(double begin, double end, int64_t bins, int64_t ratio, bool half_pixel) {
  const double extent = half_pixel ? end - begin : std::max(end - begin, 1.0);
  const double bin = extent / static_cast<double>(bins);
  return {begin, bin, ratio > 0 ? ratio : std::max<int64_t>(0, to_whole(std::ceil(bin)))};
}

}  // namespace

void fold_roi_align(InferContext& context) {
  const ConstValue* x = context.value(0);
  const ConstValue* regions = context.value(1);
  const auto images = context.ints(2);
  const auto out = small_extents(context, 0);
  const Attributes& attributes = context.attributes();
  const int64_t ratio = attributes.int_or("sampling_ratio", 0);
  if (x == nullptr || regions == nullptr || !images || !out || x->extents.size() != 4 ||
      !is_floating(x->dtype) || regions->extents.size() != 2 || regions->extents[1] != 4 ||
      static_cast<int64_t>(images->size()) != regions->extents[0] || ratio > 64 || ratio < 0) {
    return;
  }
  const std::string transform =
      attributes.string_or("coordinate_transformation_mode",
                           context.version() < 16 ? "output_half_pixel" : "half_pixel");
  const bool half_pixel = transform == "half_pixel";
  const bool average = attributes.string_or("mode", "avg") == "avg";
  const double scale = attributes.get_float("spatial_scale").value_or(1);
  const int64_t height = x->extents[2];
  const int64_t width = x->extents[3];
  ConstValue result = empty_value(x->dtype, *out);
  for (size_t r = 0; r < images->size(); ++r) {
    const auto edge = [&](size_t i) {
      return regions->as_double(4 * r + i) * scale - (half_pixel ? 0.5 : 0);
    };
    const RegionAxis rows = region_axis(edge(1), edge(3), (*out)[2], ratio, half_pixel);
    const RegionAxis columns = region_axis(edge(0), edge(2), (*out)[3], ratio, half_pixel);
    if ((*images)[r] < 0 || (*images)[r] >= x->extents[0] ||
        rows.samples * columns.samples > 4096) {
      return;
    }
    for (int64_t i = 0; i < (*out)[1] * (*out)[2] * (*out)[3]; ++i) {
      const int64_t first =
          ((*images)[r] * x->extents[1] + i / ((*out)[2] * (*out)[3])) * height * width;
      const auto pixel = [&](int64_t row, int64_t column) {
        return x->floats[static_cast<size_t>(first + row * width + column)];
      };
      double sum = 0;
      std::optional<double> most;
      for (int64_t s = 0; s < rows.samples * columns.samples; ++s) {
        const auto y =
            neighbours(rows.position(i / (*out)[3] % (*out)[2], s / columns.samples), height);
        const auto z = neighbours(columns.position(i % (*out)[3], s % columns.samples), width);
        double parts[4] = {};
        if (y && z) {
          parts[0] = (1 - y->high_weight) * (1 - z->high_weight) * pixel(y->low, z->low);
          parts[1] = (1 - y->high_weight) * z->high_weight * pixel(y->low, z->high);
          parts[2] = y->high_weight * (1 - z->high_weight) * pixel(y->high, z->low);
          parts[3] = y->high_weight * z->high_weight * pixel(y->high, z->high);
        }
        sum += parts[0] + parts[1] + parts[2] + parts[3];
        const double largest = *std::max_element(parts, parts + 4);
        most = most ? std::max(*most, largest) : largest;
      }
      const int64_t count = std::max<int64_t>(1, rows.samples * columns.samples);
      append_double(&result, average ? sum / static_cast<double>(count) : most.value_or(0));
    }
  }
  context.set_value(0, std::move(result));
}

}  // namespace dfsim::inline graphs
