// Features of how an op walks through memory. Layouts that are the same walk get the same numbers:
// axes of extent 1 are dropped and neighbours that stay together are one axis.
#include <algorithm>
#include <charconv>
#include <numeric>

#include "datasets/profiles/profile.h"
#include "opmodel/features/feature_writer.h"

namespace dfsim::inline opmodel {

namespace {

using Extents = std::vector<int64_t>;

// Neighbouring axes that are walked alike, as one.
struct Group {
  double extent = 1;
  double kind = 0;  // what is alike, by op: which operands have the axis, whether it is reduced
};

struct Walk {
  std::vector<Group> groups;  // in the order of the output, innermost last
  double run = 1;             // elements that lie side by side on both sides
  double moved = 0;  // extent of the one axis that a transposition moves; -1 when it moves more
};

// Axes of extent 1 do not count; neighbours of one kind are one.
void add_axis(double extent, double kind, std::vector<Group>* groups) {
  if (extent == 1) {
    return;
  }
  if (groups->empty() || groups->back().kind != kind) {
    groups->push_back({1, kind});
  }
  groups->back().extent *= extent;
}

// The permutation of the axes that are left when those of extent 1 are dropped and neighbours that
// stay neighbours are merged; `extents` becomes theirs, in the order of the input.
std::vector<size_t> merged_permutation(std::vector<size_t> perm, Extents* extents) {
  std::erase_if(perm, [&](size_t axis) { return (*extents)[axis] == 1; });
  std::vector<int64_t> merged(extents->size(), 0);  // by the first axis of each run
  std::vector<size_t> heads;
  for (size_t i = 0; i < perm.size(); ++i) {
    const size_t axis = perm[i];
    size_t before = axis;  // the axis before it that counts
    while (before > 0 && (*extents)[before - 1] == 1) {
      --before;
    }
    if (i > 0 && before > 0 && perm[i - 1] == before - 1) {
      merged[heads.back()] *= (*extents)[axis];
    } else {
      heads.push_back(axis);
      merged[axis] = (*extents)[axis];
    }
  }
  std::vector<size_t> sorted = heads;
  std::sort(sorted.begin(), sorted.end());
  Extents left;
  for (const size_t head : sorted) {
    left.push_back(merged[head]);
  }
  for (size_t& head : heads) {
    head =
        static_cast<size_t>(std::lower_bound(sorted.begin(), sorted.end(), head) - sorted.begin());
  }
  *extents = std::move(left);
  return heads;
}

Walk transposition(Extents extents, const std::vector<size_t>& original) {
  const std::vector<size_t> perm = merged_permutation(original, &extents);
  Walk walk;
  for (const size_t axis : perm) {
    walk.groups.push_back({static_cast<double>(extents[axis]), static_cast<double>(axis)});
  }
  if (perm.size() < 2) {
    walk.run = perm.empty() ? 1 : static_cast<double>(extents[0]);
    return walk;
  }
  walk.run = perm.back() + 1 == perm.size() ? static_cast<double>(extents.back()) : 1;
  const size_t moved = single_moved_axis(perm);
  walk.moved = moved < perm.size() ? static_cast<double>(extents[moved]) : -1;
  return walk;
}

Walk reduction(const Extents& extents, const std::vector<size_t>& axes) {
  Walk walk;
  for (size_t i = 0; i < extents.size(); ++i) {
    const bool reduced = axes.empty() || std::find(axes.begin(), axes.end(), i) != axes.end();
    add_axis(static_cast<double>(extents[i]), reduced ? 1 : 0, &walk.groups);
  }
  return walk;
}

// Axes by which of the first three operands have them.
Walk broadcast(const OpDescriptor& op, const Extents& y) {
  Walk walk;
  for (size_t i = 0; i < y.size(); ++i) {
    int have = 0;
    for (size_t t = 0; t < std::min<size_t>(op.input_extents.size(), 3); ++t) {
      const Extents& x = op.input_extents[t];
      const size_t missing = y.size() - std::min(y.size(), x.size());
      have |=
          i >= missing && x[i - missing + x.size() - std::min(y.size(), x.size())] > 1 ? 1 << t : 0;
    }
    add_axis(static_cast<double>(y[i]), have, &walk.groups);
  }
  walk.run = walk.groups.empty() ? 1 : walk.groups.back().extent;
  return walk;
}

// Slices, parts and joins: what is copied in one piece.
Walk copy(const Extents& x, const Extents& y) {
  Walk walk;
  const size_t rank = std::min(x.size(), y.size());
  double rest = 1;
  bool together = true;
  for (size_t i = 1; i <= rank; ++i) {
    const auto extent = static_cast<double>(std::min(x[x.size() - i], y[y.size() - i]));
    (together ? walk.run : rest) *= extent;
    together = together && x[x.size() - i] == y[y.size() - i];
  }
  walk.groups = {{rest, 0}, {walk.run, 0}};
  return walk;
}

// A gather or scatter copies, for each index, the axes inside those that indices count along in one
// piece. `moved`: the elements that are copied.
Walk gathered(const OpDescriptor& op, const Extents& x, const Extents& moved) {
  size_t first = x.size();  // of the axes that are copied whole; GatherElements copies none
  if (op.op_type == "Gather") {
    const std::vector<size_t> axis = index_list(op, "axis");
    first = (axis.empty() ? 0 : axis[0]) + 1;
  } else if (op.op_type.ends_with("ND") && op.input_extents.size() > 1 &&
             !op.input_extents[1].empty()) {
    const std::vector<size_t> batch = index_list(op, "batch_dims");
    first = static_cast<size_t>(op.input_extents[1].back()) + (batch.empty() ? 0 : batch[0]);
  }
  Walk walk;
  for (size_t i = first; i < x.size(); ++i) {
    walk.run *= static_cast<double>(x[i]);
  }
  double all = 1;
  for (const int64_t extent : moved) {
    all *= static_cast<double>(extent);
  }
  walk.groups = {{all / std::max(walk.run, 1.0), 0}, {walk.run, 0}};
  return walk;
}

bool is_gather(const OpDescriptor& op) {
  return op.op_type == "Gather" || op.op_type == "GatherElements" || op.op_type == "GatherND";
}

bool is_scatter(const OpDescriptor& op) {
  return (op.op_type == "ScatterElements" || op.op_type == "ScatterND") &&
         op.input_extents.size() > 2;
}

Walk walk_of(const OpDescriptor& op) {
  const Extents none;
  const Extents& x = op.input_extents.empty() ? none : op.input_extents[0];
  const Extents& y = op.output_extents.empty() ? none : op.output_extents[0];
  std::vector<size_t> perm = index_list(op, "perm");
  std::vector<size_t> sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  std::vector<size_t> identity(x.size());
  std::iota(identity.begin(), identity.end(), size_t{0});
  if (!perm.empty() && sorted == identity) {
    return transposition(x, perm);
  }
  if (op.op_class == OpClass::kReduce) {
    return reduction(x, index_list(op, "axes"));
  }
  if (op.op_class == OpClass::kSoftmax) {
    // Along the last axis all of it is one piece, as models from before inner axes count it.
    const std::vector<size_t> axis = index_list(op, "axis");
    if (axis.size() == 1 && axis[0] + 1 < x.size()) {
      return reduction(x, axis);
    }
  }
  if (op.op_class == OpClass::kElementwise || op.op_type == "Expand") {
    return broadcast(op, y);
  }
  if (is_gather(op)) {
    return gathered(op, x, y);
  }
  if (is_scatter(op)) {
    return gathered(op, x, op.input_extents[2]);
  }
  return copy(x, y);
}

}  // namespace

double common_run(const std::vector<int64_t>& x, const std::vector<int64_t>& y) {
  return copy(x, y).run;
}

double indexed_pieces(const OpDescriptor& op) {
  if ((!is_gather(op) && !is_scatter(op)) || op.input_extents.empty() ||
      op.output_extents.empty()) {
    return 0;
  }
  return walk_of(op).groups.front().extent;
}

size_t single_moved_axis(const std::vector<size_t>& perm) {
  for (size_t axis = 0; axis < perm.size(); ++axis) {
    std::vector<size_t> rest = perm;
    std::erase(rest, axis);
    if (std::is_sorted(rest.begin(), rest.end())) {
      return axis;
    }
  }
  return perm.size();
}

std::vector<size_t> index_list(const OpDescriptor& op, std::string_view name) {
  std::vector<size_t> values;
  for (std::string_view text = attribute_value(op.attributes, name); !text.empty();) {
    size_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc()) {
      return {};
    }
    values.push_back(value);
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    text.remove_prefix(text.empty() ? 0 : 1);
  }
  return values;
}

void walk_features(const OpDescriptor& op, FeatureWriter& writer) {
  const Walk walk = writer.naming() ? Walk() : walk_of(op);
  const size_t count = walk.groups.size();
  const Group nothing = {1, -1};
  writer.add("walk_axes", static_cast<double>(count));
  for (size_t i = 0; i < 3; ++i) {
    const Group& group = i < count ? walk.groups[count - 1 - i] : nothing;
    writer.add_tile("walk_extent", static_cast<int>(i), 0, log_of(group.extent));
    writer.add_tile("walk_kind", static_cast<int>(i), 0, group.kind);
  }
  writer.add_log("walk_run", walk.run);
  writer.add("walk_moved", walk.moved < 0 ? -1 : log_of(std::max(walk.moved, 1.0)));
  // Known and whole: products instead of a power.
  writer.add("exponent", attribute_value(op.attributes, "exponent").empty() ? 0 : 1);
  const std::vector<size_t> heads = index_list(op, "num_heads");
  writer.add("heads", heads.size() == 1 ? static_cast<double>(heads[0]) : 0);
}

}  // namespace dfsim::inline opmodel
