// Operators that move elements along axes: each output element has one source.
#include <algorithm>
#include <numeric>

#include "graphs/ops/values/fold.h"

namespace dfsim::inline graphs {
namespace {

// Row-major position of an index, or -1 when it is outside.
int64_t position_of(const Extents& index, const Extents& extents) {
  int64_t position = 0;
  for (size_t i = 0; i < extents.size(); ++i) {
    if (index[i] < 0 || index[i] >= extents[i]) {
      return -1;
    }
    position = position * extents[i] + index[i];
  }
  return position;
}

// Fills output 0 from the source index that `source_of` gives for each output index; an index
// outside the source, and std::nullopt, take `fill`.
template <typename SourceOf>
void move_elements(InferContext& context, const ConstValue& fill, SourceOf source_of) {
  const ConstValue* a = context.value(0);
  const auto extents = small_extents(context, 0);
  if (a == nullptr || !extents || !has_arithmetic(a->dtype)) {
    return;
  }
  ConstValue out = empty_value(a->dtype, *extents);
  IndexCounter counter(*extents);
  const int64_t total = small_product(*extents);
  for (int64_t i = 0; i < total; ++i, counter.next()) {
    const std::optional<Extents> source = source_of(counter.index());
    const int64_t position = source ? position_of(*source, a->extents) : -1;
    append_element_of(position < 0 ? fill : *a, position < 0 ? 0 : position, &out);
  }
  context.set_value(0, std::move(out));
}

ConstValue zero_of(DType dtype) {
  ConstValue zero = empty_value(dtype, {});
  append_int(&zero, 0);
  return zero;
}

// Before and after each axis.
struct Pads {
  Extents before;
  Extents after;
};

std::optional<Pads> read_pads(const InferContext& context, size_t rank) {
  bool absent = false;
  const auto list = context.ints_from(context.version() < 2 ? "paddings" : "pads", 1, &absent);
  Extents axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  if (context.has_input(3)) {
    const auto given = context.ints(3);
    if (!given) {
      return std::nullopt;
    }
    axes = *given;
  }
  if (!list || list->size() != axes.size() * 2) {
    return std::nullopt;
  }
  Pads pads{Extents(rank, 0), Extents(rank, 0)};
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis =
        static_cast<size_t>(axes[i] < 0 ? axes[i] + static_cast<int64_t>(rank) : axes[i]);
    pads.before[axis] = (*list)[i];
    pads.after[axis] = (*list)[i + axes.size()];
  }
  return pads;
}

// The source along one axis of `extent` for a position before or behind it.
int64_t reflected(int64_t i, int64_t extent) {
  if (extent == 1) {
    return 0;
  }
  const int64_t period = 2 * (extent - 1);
  const int64_t rest = ((i % period) + period) % period;
  return rest < extent ? rest : period - rest;
}

int64_t padded_source(const std::string& mode, int64_t i, int64_t extent) {
  if (mode == "edge") {
    return std::clamp<int64_t>(i, 0, extent - 1);
  }
  if (mode == "reflect") {
    return reflected(i, extent);
  }
  return mode == "wrap" ? ((i % extent) + extent) % extent : i;
}

}  // namespace

void fold_pad(InferContext& context) {
  const ConstValue* a = context.value(0);
  const auto pads = a != nullptr ? read_pads(context, a->extents.size()) : std::nullopt;
  if (!pads) {
    return;
  }
  const std::string mode = context.attributes().string_or("mode", "constant");
  const bool empty = a->size() == 0;
  if (empty && mode != "constant") {
    return;
  }
  ConstValue fill = zero_of(a->dtype);
  const ConstValue* given = context.value(2);
  if (given != nullptr && given->size() == 1 && given->dtype == a->dtype) {
    fill = *given;
  } else if (const auto value = context.attributes().get_float("value");
             value && is_floating(a->dtype)) {
    fill.floats[0] = round_to(a->dtype, *value);
  }
  move_elements(context, fill, [&](const Extents& index) {
    Extents source = index;
    for (size_t axis = 0; axis < source.size(); ++axis) {
      // Negative pads cut first; what is padded is the rest.
      const int64_t cut = std::min<int64_t>(pads->before[axis], 0);
      const int64_t cut_after = std::min<int64_t>(pads->after[axis], 0);
      const int64_t rest = a->extents[axis] + cut + cut_after;
      const int64_t inside = index[axis] - std::max<int64_t>(pads->before[axis], 0);
      const int64_t at = rest > 0 ? padded_source(mode, inside, rest) : -1;
      if (at < 0 || at >= rest) {
        return std::optional<Extents>();
      }
      source[axis] = at - cut;
    }
    return std::optional(std::move(source));
  });
}

void fold_tile(InferContext& context) {
  const ConstValue* a = context.value(0);
  if (a != nullptr && a->size() > 0) {
    move_elements(context, zero_of(a->dtype), [&](const Extents& index) {
      Extents source = index;
      for (size_t axis = 0; axis < source.size(); ++axis) {
        source[axis] %= a->extents[axis];
      }
      return std::optional(std::move(source));
    });
  }
}

void fold_expand(InferContext& context) {
  const ConstValue* a = context.value(0);
  const auto extents = small_extents(context, 0);
  if (a != nullptr && extents) {
    fold_by_index(context, 0, *extents, broadcast_positions(a->extents, *extents));
  }
}

void fold_split(InferContext& context) {
  const ConstValue* a = context.value(0);
  if (a == nullptr || a->extents.empty()) {
    return;
  }
  const auto axis =
      context.axis(context.attributes().int_or("axis", 0), static_cast<int>(a->extents.size()));
  if (!axis.ok()) {
    return;
  }
  const Extents strides = row_major_strides(a->extents);
  int64_t start = 0;
  for (size_t i = 0; i < context.output_count(); ++i) {
    const auto extents = small_extents(context, i);
    if (!extents) {
      return;  // an output that no node reads may hide its size
    }
    fold_by_index(
        context, i, *extents,
        strided_positions(*extents, strides, start * strides[static_cast<size_t>(*axis)]));
    start += (*extents)[static_cast<size_t>(*axis)];
  }
}

void fold_depth_space(InferContext& context) {
  const ConstValue* a = context.value(0);
  const int64_t block = context.attributes().int_or("blocksize", 0);
  if (a == nullptr || a->extents.size() != 4 || block <= 0) {
    return;
  }
  const bool to_depth = context.op().op_type == "SpaceToDepth";
  const bool columns_first = context.attributes().string_or("mode", "DCR") == "CRD";
  const int64_t depth = to_depth ? a->extents[1] : a->extents[1] / (block * block);
  move_elements(context, zero_of(a->dtype), [&](const Extents& at) {
    if (to_depth) {
      const int64_t offset = columns_first ? at[1] % (block * block) : at[1] / depth;
      const int64_t channel = columns_first ? at[1] / (block * block) : at[1] % depth;
      return std::optional(
          Extents{at[0], channel, at[2] * block + offset / block, at[3] * block + offset % block});
    }
    const int64_t offset = at[2] % block * block + at[3] % block;
    const int64_t channel = columns_first ? at[1] * block * block + offset : offset * depth + at[1];
    return std::optional(Extents{at[0], channel, at[2] / block, at[3] / block});
  });
}

void fold_trilu(InferContext& context) {
  const ConstValue* a = context.value(0);
  const auto diagonal = context.has_input(1) ? context.ints(1) : std::optional(Extents{0});
  if (a == nullptr || a->extents.size() < 2 || !diagonal || diagonal->size() != 1) {
    return;
  }
  const bool upper = context.attributes().int_or("upper", 1) != 0;
  const int64_t k = (*diagonal)[0];
  move_elements(context, zero_of(a->dtype), [&](const Extents& index) {
    const int64_t offset = index[index.size() - 1] - index[index.size() - 2];
    return (upper ? offset >= k : offset <= k) ? std::optional(index) : std::nullopt;
  });
}

void fold_reverse_sequence(InferContext& context) {
  const ConstValue* a = context.value(0);
  const auto lengths = context.ints(1);
  const int64_t time = context.attributes().int_or("time_axis", 0);
  const int64_t batch = context.attributes().int_or("batch_axis", 1);
  if (a == nullptr || !lengths || time < 0 || batch < 0 || time > 1 || batch > 1 || time == batch ||
      a->extents.size() < 2 ||
      static_cast<int64_t>(lengths->size()) != a->extents[static_cast<size_t>(batch)]) {
    return;
  }
  move_elements(context, zero_of(a->dtype), [&](const Extents& index) {
    Extents source = index;
    const int64_t length = (*lengths)[static_cast<size_t>(index[static_cast<size_t>(batch)])];
    int64_t& t = source[static_cast<size_t>(time)];
    t = t < length ? length - 1 - t : t;
    return std::optional(std::move(source));
  });
}

void fold_eye_like(InferContext& context) {
  const auto extents = small_extents(context, 0);
  const DType dtype = context.output_dtype(0);
  if (!extents || extents->size() != 2 || !has_arithmetic(dtype)) {
    return;
  }
  const int64_t k = context.attributes().int_or("k", 0);
  ConstValue out = empty_value(dtype, *extents);
  for (int64_t row = 0; row < (*extents)[0]; ++row) {
    for (int64_t column = 0; column < (*extents)[1]; ++column) {
      append_int(&out, int64_t{column - row == k});
    }
  }
  context.set_value(0, std::move(out));
}

void fold_center_crop_pad(InferContext& context) {
  const ConstValue* a = context.value(0);
  const auto extents = small_extents(context, 0);
  if (a == nullptr || !extents) {
    return;
  }
  move_elements(context, zero_of(a->dtype), [&](const Extents& index) {
    Extents source = index;
    for (size_t axis = 0; axis < source.size(); ++axis) {
      const int64_t more = a->extents[axis] - (*extents)[axis];  // cropped, or padded when < 0
      source[axis] += more >= 0 ? more / 2 : -(-more / 2);
    }
    return std::optional(std::move(source));
  });
}

}  // namespace dfsim::inline graphs
