// Gather and scatter by index tensors, and one-hot rows.
#include <algorithm>
#include <functional>

#include "graphs/ops/values/fold.h"

namespace dfsim::inline graphs {
namespace {

// An index in [-extent, extent) as one in [0, extent), or -1.
int64_t wrapped_index(int64_t index, int64_t extent) {
  const int64_t positive = index < 0 ? index + extent : index;
  return positive >= 0 && positive < extent ? positive : -1;
}

// Puts element `from` of `updates` at `to`, combined as `reduction` says.
void update_element(const std::string& reduction, const ConstValue& updates, size_t from,
                    ConstValue* out, size_t to) {
  const auto combine = [&](auto old, auto update) {
    using T = decltype(old);
    return reduction == "add"   ? static_cast<T>(old + update)
           : reduction == "mul" ? static_cast<T>(old * update)
           : reduction == "min" ? std::min(old, update)
           : reduction == "max" ? std::max(old, update)
                                : update;
  };
  if (is_floating(out->dtype)) {
    out->floats[to] = round_to(out->dtype, combine(out->floats[to], updates.floats[from]));
    return;
  }
  // Unsigned arithmetic wraps without undefined behaviour; order is that of signed numbers.
  const auto as_signed = [&](int64_t old, int64_t update) {
    if (reduction == "add" || reduction == "mul") {
      return static_cast<int64_t>(
          combine(static_cast<uint64_t>(old), static_cast<uint64_t>(update)));
    }
    return combine(old, update);
  };
  out->ints[to] = wrap_to(out->dtype, as_signed(out->ints[to], updates.ints[from]));
}

// The three operands of a scatter of one type, small enough to compute with.
struct ScatterOperands {
  const ConstValue* data;
  const ConstValue* indices;
  const ConstValue* updates;
  bool complete() const {
    return data != nullptr && indices != nullptr && updates != nullptr &&
           data->dtype == updates->dtype && has_arithmetic(data->dtype);
  }
};

}  // namespace

void fold_gather_elements(InferContext& context) {
  const ConstValue* a = context.value(0);
  const ConstValue* indices = context.value(1);
  if (a == nullptr || indices == nullptr || a->extents.size() != indices->extents.size()) {
    return;
  }
  const auto axis =
      context.axis(context.attributes().int_or("axis", 0), static_cast<int>(a->extents.size()));
  if (!axis.ok()) {
    return;
  }
  const auto chosen = static_cast<size_t>(*axis);
  const Extents strides = row_major_strides(a->extents);
  std::vector<int64_t> sources;
  IndexCounter counter(indices->extents);
  for (size_t i = 0; i < indices->size(); ++i, counter.next()) {
    const int64_t picked = wrapped_index(indices->as_int(i), a->extents[chosen]);
    if (picked < 0) {
      return;
    }
    int64_t position = 0;
    for (size_t k = 0; k < strides.size(); ++k) {
      position += strides[k] * (k == chosen ? picked : counter[k]);
    }
    sources.push_back(position);
  }
  fold_by_index(context, 0, indices->extents, sources);
}

void fold_gather_nd(InferContext& context) {
  const ConstValue* a = context.value(0);
  const ConstValue* indices = context.value(1);
  const auto extents = small_extents(context, 0);
  if (a == nullptr || indices == nullptr || !extents || indices->extents.empty()) {
    return;
  }
  const auto batch_dims = static_cast<size_t>(context.attributes().int_or("batch_dims", 0));
  const auto depth = static_cast<size_t>(indices->extents.back());
  const Extents strides = row_major_strides(a->extents);
  int64_t block = 1;
  for (size_t i = batch_dims + depth; i < a->extents.size(); ++i) {
    block *= a->extents[i];
  }
  Extents tuples(indices->extents.begin(), indices->extents.end() - 1);
  std::vector<int64_t> sources;
  IndexCounter counter(tuples);
  const int64_t count = small_product(tuples);
  for (int64_t tuple = 0; tuple < count; ++tuple, counter.next()) {
    int64_t position = 0;
    for (size_t i = 0; i < batch_dims; ++i) {
      position += counter[i] * strides[i];
    }
    for (size_t i = 0; i < depth; ++i) {
      const int64_t index = wrapped_index(indices->as_int(static_cast<size_t>(tuple) * depth + i),
                                          a->extents[batch_dims + i]);
      if (index < 0) {
        return;
      }
      position += index * strides[batch_dims + i];
    }
    for (int64_t k = 0; k < block; ++k) {
      sources.push_back(position + k);
    }
  }
  fold_by_index(context, 0, *extents, sources);
}

void fold_scatter_elements(InferContext& context) {
  const ScatterOperands in{context.value(0), context.value(1), context.value(2)};
  if (!in.complete() || in.indices->extents != in.updates->extents ||
      in.indices->extents.size() != in.data->extents.size()) {
    return;
  }
  const auto axis = context.axis(context.attributes().int_or("axis", 0),
                                 static_cast<int>(in.data->extents.size()));
  if (!axis.ok()) {
    return;
  }
  const std::string reduction = context.attributes().string_or("reduction", "none");
  const auto chosen = static_cast<size_t>(*axis);
  const Extents strides = row_major_strides(in.data->extents);
  ConstValue out = *in.data;
  IndexCounter counter(in.indices->extents);
  for (size_t i = 0; i < in.indices->size(); ++i, counter.next()) {
    const int64_t picked = wrapped_index(in.indices->as_int(i), in.data->extents[chosen]);
    int64_t position = 0;
    for (size_t k = 0; k < strides.size(); ++k) {
      const int64_t at = k == chosen ? picked : counter[k];
      if (at < 0 || at >= in.data->extents[k]) {
        return;
      }
      position += strides[k] * at;
    }
    update_element(reduction, *in.updates, i, &out, static_cast<size_t>(position));
  }
  context.set_value(0, std::move(out));
}

void fold_scatter_nd(InferContext& context) {
  const ScatterOperands in{context.value(0), context.value(1), context.value(2)};
  if (!in.complete() || in.indices->extents.empty() || in.indices->size() == 0) {
    if (in.complete() && in.indices->size() == 0) {
      context.set_value(0, *in.data);
    }
    return;
  }
  const auto depth = static_cast<size_t>(in.indices->extents.back());
  if (depth > in.data->extents.size() || depth == 0) {
    return;
  }
  const std::string reduction = context.attributes().string_or("reduction", "none");
  const Extents strides = row_major_strides(in.data->extents);
  const size_t tuples = in.indices->size() / depth;
  const size_t block = in.updates->size() / tuples;
  ConstValue out = *in.data;
  for (size_t tuple = 0; tuple < tuples; ++tuple) {
    int64_t position = 0;
    for (size_t i = 0; i < depth; ++i) {
      const int64_t index =
          wrapped_index(in.indices->as_int(tuple * depth + i), in.data->extents[i]);
      if (index < 0) {
        return;
      }
      position += index * strides[i];
    }
    const auto to = static_cast<size_t>(position);
    if (to + block > out.size()) {
      return;
    }
    for (size_t k = 0; k < block; ++k) {
      update_element(reduction, *in.updates, tuple * block + k, &out, to + k);
    }
  }
  context.set_value(0, std::move(out));
}

// The update replaces the positions from write_indices[batch] on along the axis.
void fold_tensor_scatter(InferContext& context) {
  const ConstValue* past = context.value(0);
  const ConstValue* update = context.value(1);
  if (past == nullptr || update == nullptr || past->dtype != update->dtype ||
      past->extents.size() != update->extents.size() || past->extents.empty()) {
    return;
  }
  const auto axis =
      context.axis(context.attributes().int_or("axis", -2), static_cast<int>(past->extents.size()));
  const auto starts = context.has_input(2)
                          ? context.ints(2)
                          : std::optional(Extents(static_cast<size_t>(past->extents[0]), 0));
  if (!axis.ok() || *axis == 0 || !starts ||
      static_cast<int64_t>(starts->size()) != past->extents[0]) {
    return;
  }
  const auto chosen = static_cast<size_t>(*axis);
  const bool circular = context.attributes().string_or("mode", "linear") == "circular";
  const Extents strides = row_major_strides(past->extents);
  ConstValue out = *past;
  IndexCounter counter(update->extents);
  for (size_t i = 0; i < update->size(); ++i, counter.next()) {
    int64_t position = 0;
    for (size_t k = 0; k < strides.size(); ++k) {
      int64_t at = counter[k];
      if (k == chosen) {
        at += (*starts)[static_cast<size_t>(counter[0])];
        at = circular && past->extents[k] > 0 ? at % past->extents[k] : at;
      }
      if (at < 0 || at >= past->extents[k]) {
        return;
      }
      position += strides[k] * at;
    }
    update_element("none", *update, i, &out, static_cast<size_t>(position));
  }
  context.set_value(0, std::move(out));
}

void fold_one_hot(InferContext& context) {
  const ConstValue* indices = context.value(0);
  const ConstValue* values = context.value(2);
  const auto extents = small_extents(context, 0);
  if (indices == nullptr || values == nullptr || !extents || values->size() != 2) {
    return;
  }
  const auto axis =
      context.axis(context.attributes().int_or("axis", -1), static_cast<int>(extents->size()));
  if (!axis.ok()) {
    return;
  }
  const auto chosen = static_cast<size_t>(*axis);
  const int64_t depth = (*extents)[chosen];
  ConstValue out = empty_value(values->dtype, *extents);
  IndexCounter counter(*extents);
  const int64_t total = small_product(*extents);
  for (int64_t i = 0; i < total; ++i, counter.next()) {
    size_t position = 0;
    size_t from = 0;
    for (size_t k = 0; k < extents->size(); ++k) {
      if (k != chosen) {
        position = position * static_cast<size_t>(indices->extents[from++]) +
                   static_cast<size_t>(counter[k]);
      }
    }
    const int64_t index = wrapped_index(indices->as_int(position), depth);
    append_element_of(*values, index == counter[chosen] ? 1 : 0, &out);
  }
  context.set_value(0, std::move(out));
}

}  // namespace dfsim::inline graphs
