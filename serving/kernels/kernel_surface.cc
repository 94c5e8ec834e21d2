// Blending of sheets, filling of gaps, interpolation.
//
// Local linear regression rather than a weighted mean: at the rim of the measured range all
// neighbours are on one side, and a mean would be off by the slope. A small ridge keeps the
// regression solvable when all neighbours are in one line (anchors that differ in one dimension).
#include "serving/kernels/kernel_surface.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace dfsim::inline serving {

namespace {

constexpr double kSpike = 0.15;
constexpr double kRidge = 0.05;
constexpr double kLeastWeight = 1e-12;
constexpr double kExactSigma = 0.02;  // repeats of one measurement, about

// Standard deviation of a neighbour's weight, in octaves of the anchor's dimensions.
double blend_width(KernelKind kind) { return kind == KernelKind::kGemm ? 0.35 : 0.5; }

// Solves the small symmetric system a x = b in place; a is n * n, positive definite.
void solve_in_place(std::vector<double>& a, std::vector<double>& b, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    for (size_t row = i + 1; row < n; ++row) {
      const double factor = a[row * n + i] / a[i * n + i];
      for (size_t column = i; column < n; ++column) {
        a[row * n + column] -= factor * a[i * n + column];
      }
      b[row] -= factor * b[i];
    }
  }
  for (size_t i = n; i-- > 0;) {
    for (size_t column = i + 1; column < n; ++column) {
      b[i] -= a[i * n + column] * b[column];
    }
    b[i] /= a[i * n + i];
  }
}

// Weight of each neighbour in the value at the origin: the first row of the regression's inverse
// normal matrix times the weighted design. `offsets[i]` are neighbour i's coordinates.
std::vector<double> regression_weights(const std::vector<std::vector<double>>& offsets,
                                       double width) {
  const size_t n = offsets.front().size() + 1;
  std::vector<double> normal(n * n, 0.0);
  std::vector<double> weights;
  std::vector<double> row(n, 1.0);
  for (const std::vector<double>& offset : offsets) {
    double distance = 0;
    for (size_t i = 0; i + 1 < n; ++i) {
      row[i + 1] = offset[i];
      distance += offset[i] * offset[i];
    }
    const double weight = std::exp(-distance / (2 * width * width)) + kLeastWeight;
    weights.push_back(weight);
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = 0; j < n; ++j) {
        normal[i * n + j] += weight * row[i] * row[j];
      }
    }
  }
  // The ridge grows with the weights there are, or far anchors' slopes would vanish under it.
  double total = 0;
  for (const double weight : weights) {
    total += weight;
  }
  for (size_t i = 1; i < n; ++i) {
    normal[i * n + i] += kRidge * std::min(total, 1.0) + 1e-9 * total;
  }
  std::vector<double> first(n, 0.0);
  first[0] = 1;
  solve_in_place(normal, first, n);
  for (size_t k = 0; k < offsets.size(); ++k) {
    double value = first[0];
    for (size_t i = 0; i + 1 < n; ++i) {
      value += first[i + 1] * offsets[k][i];
    }
    weights[k] *= value;
  }
  return weights;
}

// Position of log x among ascending logs: the cell and the share of its upper end.
std::pair<size_t, double> locate(const std::vector<double>& logs, double x) {
  if (logs.size() == 1 || x <= logs.front()) {
    return {0, 0.0};
  }
  if (x >= logs.back()) {
    return {logs.size() - 2, 1.0};
  }
  const auto above = std::upper_bound(logs.begin(), logs.end(), x);
  const size_t cell = static_cast<size_t>(above - logs.begin()) - 1;
  return {cell, (x - logs[cell]) / (logs[cell + 1] - logs[cell])};
}

std::vector<double> logs_of(const std::vector<double>& values) {
  std::vector<double> logs;
  for (const double value : values) {
    logs.push_back(std::log(value));
  }
  return logs;
}

double median_of_three(double a, double b, double c) {
  return std::max(std::min(a, b), std::min(std::max(a, b), c));
}

// One line of a sheet: `count` points from `first`, `stride` apart.
struct SheetLine {
  size_t first = 0;
  size_t stride = 1;
  size_t count = 0;
};

void take_out_spikes(std::vector<float>& sheet, const SheetLine& line) {
  for (size_t i = 1; i + 1 < line.count; ++i) {
    const float before = sheet[line.first + (i - 1) * line.stride];
    float& here = sheet[line.first + i * line.stride];
    const float after = sheet[line.first + (i + 1) * line.stride];
    if (std::isnan(before) || std::isnan(here) || std::isnan(after)) {
      continue;
    }
    const double middle = median_of_three(before, here, after);
    if (std::abs(here - middle) > kSpike) {
      here = static_cast<float>(middle);
    }
  }
}

// Interpolates gaps between measured points, linearly in the logarithm of the size.
void bridge_line(std::vector<float>& sheet, const SheetLine& line,
                 const std::vector<double>& logs) {
  size_t known = line.count;  // the last measured point so far; count = none
  for (size_t i = 0; i < line.count; ++i) {
    if (std::isnan(sheet[line.first + i * line.stride])) {
      continue;
    }
    for (size_t gap = known + 1; known < line.count && gap < i; ++gap) {
      const double share = (logs[gap] - logs[known]) / (logs[i] - logs[known]);
      sheet[line.first + gap * line.stride] =
          static_cast<float>((1 - share) * sheet[line.first + known * line.stride] +
                             share * sheet[line.first + i * line.stride]);
    }
    known = i;
  }
}

// Extends the last measured value upwards and the first one downwards.
void extend_line(std::vector<float>& sheet, const SheetLine& line) {
  for (const bool upwards : {true, false}) {
    float last = std::numeric_limits<float>::quiet_NaN();
    for (size_t step = 0; step < line.count; ++step) {
      const size_t i = upwards ? step : line.count - 1 - step;
      float& here = sheet[line.first + i * line.stride];
      if (std::isnan(here)) {
        here = last;
      }
      last = here;
    }
  }
}

// An all-reduce among fewer GPUs takes no longer than one among more, at any size. Tables break
// this where a library's choice of algorithm failed (TensorRT-LLM 1.2 takes 11 us among 4 GPUs and
// 5 among 8); its neighbours in time do not.
void order_by_gpus(KernelKind kind, KernelCategory* category, const KernelGpu& gpu) {
  const KernelTraits traits = kernel_traits(kind, category->name);
  std::vector<size_t> order(category->anchors.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return category->anchors[a][0] > category->anchors[b][0]; });
  const auto log_bound = [&](size_t anchor, size_t i) {
    const KernelSizes sizes = {category->axis0[i], 1};
    return std::log(kernel_bound_us(kind, traits, category->anchors[anchor], sizes, gpu));
  };
  for (size_t k = 1; k < order.size(); ++k) {
    for (size_t i = 0; i < category->axis0.size(); ++i) {
      const double more =
          category->sheets[order[k - 1]][i] + log_bound(order[k - 1], i) - log_bound(order[k], i);
      float& fewer = category->sheets[order[k]][i];
      fewer = static_cast<float>(std::min<double>(fewer, more));
    }
  }
}

// Experts narrower than any measured ones of their model: as many bytes of weights in fewer experts
// of the least measured width. The utilisation of wide experts would promise that narrow ones are
// as efficient, but what is left of them is the same launches, sorting and tiles that do not fill.
std::vector<double> measured_experts(const KernelCategory& category, std::vector<double> anchor,
                                     std::span<const uint8_t> usable) {
  constexpr size_t kHidden = 0, kWidth = 1, kTopK = 2, kHere = 3, kExperts = 4;
  double least = 0;
  for (size_t i = 0; i < category.anchors.size(); ++i) {
    if (!usable.empty() && usable[i] == 0) {
      continue;
    }
    const std::vector<double>& known = category.anchors[i];
    const bool family = known[kHidden] == anchor[kHidden] && known[kTopK] == anchor[kTopK] &&
                        known[kExperts] == anchor[kExperts];
    least = family && (least == 0 || known[kWidth] < least) ? known[kWidth] : least;
  }
  if (least > anchor[kWidth]) {
    anchor[kHere] *= anchor[kWidth] / least;
    anchor[kWidth] = least;
  }
  return anchor;
}

}  // namespace

KernelCurve blended_curve(KernelKind kind, const KernelCategory& category,
                          const std::vector<double>& anchor, std::span<const uint8_t> usable,
                          const KernelGpu& gpu) {
  const std::vector<double> place =
      kind == KernelKind::kMoe ? measured_experts(category, anchor, usable) : anchor;
  bool exact = false;
  std::vector<float> sheet = blended_sheet(kind, category, place, usable, &exact);
  const double sigma =
      exact && place == anchor ? kExactSigma : std::max(category.errors.sigma, kExactSigma);
  return KernelCurve(kind, kernel_traits(kind, category.name), place, gpu, category,
                     std::move(sheet), sigma);
}

KernelCurve::KernelCurve(KernelKind kind, KernelTraits traits, std::vector<double> anchor,
                         KernelGpu gpu, const KernelCategory& grid, std::vector<float> sheet,
                         double sigma)
    : kind_(kind),
      traits_(traits),
      anchor_(std::move(anchor)),
      gpu_(gpu),
      log0_(logs_of(grid.axis0)),
      log1_(logs_of(grid.axis1)),
      sheet_(std::move(sheet)),
      sigma_(sigma) {}

double KernelCurve::time_us(double size0, double size1) const {
  const auto [i, u] = locate(log0_, std::log(size0));
  const auto [j, v] = locate(log1_, std::log(size1));
  const size_t width = log1_.size();
  const size_t i1 = std::min(i + 1, log0_.size() - 1);
  const size_t j1 = std::min(j + 1, width - 1);
  const double low = (1 - v) * sheet_[i * width + j] + v * sheet_[i * width + j1];
  const double high = (1 - v) * sheet_[i1 * width + j] + v * sheet_[i1 * width + j1];
  return kernel_bound_us(kind_, traits_, anchor_, {size0, size1}, gpu_) *
         std::exp((1 - u) * low + u * high);
}

const KernelCategory* KernelSurface::find(const std::string& category) const {
  const auto at = std::find_if(categories_.begin(), categories_.end(),
                               [&](const KernelCategory& c) { return c.name == category; });
  return at == categories_.end() ? nullptr : &*at;
}

std::vector<float> blended_sheet(KernelKind kind, const KernelCategory& category,
                                 const std::vector<double>& anchor, std::span<const uint8_t> usable,
                                 bool* exact) {
  *exact = false;
  const size_t count = category.anchors.size();
  const auto may_use = [&](size_t i) { return usable.empty() || usable[i] != 0; };
  std::vector<std::vector<double>> positions;
  std::vector<size_t> members;
  std::vector<double> target = anchor_position(kind, anchor);
  std::vector<double> low(target.size(), 1e300);
  std::vector<double> high(target.size(), -1e300);
  for (size_t i = 0; i < count; ++i) {
    if (!may_use(i)) {
      continue;
    }
    if (category.anchors[i] == anchor) {
      *exact = true;
      return category.sheets[i];
    }
    positions.push_back(anchor_position(kind, category.anchors[i]));
    members.push_back(i);
    for (size_t d = 0; d < target.size(); ++d) {
      low[d] = std::min(low[d], positions.back()[d]);
      high[d] = std::max(high[d], positions.back()[d]);
    }
  }
  std::vector<float> sheet(category.axis0.size() * category.axis1.size(), 0.0F);
  if (members.empty()) {
    return sheet;
  }
  for (std::vector<double>& position : positions) {
    for (size_t d = 0; d < target.size(); ++d) {
      // Beyond the rim the utilisation of the rim is kept: slopes must not be carried on.
      position[d] -= std::clamp(target[d], low[d], high[d]);
    }
  }
  const std::vector<double> weights = regression_weights(positions, blend_width(kind));
  double total = 0;
  for (const double weight : weights) {
    total += weight;
  }
  for (size_t k = 0; k < members.size(); ++k) {
    const std::vector<float>& from = category.sheets[members[k]];
    for (size_t i = 0; i < sheet.size(); ++i) {
      sheet[i] += static_cast<float>(weights[k] / total) * from[i];
    }
  }
  return sheet;
}

StatusOr<KernelCurve> KernelSurface::curve(const std::string& category,
                                           const std::vector<double>& anchor,
                                           const KernelGpu& gpu) const {
  const KernelCategory* found = find(category);
  if (found == nullptr) {
    std::string names;
    for (const KernelCategory& known : categories_) {
      names += (names.empty() ? "" : ", ") + known.name;
    }
    return not_found(fmt::format("no {} kernels of '{}' were measured; there are: {}",
                                 kernel_kind_name(kind_), category, names));
  }
  return blended_curve(kind_, *found, anchor, {}, gpu);
}

void finish_category(KernelKind kind, const KernelGpu& gpu, KernelCategory* category) {
  const bool exchange = kind == KernelKind::kAllReduce || kind == KernelKind::kCollective;
  const size_t rows = category->axis0.size();
  const size_t columns = category->axis1.size();
  const std::vector<double> logs0 = logs_of(category->axis0);
  const std::vector<double> logs1 = logs_of(category->axis1);
  for (std::vector<float>& sheet : category->sheets) {
    if (exchange) {
      take_out_spikes(sheet, {0, 1, rows});
    }
    for (size_t i = 0; i < rows; ++i) {
      bridge_line(sheet, {i * columns, 1, columns}, logs1);
    }
    for (size_t j = 0; j < columns; ++j) {
      bridge_line(sheet, {j, columns, rows}, logs0);
    }
    for (size_t i = 0; i < rows; ++i) {
      extend_line(sheet, {i * columns, 1, columns});
    }
    for (size_t j = 0; j < columns; ++j) {
      extend_line(sheet, {j, columns, rows});
    }
  }
  if (kind == KernelKind::kAllReduce) {
    order_by_gpus(kind, category, gpu);
  }
}

}  // namespace dfsim::inline serving
