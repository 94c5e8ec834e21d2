#include "graphs/ops/factors/factor_map.h"

#include <algorithm>
#include <array>

namespace dfsim::inline graphs {

std::string_view reduction_name(Reduction reduction) {
  constexpr std::array<std::string_view, kReductionCount> kNames = {"none", "sum", "mean",
                                                                    "max",  "min", "prod"};
  return kNames[static_cast<size_t>(reduction)];
}

std::string_view factor_kind_name(FactorKind kind) {
  constexpr std::array<std::string_view, 3> kNames = {"parallel", "contracted", "halo"};
  return kNames[static_cast<size_t>(kind)];
}

bool carries(const std::vector<FactorDim>& dims, int factor) {
  return std::any_of(dims.begin(), dims.end(),
                     [factor](const FactorDim& dim) { return dim.factor == factor; });
}

FactorKind FactorMap::kind(int factor) const {
  if (factors[static_cast<size_t>(factor)].halo >= 0) {
    return FactorKind::kHalo;
  }
  for (size_t o = 0; o < outputs.size(); ++o) {
    if (has_output[o] && !carries(outputs[o], factor)) {
      return FactorKind::kContracted;
    }
  }
  return FactorKind::kParallel;
}

bool FactorMap::can_split(int factor, int64_t ways) const {
  const Factor& f = factors[static_cast<size_t>(factor)];
  if (ways < 1 || f.extent % ways != 0) {
    return false;
  }
  if (f.halo < 0 || ways == 1) {
    return true;
  }
  const Halo& halo = halos[static_cast<size_t>(f.halo)];
  const FactorDim& dim = inputs[halo.input][static_cast<size_t>(halo.dim)];
  const int64_t shard = f.extent / ways * dim.block;
  return halo.before <= shard && halo.after <= shard;
}

}  // namespace dfsim::inline graphs
