// Reference executor: operators that move elements, gathers and scatters.
#include <algorithm>

#include "tests/partition/reference/reference_executor.h"

namespace dfsim {
namespace {

using Values = std::vector<RefTensor>;

bool present_layout(const Values& inputs, size_t i) {
  return i < inputs.size() && !inputs[i].values.empty();
}

int64_t wrapped(int64_t index, int64_t extent) { return index < 0 ? index + extent : index; }

size_t axis_of(const Op& op, size_t rank, int64_t fallback, const char* name = "axis") {
  return static_cast<size_t>(
      wrapped(op.attributes.int_or(name, fallback), static_cast<int64_t>(rank)));
}

std::vector<int64_t> whole_numbers(const RefTensor& x) {
  return {x.values.begin(), x.values.end()};
}

// out[index] = x[source(index)]
template <typename Source>
void move(const RefTensor& x, RefTensor& out, const Source& source) {
  for_each_index(out.extents, [&](const Index& index) { out[index] = x[source(index)]; });
}

void transpose(const Op& op, const RefTensor& x, RefTensor& out) {
  const auto* perm = op.attributes.get_ints("perm");
  const size_t rank = x.extents.size();
  move(x, out, [&](const Index& index) {
    Index from(rank);
    for (size_t d = 0; d < rank; ++d) {
      from[perm != nullptr ? static_cast<size_t>((*perm)[d]) : rank - 1 - d] = index[d];
    }
    return from;
  });
}

void split(const Op& op, const RefTensor& x, Values& outputs) {
  const size_t axis = axis_of(op, x.extents.size(), 0);
  int64_t offset = 0;
  for (RefTensor& out : outputs) {
    move(x, out, [&](Index index) {
      index[axis] += offset;
      return index;
    });
    offset += out.extents[axis];
  }
}

// Inputs 1 to 4: starts, ends, axes, steps.
void slice(const Values& inputs, RefTensor& out) {
  const RefTensor& x = inputs[0];
  const std::vector<int64_t> starts = whole_numbers(inputs[1]);
  std::vector<int64_t> begin(x.extents.size(), 0);
  std::vector<int64_t> steps(x.extents.size(), 1);
  for (size_t i = 0; i < starts.size(); ++i) {
    const size_t axis = present_layout(inputs, 3)
                            ? static_cast<size_t>(wrapped(whole_numbers(inputs[3])[i], x.rank()))
                            : i;
    steps[axis] = present_layout(inputs, 4) ? whole_numbers(inputs[4])[i] : 1;
    const int64_t extent = x.extents[axis];
    const int64_t from = starts[i] < 0 ? std::max<int64_t>(0, starts[i] + extent) : starts[i];
    begin[axis] = std::min(from, steps[axis] < 0 ? extent - 1 : extent);
  }
  move(x, out, [&](Index index) {
    for (size_t d = 0; d < index.size(); ++d) {
      index[d] = begin[d] + index[d] * steps[d];
    }
    return index;
  });
}

void pad(const Values& inputs, RefTensor& out) {
  const RefTensor& x = inputs[0];
  const std::vector<int64_t> pads = whole_numbers(inputs[1]);
  for_each_index(out.extents, [&](const Index& index) {
    Index from = index;
    bool inside = true;
    for (size_t d = 0; d < from.size(); ++d) {
      from[d] -= pads[d];
      inside = inside && from[d] >= 0 && from[d] < x.extents[d];
    }
    out[index] = inside ? x[from] : 0;
  });
}

// Nearest neighbour, or repetition (Tile): by extents.
void rescale(const RefTensor& x, RefTensor& out, bool repeat) {
  move(x, out, [&](Index index) {
    for (size_t d = 0; d < index.size(); ++d) {
      index[d] = repeat ? index[d] % x.extents[d] : index[d] * x.extents[d] / out.extents[d];
    }
    return index;
  });
}

void depth_space(const Op& op, const RefTensor& x, RefTensor& out) {
  const int64_t b = op.attributes.int_or("blocksize", 1);
  const bool to_depth = op.op_type == "SpaceToDepth";
  const bool crd = op.attributes.string_or("mode", "DCR") == "CRD";
  const int64_t channels = to_depth ? x.extents[1] : out.extents[1];
  const RefTensor& space = to_depth ? x : out;
  for_each_index(space.extents, [&](const Index& s) {
    const int64_t inner = s[2] % b * b + s[3] % b;
    const int64_t depth = crd ? s[1] * b * b + inner : inner * channels + s[1];
    const Index d = {s[0], depth, s[2] / b, s[3] / b};
    if (to_depth) {
      out[d] = x[s];
    } else {
      out[s] = x[d];
    }
  });
}

void reverse_sequence(const Op& op, const Values& inputs, RefTensor& out) {
  const size_t rank = out.extents.size();
  const size_t batch = axis_of(op, rank, 1, "batch_axis");
  const size_t time = axis_of(op, rank, 0, "time_axis");
  move(inputs[0], out, [&](Index index) {
    const auto length = static_cast<int64_t>(inputs[1][{index[batch]}]);
    index[time] = index[time] < length ? length - 1 - index[time] : index[time];
    return index;
  });
}

void trilu(const Op& op, const RefTensor& x, RefTensor& out) {
  const bool upper = op.attributes.int_or("upper", 1) != 0;
  for_each_index(out.extents, [&](const Index& index) {
    const int64_t offset = index[index.size() - 1] - index[index.size() - 2];
    out[index] = (upper ? offset >= 0 : offset <= 0) ? x[index] : 0;
  });
}

void gather(const Op& op, const Values& inputs, RefTensor& out) {
  const RefTensor& x = inputs[0];
  const RefTensor& indices = inputs[1];
  const size_t axis = axis_of(op, x.extents.size(), 0);
  const size_t picked = indices.extents.size();
  move(x, out, [&](const Index& index) {
    const auto at = index.begin() + static_cast<std::ptrdiff_t>(axis);
    const Index pick(at, at + static_cast<std::ptrdiff_t>(picked));
    Index from(index.begin(), at);
    from.push_back(wrapped(static_cast<int64_t>(indices[pick]), x.extents[axis]));
    from.insert(from.end(), at + static_cast<std::ptrdiff_t>(picked), index.end());
    return from;
  });
}

void gather_nd(const Op& op, const Values& inputs, RefTensor& out) {
  const RefTensor& x = inputs[0];
  const RefTensor& indices = inputs[1];
  const auto batch = static_cast<std::ptrdiff_t>(op.attributes.int_or("batch_dims", 0));
  const auto lead = static_cast<std::ptrdiff_t>(indices.extents.size()) - 1;
  move(x, out, [&](const Index& index) {
    Index pick(index.begin(), index.begin() + lead);
    Index from(index.begin(), index.begin() + batch);
    pick.push_back(0);
    for (int64_t k = 0; k < indices.extents.back(); ++k) {
      pick.back() = k;
      from.push_back(static_cast<int64_t>(indices[pick]));
    }
    from.insert(from.end(), index.begin() + lead, index.end());
    return from;
  });
}

// Added, so that the order of repeated indices does not matter.
void scatter(const Op& op, const Values& inputs, RefTensor& out) {
  out = inputs[0];
  const RefTensor& indices = inputs[1];
  const RefTensor& updates = inputs[2];
  if (op.op_type != "ScatterND") {
    const size_t axis = axis_of(op, out.extents.size(), 0);
    for_each_index(indices.extents, [&](const Index& index) {
      Index to = index;
      to[axis] = static_cast<int64_t>(indices[index]);
      out[to] += updates[index];
    });
    return;
  }
  const auto lead = static_cast<std::ptrdiff_t>(indices.extents.size()) - 1;
  for_each_index(updates.extents, [&](const Index& index) {
    Index pick(index.begin(), index.begin() + lead);
    pick.push_back(0);
    Index to;
    for (int64_t k = 0; k < indices.extents.back(); ++k) {
      pick.back() = k;
      to.push_back(static_cast<int64_t>(indices[pick]));
    }
    to.insert(to.end(), index.begin() + lead, index.end());
    out[to] += updates[index];
  });
}

// values = [off, on]
void one_hot(const Op& op, const Values& inputs, RefTensor& out) {
  const size_t axis = axis_of(op, out.extents.size(), -1);
  for_each_index(out.extents, [&](const Index& index) {
    Index own = index;
    own.erase(own.begin() + static_cast<std::ptrdiff_t>(axis));
    const bool hot = static_cast<int64_t>(inputs[0][own]) == index[axis];
    out[index] = inputs[2].values[hot ? 1 : 0];
  });
}

bool run_index_op(const Op& op, const Values& inputs, Values& outputs) {
  const std::string& type = op.op_type;
  if (type == "Gather") {
    gather(op, inputs, outputs[0]);
  } else if (type == "GatherElements") {
    const size_t axis = axis_of(op, outputs[0].extents.size(), 0);
    move(inputs[0], outputs[0], [&](Index index) {
      index[axis] = static_cast<int64_t>(inputs[1][index]);
      return index;
    });
  } else if (type == "GatherND") {
    gather_nd(op, inputs, outputs[0]);
  } else if (type.starts_with("Scatter")) {
    scatter(op, inputs, outputs[0]);
  } else if (type == "OneHot") {
    one_hot(op, inputs, outputs[0]);
  } else {
    return false;
  }
  return true;
}

}  // namespace

bool run_layout_op(const Op& op, const std::vector<RefTensor>& inputs,
                   std::vector<RefTensor>& outputs) {
  const std::string& type = op.op_type;
  if (type == "Identity" || type == "Reshape" || type == "Flatten" || type == "Squeeze" ||
      type == "Unsqueeze") {
    outputs[0].values = inputs[0].values;
    // What the op was told must be what its shard is.
    if (type == "Reshape") {
      for (size_t d = 0; d < outputs[0].extents.size(); ++d) {
        const auto wanted = static_cast<int64_t>(inputs[1].values[d]);
        outputs[0].extents[d] = wanted > 0 ? wanted : outputs[0].extents[d];
      }
    }
  } else if (type == "Transpose") {
    transpose(op, inputs[0], outputs[0]);
  } else if (type == "Concat") {
    outputs[0] = join_parts(inputs, static_cast<int>(axis_of(op, outputs[0].extents.size(), 0)));
  } else if (type == "Split") {
    split(op, inputs[0], outputs);
  } else if (type == "Slice") {
    slice(inputs, outputs[0]);
  } else if (type == "Pad") {
    pad(inputs, outputs[0]);
  } else if (type == "Expand") {
    for_each_index(outputs[0].extents,
                   [&](const Index& i) { outputs[0][i] = inputs[0].broadcast(i); });
  } else if (type == "Tile" || type == "Resize") {
    rescale(inputs[0], outputs[0], type == "Tile");
  } else if (type == "SpaceToDepth" || type == "DepthToSpace") {
    depth_space(op, inputs[0], outputs[0]);
  } else if (type == "ReverseSequence") {
    reverse_sequence(op, inputs, outputs[0]);
  } else if (type == "Trilu") {
    trilu(op, inputs[0], outputs[0]);
  } else {
    return run_index_op(op, inputs, outputs);
  }
  return true;
}

}  // namespace dfsim
