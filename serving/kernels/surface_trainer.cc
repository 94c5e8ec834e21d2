// Grids, sheets, and the errors on anchors left out.
#include "serving/kernels/surface_trainer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "base/hash.h"

namespace dfsim::inline serving {

namespace {

constexpr double kHeldOutShare = 0.15;
constexpr size_t kLeastAnchors = 6;  // fewer give no held-out error

struct CategorySamples {
  std::set<double> axis0, axis1;
  // anchor -> sizes -> (sum of ln(time / bound), repeats)
  std::map<std::vector<double>, std::map<KernelSizes, std::pair<double, int>>> sheets;
};

KernelCategory make_category(KernelKind kind, const std::string& name,
                             const CategorySamples& samples, const KernelGpu& gpu) {
  KernelCategory category;
  category.name = name;
  category.axis0.assign(samples.axis0.begin(), samples.axis0.end());
  category.axis1.assign(samples.axis1.begin(), samples.axis1.end());
  const size_t width = category.axis1.size();
  for (const auto& [anchor, points] : samples.sheets) {
    std::vector<float> sheet(category.axis0.size() * width,
                             std::numeric_limits<float>::quiet_NaN());
    for (const auto& [sizes, sum] : points) {
      const auto row = std::lower_bound(category.axis0.begin(), category.axis0.end(), sizes[0]);
      const auto column = std::lower_bound(category.axis1.begin(), category.axis1.end(), sizes[1]);
      sheet[static_cast<size_t>(row - category.axis0.begin()) * width +
            static_cast<size_t>(column - category.axis1.begin())] =
          static_cast<float>(sum.first / sum.second);
    }
    category.anchors.push_back(anchor);
    category.sheets.push_back(std::move(sheet));
  }
  finish_category(kind, gpu, &category);
  return category;
}

double anchor_share(const std::vector<double>& anchor) {
  Hasher hasher;
  for (const double value : anchor) {
    hasher.add(static_cast<uint64_t>(value * 1024));
  }
  return static_cast<double>(hasher.digest() >> 11) * 0x1p-53;
}

double quantile_of(const std::vector<double>& sorted, double q) {
  const double at = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(at);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

struct HeldOut {
  std::vector<double> log_ratios[2];  // ln(time / prediction) of either half of the anchors
  double predicted = 0;
  double measured = 0;
};

KernelErrors summarize(HeldOut held) {
  KernelErrors errors;
  std::vector<double> absolute;
  std::vector<double> all;
  for (const std::vector<double>& half : held.log_ratios) {
    for (const double ratio : half) {
      absolute.push_back(std::abs(std::exp(-ratio) - 1));
      all.push_back(ratio);
    }
  }
  errors.rows = static_cast<int64_t>(all.size());
  if (all.empty()) {
    return errors;
  }
  std::sort(absolute.begin(), absolute.end());
  std::sort(all.begin(), all.end());
  for (const double error : absolute) {
    errors.mape += error / static_cast<double>(absolute.size());
  }
  errors.median = quantile_of(absolute, 0.5);
  errors.p90 = quantile_of(absolute, 0.9);
  errors.bias = held.predicted / held.measured - 1;
  const size_t cut = all.size() / 40;
  double squares = 0;
  for (size_t i = cut; i + cut < all.size(); ++i) {
    squares += all[i] * all[i];
  }
  errors.sigma = std::sqrt(squares / static_cast<double>(all.size() - 2 * cut));
  const size_t fitting = held.log_ratios[0].empty() ? 1 : 0;
  std::vector<double>& fit = held.log_ratios[fitting];
  std::sort(fit.begin(), fit.end());
  errors.low = quantile_of(fit, 0.1);
  errors.high = quantile_of(fit, 0.9);
  const std::vector<double>& check = held.log_ratios[1 - fitting];
  const auto inside = std::count_if(check.begin(), check.end(), [&](double ratio) {
    return ratio >= errors.low && ratio <= errors.high;
  });
  errors.inside =
      check.empty() ? 0 : static_cast<double>(inside) / static_cast<double>(check.size());
  return errors;
}

KernelErrors held_out_errors(KernelKind kind, const KernelCategory& category,
                             const CategorySamples& samples, const KernelGpu& gpu) {
  std::vector<uint8_t> usable;
  for (const std::vector<double>& anchor : category.anchors) {
    usable.push_back(anchor_share(anchor) < kHeldOutShare ? 0 : 1);
  }
  if (category.anchors.size() < kLeastAnchors || std::count(usable.begin(), usable.end(), 0) == 0) {
    return {};
  }
  HeldOut held;
  size_t half = 0;
  for (size_t i = 0; i < category.anchors.size(); ++i) {
    if (usable[i] != 0) {
      continue;
    }
    half = 1 - half;
    const std::vector<double>& anchor = category.anchors[i];
    const KernelTraits traits = kernel_traits(kind, category.name);
    const KernelCurve curve = blended_curve(kind, category, anchor, usable, gpu);
    for (const auto& [sizes, sum] : samples.sheets.at(anchor)) {
      const double measured =
          kernel_bound_us(kind, traits, anchor, sizes, gpu) * std::exp(sum.first / sum.second);
      const double predicted = curve.time_us(sizes[0], sizes[1]);
      held.log_ratios[half].push_back(std::log(measured / predicted));
      held.predicted += predicted;
      held.measured += measured;
    }
  }
  return summarize(std::move(held));
}

}  // namespace

std::vector<KernelSurface> train_surfaces(const std::vector<KernelSample>& samples,
                                          const KernelGpu& gpu) {
  std::map<KernelKind, std::map<std::string, CategorySamples>> kinds;
  for (const KernelSample& sample : samples) {
    CategorySamples& category = kinds[sample.kind][sample.category];
    category.axis0.insert(sample.sizes[0]);
    category.axis1.insert(sample.sizes[1]);
    const double bound = kernel_bound_us(sample.kind, kernel_traits(sample.kind, sample.category),
                                         sample.anchor, sample.sizes, gpu);
    auto& [sum, repeats] = category.sheets[sample.anchor][sample.sizes];
    sum += std::log(sample.time_us / bound);
    ++repeats;
  }
  std::vector<KernelSurface> surfaces;
  for (const auto& [kind, categories] : kinds) {
    std::vector<KernelCategory> made;
    for (const auto& [name, category_samples] : categories) {
      made.push_back(make_category(kind, name, category_samples, gpu));
      made.back().errors = held_out_errors(kind, made.back(), category_samples, gpu);
    }
    surfaces.emplace_back(kind, std::move(made));
  }
  return surfaces;
}

}  // namespace dfsim::inline serving
