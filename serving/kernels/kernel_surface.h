// KernelSurface: how far kernels of one kind are from their bound, learnt from measured tables.
//
// For each category the surface keeps a grid of run-time sizes and, at each anchor that was
// measured, a sheet: ln(time / bound) at the grid's points. A measured anchor is answered by its
// own sheet, another one by local linear regression over the sheets of its neighbours (Cleveland
// 1979, doi:10.1080/01621459.1979.10481038); between sizes the sheet is interpolated linearly in
// their logarithms, beyond them its edge is kept, so that times go on as the bound does. Blending
// costs some 50 us and is done once per kernel of a deployment; a query after that takes some 20
// ns. Invariants: all sheets of a category have the grid's size; no NaN after finish().
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "serving/kernels/kernel_kind.h"

namespace dfsim::inline serving {

// Where 80 % of held-out ln(time / prediction) lie, and their spread.
struct KernelErrors {
  int64_t rows = 0;
  double mape = 0;  // shares, not percent
  double median = 0;
  double p90 = 0;
  double bias = 0;      // total predicted / total measured - 1
  double low = -0.1;    // 10 % quantile of ln(time / prediction) on one half of held-out anchors
  double high = 0.1;    // 90 % quantile of it
  double inside = 0;    // share of the other half that lies between
  double sigma = 0.05;  // root mean square of ln(time / prediction), tails cut at 5 %
};

struct KernelCategory {
  std::string name;
  std::vector<double> axis0;  // ascending
  std::vector<double> axis1;  // {1} for kinds of one size
  std::vector<std::vector<double>> anchors;
  std::vector<std::vector<float>> sheets;  // axis0-major; NaN = not measured, until finish()
  KernelErrors errors;
};

// One kernel of a deployment, ready for queries by size.
class KernelCurve {
 public:
  KernelCurve() = default;
  KernelCurve(KernelKind kind, KernelTraits traits, std::vector<double> anchor, KernelGpu gpu,
              const KernelCategory& grid, std::vector<float> sheet, double sigma);

  // Microseconds at these sizes (at least 1 each). Continuous in the sizes.
  double time_us(double size0, double size1 = 1) const;
  // Standard deviation of ln(true / time_us).
  double sigma() const { return sigma_; }

 private:
  KernelKind kind_ = KernelKind::kGemm;
  KernelTraits traits_;
  std::vector<double> anchor_;
  KernelGpu gpu_;
  std::vector<double> log0_, log1_;
  std::vector<float> sheet_;
  double sigma_ = 0;
};

class KernelSurface {
 public:
  KernelSurface() = default;
  KernelSurface(KernelKind kind, std::vector<KernelCategory> categories)
      : kind_(kind), categories_(std::move(categories)) {}

  KernelKind kind() const { return kind_; }
  const std::vector<KernelCategory>& categories() const { return categories_; }
  std::vector<KernelCategory>& categories() { return categories_; }
  const KernelCategory* find(const std::string& category) const;

  // The kernel of this category at this anchor. Errors: kNotFound for a category without
  // measurements (the message lists those there are).
  StatusOr<KernelCurve> curve(const std::string& category, const std::vector<double>& anchor,
                              const KernelGpu& gpu) const;

 private:
  KernelKind kind_ = KernelKind::kGemm;
  std::vector<KernelCategory> categories_;
};

// The sheet at `anchor` from those of `category` other than the one at index `without` (-1: all may
// be used, and one at this very anchor is taken as it is). False in *exact when it was blended.
std::vector<float> blended_sheet(KernelKind kind, const KernelCategory& category,
                                 const std::vector<double>& anchor, std::span<const uint8_t> usable,
                                 bool* exact);

// The curve at `anchor` from the anchors of `category` that are `usable` (empty: all).
KernelCurve blended_curve(KernelKind kind, const KernelCategory& category,
                          const std::vector<double>& anchor, std::span<const uint8_t> usable,
                          const KernelGpu& gpu);

// Fills points that were not measured: gaps by interpolation, rims with the nearest measured point,
// along the second size first.
// Collectives lose spikes, single points more than 15 % off both neighbours: disturbed
// measurements. (Those of other kernels are real: a product of 129 rows costs as much as one of
// 256.)
// All-reduces are ordered by their numbers of GPUs.
void finish_category(KernelKind kind, const KernelGpu& gpu, KernelCategory* category);

}  // namespace dfsim::inline serving
