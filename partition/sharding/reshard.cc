// Plans the steps between two layouts of a tensor: reductions of partial sums first, then cuts
// that move by all-to-all, slices, which are free of communication, and gathers last.
#include "partition/sharding/reshard.h"

#include <array>
#include <bit>

#include "base/check.h"

namespace dfsim::inline partition {
namespace {

// All axes of `inner` come after all of `outer` in the mesh, so that `inner` cuts within the runs
// that `outer` has cut.
bool cuts_within(AxisSet outer, AxisSet inner) {
  return outer == 0 || inner == 0 ||
         std::countr_zero(inner) > static_cast<int>(std::bit_width(outer)) - 1;
}

// The axes that both cuts begin with.
AxisSet common_prefix(AxisSet a, AxisSet b) {
  const AxisSet different = a ^ b;
  if (different == 0) {
    return a;
  }
  return a & ((AxisSet{1} << std::countr_zero(different)) - 1);
}

class Planner {
 public:
  Planner(TensorSharding from, const TensorSharding& to) : now_(std::move(from)), to_(to) {}

  std::vector<ReshardStep> run() {
    finish_partial();
    move_cuts();
    slice();  // before gathers: they then move less
    gather();
    slice();
    DFSIM_CHECK(now_.dims == to_.dims && now_.partial == 0);
    return std::move(steps_);
  }

 private:
  int rank() const { return static_cast<int>(now_.dims.size()); }
  AxisSet now(int dim) const { return now_.dims[static_cast<size_t>(dim)]; }
  AxisSet to(int dim) const { return to_.dims[static_cast<size_t>(dim)]; }

  void add(const ReshardStep& step) {
    steps_.push_back(step);
    now_ = after_step(now_, step);
  }

  void finish_partial() {
    const Reduction reduction = now_.reduction;
    for (int dim = 0; dim < rank(); ++dim) {
      const AxisSet axes = to(dim) & now_.partial;
      if (axes != 0 && (now(dim) | axes) == to(dim) && cuts_within(now(dim), axes)) {
        add({ReshardKind::kReduceScatter, axes, dim, 0, reduction});
      }
    }
    if (now_.partial != 0) {
      add({ReshardKind::kAllReduce, now_.partial, 0, 0, reduction});
    }
  }

  void move_cuts() {
    for (int from = 0; from < rank(); ++from) {
      for (int dim = 0; dim < rank(); ++dim) {
        const AxisSet axes = now(from) & ~to(from) & to(dim);
        const AxisSet stays = now(from) & ~axes;
        const AxisSet next = now(dim) | axes;
        if (dim != from && axes != 0 && cuts_within(stays, axes) && cuts_within(now(dim), axes) &&
            common_prefix(next, to(dim)) == next) {
          add({ReshardKind::kAllToAll, axes, dim, from, Reduction::kNone});
        }
      }
    }
  }

  void slice() {
    for (int dim = 0; dim < rank(); ++dim) {
      const AxisSet axes = to(dim) & ~now(dim);
      const bool free = (axes & now_.used()) == 0;
      // A dimension that must be gathered anyway is not cut further before.
      const bool stays = (now(dim) & ~to(dim)) == 0;
      if (axes != 0 && free && stays && cuts_within(now(dim), axes)) {
        add({ReshardKind::kSlice, axes, dim, 0, Reduction::kNone});
      }
    }
  }

  void gather() {
    for (int dim = 0; dim < rank(); ++dim) {
      const AxisSet axes = now(dim) & ~common_prefix(now(dim), to(dim));
      if (axes != 0) {
        add({ReshardKind::kAllGather, axes, dim, 0, Reduction::kNone});
      }
    }
  }

  TensorSharding now_;
  const TensorSharding& to_;
  std::vector<ReshardStep> steps_;
};

}  // namespace

std::string_view reshard_op_type(ReshardKind kind) {
  constexpr std::array<std::string_view, 5> kTypes = {"ReduceScatter", "AllReduce", "AllToAll",
                                                      "AllGather", "ShardSlice"};
  return kTypes[static_cast<size_t>(kind)];
}

TensorSharding after_step(const TensorSharding& sharding, const ReshardStep& step) {
  TensorSharding next = sharding;
  AxisSet& dim = next.dims.empty() ? next.partial : next.dims[static_cast<size_t>(step.dim)];
  switch (step.kind) {
    case ReshardKind::kReduceScatter:
      next.partial &= ~step.axes;
      dim |= step.axes;
      break;
    case ReshardKind::kAllReduce:
      next.partial &= ~step.axes;
      break;
    case ReshardKind::kAllToAll:
      next.dims[static_cast<size_t>(step.gather_dim)] &= ~step.axes;
      dim |= step.axes;
      break;
    case ReshardKind::kAllGather:
      dim &= ~step.axes;
      break;
    case ReshardKind::kSlice:
      dim |= step.axes;
      break;
  }
  if (next.partial == 0) {
    next.reduction = Reduction::kNone;
  }
  return next;
}

std::vector<ReshardStep> plan_reshard(const TensorSharding& from, const TensorSharding& to) {
  return Planner(from, to).run();
}

}  // namespace dfsim::inline partition
