// Each law needs to know whether the part's own rows already teach what it says: unaligned products
// are counted in training, narrow rows show in the range of columns.
#include "opmodel/model/laws/kernel_limit.h"

#include <cmath>

#include "opmodel/model/laws/narrow_rows.h"
#include "opmodel/model/laws/unaligned_products.h"

namespace dfsim::inline opmodel {

namespace {

// Fewer rows than this do not teach a part what unaligned products cost.
constexpr int64_t kRowsToKnow = 20;
constexpr double kUnalignedSpread = 1.5;
// A part whose rows are all wider has not seen any that the law is about.
constexpr double kNarrowColumns = 64;
constexpr double kNarrowSpread = 1.4;

bool knows_narrow_rows(const ModelPart& part) {
  return part.ranges.empty() || part.ranges[dim::kColumns].first <= std::log1p(kNarrowColumns);
}

}  // namespace

KernelLimit kernel_limit(const ModelPart& part, const OpDescriptor& op, const OpGeometry& geometry,
                         const DeviceSpec& device) {
  if (geometry.family == Family::kGemm && part.unaligned_rows < kRowsToKnow) {
    const double time_us = unaligned_product_us(op, geometry, device);
    return {time_us, kUnalignedSpread, time_us > 0};
  }
  if (geometry.family == Family::kRows && !knows_narrow_rows(part)) {
    return {narrow_rows_us(op, geometry, device), kNarrowSpread, false};
  }
  return {};
}

}  // namespace dfsim::inline opmodel
