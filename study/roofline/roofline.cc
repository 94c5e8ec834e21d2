// Points and roofs. An operator's roof is the lowest of its compute peak and the bandwidths of the
// levels that its data must come from; a level behind a cache counts only for bytes that the cache
// cannot hold.
#include "study/roofline/roofline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/text.h"

namespace dfsim::inline study {
namespace {

constexpr double kAboveSlack = 1.001;  // rounding to whole nanoseconds is not above the roof

double seconds(TimeNs time_ns) { return static_cast<double>(time_ns) / kNsPerSecond; }

RoofPoint point_of(const RooflineInput& input, TaskId task) {
  const uint32_t row = input.workload.graph.cost_row(task);
  const OpCost& cost = input.costs.at(row, input.device);
  RoofPoint point = roof_point(input.roofs, input.workload.rows[row], seconds(cost.time_ns));
  point.name = input.executed.op(input.workload.graph.op(task)).name;
  point.task = static_cast<uint32_t>(task.index());
  point.low_s = seconds(cost.low_ns);
  point.high_s = seconds(cost.high_ns);
  point.bound = cost.bound;
  point.source = cost.source;
  return point;
}

// Whether the operator changes only the element type or the layout of its operand. Transposes of
// quantised images are known by the names that their pass gives them.
bool is_conversion(const RoofPoint& op) {
  constexpr std::array<std::string_view, 5> kTypes = {"Cast", "uantizeLinear", "ReorderInput",
                                                      "ReorderOutput", "contiguous"};
  constexpr std::array<std::string_view, 2> kNames = {"/transpose", "/transpose_back"};
  const auto ends = [](const std::string& text) {
    return [&text](std::string_view end) { return text.ends_with(end); };
  };
  return std::ranges::any_of(kTypes, ends(op.op_type)) ||
         (op.op_type == "Transpose" && std::ranges::any_of(kNames, ends(op.name)));
}

// The source that the file cites for a figure, or for every other one.
std::string citation_of(const DeviceSpec& device, std::string_view figure) {
  std::string found;
  for (const Citation& citation : device.citations) {
    if (citation.figure.starts_with(figure)) {
      return citation.source;
    }
    if (citation.figure == "default") {
      found = citation.source;
    }
  }
  return found;
}

// The sum of many points: as if one operator did all their work.
RoofPoint sum_of(std::string name, const std::vector<const RoofPoint*>& points, double total_s) {
  RoofPoint sum;
  sum.name = std::move(name);
  sum.ops = 0;
  std::map<Bound, double> bounds;
  std::map<CostSource, double> sources;
  std::map<std::pair<DType, bool>, double> dtypes;
  for (const RoofPoint* point : points) {
    sum.ops += point->ops;
    sum.flops += point->flops;
    sum.bytes += point->bytes;
    sum.time_s += point->time_s;
    sum.bound_s += point->bound_s;
    sum.compute_s += point->compute_s;
    sum.memory_s += point->memory_s;
    sum.launch_s += point->launch_s;
    sum.conversion_s += point->conversion_s;
    bounds[point->bound] += point->time_s;
    sources[point->source] += point->time_s;
    dtypes[{point->dtype, point->matrix}] += point->flops;
  }
  const auto most = [](const auto& shares) {
    return std::max_element(shares.begin(), shares.end(),
                            [](const auto& a, const auto& b) { return a.second < b.second; })
        ->first;
  };
  if (!points.empty()) {
    sum.op_class = points.front()->op_class;
    sum.bound = most(bounds);
    sum.source = most(sources);
    std::tie(sum.dtype, sum.matrix) = most(dtypes);
  }
  sum.roof_flops_per_s = sum.bound_s > 0 ? sum.flops / sum.bound_s : 0;
  sum.share = total_s > 0 ? sum.time_s / total_s : 0;
  return sum;
}

void sort_by_time(std::vector<RoofPoint>* points) {
  std::stable_sort(points->begin(), points->end(),
                   [](const RoofPoint& a, const RoofPoint& b) { return a.time_s > b.time_s; });
}

void add_roofs(const DeviceSpec& device, RooflineReport* roofline) {
  std::map<std::pair<DType, bool>, double> roofs;
  for (const RoofPoint& op : roofline->ops) {
    if (op.flops > 0) {
      roofs[{op.dtype, op.matrix}] = device.peak_flops_per_s(op.dtype, op.matrix);
    }
  }
  for (const auto& [kind, peak] : roofs) {
    if (peak > 0) {
      roofline->roofs.push_back({kind.first, kind.second, peak});
    }
  }
  std::stable_sort(
      roofline->roofs.begin(), roofline->roofs.end(),
      [](const ComputeRoof& a, const ComputeRoof& b) { return a.flops_per_s > b.flops_per_s; });
}

void add_classes(RooflineReport* roofline, double total_s) {
  std::map<OpClass, std::vector<const RoofPoint*>> classes;
  std::vector<const RoofPoint*> all;
  for (const RoofPoint& op : roofline->ops) {
    classes[op.op_class].push_back(&op);
    all.push_back(&op);
  }
  for (const auto& [op_class, points] : classes) {
    roofline->classes.push_back(sum_of(std::string(op_class_name(op_class)), points, total_s));
  }
  sort_by_time(&roofline->classes);
  roofline->network = sum_of("network", all, total_s);
  for (const RoofPoint& op : roofline->ops) {
    const bool is_bound = op.source == CostSource::kBoundOnly && !roofline->measured;
    roofline->bound_only_share += is_bound && total_s > 0 ? op.time_s / total_s : 0;
  }
}

}  // namespace

std::string_view peak_origin_name(PeakOrigin origin) {
  constexpr std::array<std::string_view, 3> kNames = {"measured", "data sheet", "hardware file"};
  return kNames[static_cast<size_t>(origin)];
}

double least_memory_seconds(const DeviceRoofs& roofs, double bytes) {
  const double memory = roofs.device.memory_bytes_per_s;
  if (!roofs.of_all_levels) {
    return memory > 0 ? bytes / memory : 0;
  }
  // An operator's data may be where the operator before left them. The levels
  // behind a cache need not move the bytes that it can hold.
  double least = 0;
  double held = 0;
  for (const MemoryLevel& cache : roofs.caches) {
    least = std::max(least, std::max(0.0, bytes - held) / cache.bytes_per_s);
    held = std::max(held, static_cast<double>(cache.bytes));
  }
  return memory > 0 ? std::max(least, std::max(0.0, bytes - held) / memory) : least;
}

RoofPoint roof_point(const DeviceRoofs& roofs, const OpDescriptor& op, double time_s) {
  RoofPoint point;
  point.op_type = op.op_type;
  point.op_class = op.op_class;
  point.dtype = op.work.dtype;
  point.matrix = op.work.matrix;
  point.flops = static_cast<double>(op.work.flops);
  point.bytes = static_cast<double>(op.work.bytes());
  point.time_s = time_s;
  place_under_roofs(roofs, &point);
  return point;
}

void place_under_roofs(const DeviceRoofs& roofs, RoofPoint* point) {
  const DeviceSpec& device = roofs.device;
  const double peak = device.peak_flops_per_s(point->dtype, point->matrix);
  point->compute_s = peak > 0 ? point->flops / peak : 0;
  point->memory_s = least_memory_seconds(roofs, point->bytes);
  point->launch_s = seconds(device.launch_overhead_ns);
  point->bound_s = std::max(point->compute_s, point->memory_s);
  point->roof_flops_per_s = point->bound_s > 0 ? point->flops / point->bound_s : peak;
  point->bound = point->launch_s > point->bound_s     ? Bound::kLaunch
                 : point->compute_s > point->memory_s ? Bound::kCompute
                 : point->memory_s > 0                ? Bound::kMemory
                                                      : Bound::kNone;
}

PeakOrigin peak_origin_of(const std::string& source) {
  const std::string lower = to_lower(source);
  const auto has = [&lower](std::string_view part) {
    return lower.find(part) != std::string::npos;
  };
  if (has("data sheet") || has("datasheet") || has("white paper")) {
    return PeakOrigin::kDataSheet;
  }
  return has("probe") || has("measured") ? PeakOrigin::kMeasured : PeakOrigin::kOther;
}

bool has_measured_peaks(const DeviceSpec& device) {
  return peak_origin_of(citation_of(device, "vector_tflops")) == PeakOrigin::kMeasured;
}

void finish_roofline(const DeviceRoofs& roofs, RooflineReport* roofline) {
  const DeviceSpec& device = roofs.device;
  roofline->bare_roofs = roofs.of_all_levels;
  roofline->caches = roofs.caches;
  roofline->device = device.name;
  roofline->device_model = device.model;
  roofline->bytes_per_s = device.memory_bytes_per_s;
  roofline->peaks_source =
      roofs.of_all_levels ? roofs.source : citation_of(device, "vector_tflops");
  roofline->peaks = peak_origin_of(roofline->peaks_source);
  roofline->bandwidth =
      peak_origin_of(roofs.of_all_levels ? roofs.source : citation_of(device, "memory_bandwidth"));
  double total_s = 0;
  for (const RoofPoint& op : roofline->ops) {
    total_s += op.time_s;
  }
  for (RoofPoint& op : roofline->ops) {
    op.share = total_s > 0 ? op.time_s / total_s : 0;
    op.conversion_s = is_conversion(op) ? op.time_s : 0;
    if (op.efficiency() > kAboveSlack) {
      const double each = op.bytes / static_cast<double>(std::max<int64_t>(op.ops, 1));
      roofline->above.ops += op.ops;
      roofline->above.share += op.share;
      roofline->above.in_cache +=
          !roofs.of_all_levels && each <= static_cast<double>(device.l2_bytes) ? op.ops : 0;
    }
  }
  add_roofs(device, roofline);
  add_classes(roofline, total_s);
  sort_by_time(&roofline->ops);
}

StatusOr<RooflineReport> make_roofline(const RooflineInput& input) {
  RooflineReport roofline;
  const DeviceSpec& device = input.platform.device(input.device);
  roofline.model = input.model_name;
  roofline.hardware = input.platform.name;
  roofline.cost_model = input.cost_model;
  roofline.batch = input.batch;
  for (size_t t = 0; t < input.workload.graph.task_count(); ++t) {
    const TaskId task(t);
    if (!input.costs.feasible(input.workload.graph.cost_row(task), input.device)) {
      return invalid_input(fmt::format(
          "{}: '{}' cannot run on {}; name another device", input.model_name,
          printable(input.executed.op(input.workload.graph.op(task)).name), device.name));
    }
    roofline.ops.push_back(point_of(input, task));
  }
  finish_roofline(input.roofs, &roofline);
  return roofline;
}

}  // namespace dfsim::inline study
