// Operators that sort or pick by value. Several of them have outputs whose extents only the values
// tell, which these rules set, too.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "graphs/ops/values/fold.h"

namespace dfsim::inline graphs {
namespace {

// The elements at `positions`, in that order.
ConstValue picked_elements(const ConstValue& a, const std::vector<int64_t>& positions) {
  ConstValue out = empty_value(a.dtype, {static_cast<int64_t>(positions.size())});
  for (const int64_t position : positions) {
    append_element_of(a, position, &out);
  }
  return out;
}

ConstValue int_list(std::vector<int64_t> list) {
  ConstValue out = empty_value(DType::kInt64, {static_cast<int64_t>(list.size())});
  out.ints = std::move(list);
  return out;
}

}  // namespace

// Equal values keep their order, as in the reference.
void fold_top_k(InferContext& context) {
  const ConstValue* a = context.value(0);
  const auto extents = small_extents(context, 0);
  if (a == nullptr || !extents || extents->empty() || !has_arithmetic(a->dtype)) {
    return;
  }
  const auto axis =
      context.axis(context.attributes().int_or("axis", -1), static_cast<int>(a->extents.size()));
  if (!axis.ok()) {
    return;
  }
  const auto chosen = static_cast<size_t>(*axis);
  const bool largest = context.attributes().int_or("largest", 1) != 0;
  const int64_t length = a->extents[chosen];
  const int64_t count = (*extents)[chosen];
  const int64_t inner = row_major_strides(a->extents)[chosen];
  if (count > length) {
    return;
  }
  const auto total = static_cast<size_t>(small_product(*extents));
  std::vector<int64_t> sources(total);
  ConstValue indices = empty_value(DType::kInt64, *extents);
  indices.ints.resize(total);
  const int64_t rows = length > 0 ? static_cast<int64_t>(a->size()) / (length * inner) : 0;
  std::vector<int64_t> order(static_cast<size_t>(length));
  for (int64_t line = 0; line < rows * inner; ++line) {
    const int64_t base = line / inner * length * inner + line % inner;
    const auto at = [&](int64_t i) { return a->as_double(static_cast<size_t>(base + i * inner)); };
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int64_t x, int64_t y) { return largest ? at(x) > at(y) : at(x) < at(y); });
    for (int64_t k = 0; k < count; ++k) {
      const auto to = static_cast<size_t>(line / inner * count * inner + k * inner + line % inner);
      indices.ints[to] = order[static_cast<size_t>(k)];
      sources[to] = base + order[static_cast<size_t>(k)] * inner;
    }
  }
  ConstValue values = picked_elements(*a, sources);
  values.extents = *extents;
  context.set_value(0, std::move(values));
  context.set_value(1, std::move(indices));
}

void fold_non_zero(InferContext& context) {
  const ConstValue* a = context.value(0);
  if (a == nullptr || !has_arithmetic(a->dtype)) {
    return;
  }
  std::vector<Extents> found;
  IndexCounter counter(a->extents);
  for (size_t i = 0; i < a->size(); ++i, counter.next()) {
    if (a->as_double(i) != 0) {
      found.push_back(counter.index());
    }
  }
  // A scalar counts as a list of one, so that its only coordinate has no row.
  const size_t rank = a->extents.size();
  ConstValue out =
      empty_value(DType::kInt64, {static_cast<int64_t>(rank), static_cast<int64_t>(found.size())});
  for (size_t axis = 0; axis < rank; ++axis) {
    for (const Extents& index : found) {
      out.ints.push_back(index[axis]);
    }
  }
  context.set_exact_value(0, std::move(out));
}

void fold_compress(InferContext& context) {
  const ConstValue* a = context.value(0);
  const auto condition = context.ints(1);
  const auto given = context.attributes().get_int("axis");
  if (a == nullptr || !condition) {
    return;
  }
  const auto keeps = [&](int64_t i) {
    return i < static_cast<int64_t>(condition->size()) && (*condition)[static_cast<size_t>(i)] != 0;
  };
  std::vector<int64_t> sources;
  if (!given) {
    for (int64_t i = 0; i < static_cast<int64_t>(a->size()); ++i) {
      if (keeps(i)) {
        sources.push_back(i);
      }
    }
    context.set_exact_value(0, picked_elements(*a, sources));
    return;
  }
  const auto axis = context.axis(*given, static_cast<int>(a->extents.size()));
  if (!axis.ok()) {
    return;
  }
  const auto chosen = static_cast<size_t>(*axis);
  IndexCounter counter(a->extents);
  for (int64_t i = 0; i < static_cast<int64_t>(a->size()); ++i, counter.next()) {
    if (keeps(counter[chosen])) {
      sources.push_back(i);
    }
  }
  ConstValue out = picked_elements(*a, sources);
  out.extents = a->extents;
  out.extents[chosen] = 0;
  for (int64_t i = 0; i < a->extents[chosen]; ++i) {
    out.extents[chosen] += int64_t{keeps(i)};
  }
  context.set_exact_value(0, std::move(out));
}

namespace {

// Slices of a tensor along an axis (or its elements), compared element by element.
struct Slices {
  const ConstValue& a;
  std::vector<std::vector<int64_t>> positions;  // per slice

  bool less(int64_t x, int64_t y) const {
    const auto& px = positions[static_cast<size_t>(x)];
    const auto& py = positions[static_cast<size_t>(y)];
    for (size_t i = 0; i < px.size(); ++i) {
      const double vx = a.as_double(static_cast<size_t>(px[i]));
      const double vy = a.as_double(static_cast<size_t>(py[i]));
      if (vx != vy) {
        return vx < vy;
      }
    }
    return false;
  }
  bool same(int64_t x, int64_t y) const { return !less(x, y) && !less(y, x); }
};

Slices slices_of(const ConstValue& a, std::optional<size_t> axis) {
  Slices slices{a, {}};
  slices.positions.resize(axis ? static_cast<size_t>(a.extents[*axis]) : a.size());
  IndexCounter counter(a.extents);
  for (size_t i = 0; i < a.size(); ++i, counter.next()) {
    slices.positions[axis ? static_cast<size_t>(counter[*axis]) : i].push_back(
        static_cast<int64_t>(i));
  }
  return slices;
}

}  // namespace

void fold_unique(InferContext& context) {
  const ConstValue* a = context.value(0);
  const auto given = context.attributes().get_int("axis");
  if (a == nullptr || !has_arithmetic(a->dtype)) {
    return;
  }
  std::optional<size_t> axis;
  if (given) {
    const auto checked = context.axis(*given, static_cast<int>(a->extents.size()));
    if (!checked.ok()) {
      return;
    }
    axis = static_cast<size_t>(*checked);
  }
  const Slices slices = slices_of(*a, axis);
  std::vector<int64_t> order(slices.positions.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t x, int64_t y) { return slices.less(x, y); });
  std::vector<int64_t> first;  // per distinct slice, its first position
  std::vector<int64_t> group(order.size());
  std::vector<int64_t> counts;
  for (size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || !slices.same(order[i - 1], order[i])) {
      first.push_back(order[i]);
      counts.push_back(0);
    }
    group[static_cast<size_t>(order[i])] = static_cast<int64_t>(first.size()) - 1;
    ++counts.back();
  }
  if (context.attributes().int_or("sorted", 1) == 0) {  // in order of first appearance
    std::vector<int64_t> rank(first.size());
    std::iota(rank.begin(), rank.end(), 0);
    std::sort(rank.begin(), rank.end(), [&](int64_t x, int64_t y) {
      return first[static_cast<size_t>(x)] < first[static_cast<size_t>(y)];
    });
    std::vector<int64_t> place(rank.size());
    std::vector<int64_t> sorted_first;
    std::vector<int64_t> sorted_counts;
    for (size_t i = 0; i < rank.size(); ++i) {
      place[static_cast<size_t>(rank[i])] = static_cast<int64_t>(i);
      sorted_first.push_back(first[static_cast<size_t>(rank[i])]);
      sorted_counts.push_back(counts[static_cast<size_t>(rank[i])]);
    }
    for (int64_t& index : group) {
      index = place[static_cast<size_t>(index)];
    }
    first = std::move(sorted_first);
    counts = std::move(sorted_counts);
  }
  std::vector<int64_t> sources;
  Extents extents = {static_cast<int64_t>(first.size())};
  if (axis) {
    extents = a->extents;
    extents[*axis] = static_cast<int64_t>(first.size());
    const Extents strides = row_major_strides(a->extents);
    IndexCounter counter(extents);
    for (int64_t i = 0; i < small_product(extents); ++i, counter.next()) {
      int64_t position = 0;
      for (size_t k = 0; k < extents.size(); ++k) {
        const int64_t at = k == *axis ? first[static_cast<size_t>(counter[k])] : counter[k];
        position += at * strides[k];
      }
      sources.push_back(position);
    }
  } else {
    sources = first;
  }
  ConstValue values = picked_elements(*a, sources);
  values.extents = extents;
  context.set_exact_value(0, std::move(values));
  context.set_exact_value(1, int_list(std::move(first)));
  context.set_exact_value(2, int_list(std::move(group)));
  context.set_exact_value(3, int_list(std::move(counts)));
}

namespace {

struct Box {
  double y1, x1, y2, x2;
};

Box box_at(const ConstValue& boxes, size_t i, bool centered) {
  const auto at = [&](size_t k) { return boxes.as_double(i * 4 + k); };
  if (centered) {  // x, y, width, height
    return {at(1) - at(3) / 2, at(0) - at(2) / 2, at(1) + at(3) / 2, at(0) + at(2) / 2};
  }
  return {std::min(at(0), at(2)), std::min(at(1), at(3)), std::max(at(0), at(2)),
          std::max(at(1), at(3))};
}

// Intersection over union.
double overlap(const Box& a, const Box& b) {
  const double height = std::min(a.y2, b.y2) - std::max(a.y1, b.y1);
  const double width = std::min(a.x2, b.x2) - std::max(a.x1, b.x1);
  if (height <= 0 || width <= 0) {
    return 0;
  }
  const double both = height * width;
  const double all = (a.y2 - a.y1) * (a.x2 - a.x1) + (b.y2 - b.y1) * (b.x2 - b.x1) - both;
  return all > 0 ? both / all : 0;
}

}  // namespace

void fold_non_max_suppression(InferContext& context) {
  const ConstValue* boxes = context.value(0);
  const ConstValue* scores = context.value(1);
  if (boxes == nullptr || scores == nullptr || boxes->extents.size() != 3 ||
      scores->extents.size() != 3 || boxes->extents[2] != 4 ||
      boxes->extents[1] != scores->extents[2]) {
    return;
  }
  const auto number = [&](size_t input, double fallback) {
    const ConstValue* value = context.value(input);
    return value != nullptr && value->size() == 1 ? value->as_double(0) : fallback;
  };
  const int64_t limit = to_whole(number(2, 0));
  const double max_overlap = number(3, 0);
  const double least_score = number(4, -HUGE_VAL);
  const bool centered = context.attributes().int_or("center_point_box", 0) != 0;
  const int64_t count = boxes->extents[1];
  ConstValue out = empty_value(DType::kInt64, {0, 3});
  for (int64_t batch = 0; batch < scores->extents[0]; ++batch) {
    for (int64_t kind = 0; kind < scores->extents[1]; ++kind) {
      const auto score = [&](int64_t i) {
        return scores->as_double(
            static_cast<size_t>((batch * scores->extents[1] + kind) * count + i));
      };
      std::vector<int64_t> order;
      for (int64_t i = 0; i < count; ++i) {
        if (score(i) > least_score) {
          order.push_back(i);
        }
      }
      std::stable_sort(order.begin(), order.end(),
                       [&](int64_t x, int64_t y) { return score(x) > score(y); });
      std::vector<Box> kept;
      for (const int64_t i : order) {
        const Box box = box_at(*boxes, static_cast<size_t>(batch * count + i), centered);
        const bool hidden = std::any_of(kept.begin(), kept.end(), [&](const Box& other) {
          return overlap(box, other) > max_overlap;
        });
        if (!hidden && static_cast<int64_t>(kept.size()) < limit) {
          kept.push_back(box);
          out.ints.insert(out.ints.end(), {batch, kind, i});
          ++out.extents[0];
        }
      }
    }
  }
  context.set_exact_value(0, std::move(out));
}

}  // namespace dfsim::inline graphs
