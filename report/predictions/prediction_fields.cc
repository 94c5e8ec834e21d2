// The lines of details, and the tables that text and Markdown share.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "report/predictions/op_tree/op_tree.h"
#include "report/predictions/prediction_parts.h"
#include "report/text_parts.h"

namespace dfsim::inline report {
namespace {

using Fields = std::vector<std::pair<std::string, std::string>>;

std::string dims_text(const Prediction& prediction) {
  std::vector<std::string> parts;
  for (const BoundDim& dim : prediction.dims) {
    const std::string origin = dim.origin == "given" ? "" : fmt::format(" ({})", dim.origin);
    parts.push_back(fmt::format("{}={}{}", printable(dim.name, 40), dim.extent, origin));
  }
  return parts.empty() ? fmt::format("batch {}", prediction.batch) : join(parts, ", ");
}

std::string open_dims_text(const Prediction& prediction) {
  std::vector<std::string> names;
  for (const std::string& name : prediction.open_dims) {
    names.push_back(printable(name, 40));
  }
  return join(names, ", ") + "; --static says that they are frozen";
}

std::string memory_text(const Prediction& prediction) {
  std::string total = format_bytes(prediction.peak_memory_bytes);
  if (prediction.memory_bytes > 0 && prediction.peak_memory_bytes > prediction.memory_bytes) {
    total += fmt::format(" (MORE than its {})", format_bytes(prediction.memory_bytes));
  } else if (prediction.memory_bytes > 0) {
    total += fmt::format(" ({} of {})",
                         percent_text(static_cast<double>(prediction.peak_memory_bytes) /
                                      static_cast<double>(prediction.memory_bytes)),
                         format_bytes(prediction.memory_bytes));
  }
  return fmt::format("{} = {} weights + {} inputs + {} activations", total,
                     format_bytes(prediction.weight_bytes), format_bytes(prediction.input_bytes),
                     format_bytes(prediction.peak_activation_bytes));
}

// How much of the work is one chain: what more queues or devices could save at most.
std::string critical_text(const Prediction& prediction) {
  const auto on_path = std::count_if(prediction.ops.begin(), prediction.ops.end(),
                                     [](const PredictedOp& op) { return op.critical; });
  const double share = prediction.device_busy_ns > 0
                           ? static_cast<double>(prediction.critical_path_ns) /
                                 static_cast<double>(prediction.device_busy_ns)
                           : 0;
  return fmt::format("{} in {} of {}, {} of the device time",
                     format_time(prediction.critical_path_ns), on_path,
                     counted(prediction.ops.size(), "operator"), percent_text(share));
}

// "2 host to device (606 kB), 1 device to host (4.00 kB); 90.0 us in all"
std::string copies_text(const Prediction& prediction) {
  std::map<CopyKind, std::pair<size_t, Bytes>> kinds;
  TimeNs time_ns = 0;
  for (const PredictedCopy& copy : prediction.copies) {
    auto& [count, bytes] = kinds[copy.kind];
    ++count;
    bytes += copy.bytes;
    time_ns += copy.duration_ns;
  }
  std::vector<std::string> parts;
  for (const auto& [kind, sum] : kinds) {
    parts.push_back(
        fmt::format("{} {} ({})", sum.first, copy_kind_name(kind), format_bytes(sum.second)));
  }
  return fmt::format("{}; {} in all", join(parts, ", "), format_time(time_ns));
}

std::string requests_text(const Prediction& prediction) {
  const RequestOptions& options = *prediction.request_options;
  const RequestResult& result = prediction.requests;
  const std::string arrivals =
      options.arrivals == ArrivalKind::kClosedLoop
          ? fmt::format("{} in flight", options.in_flight)
          : fmt::format("{} arrivals, {}/s", arrival_kind_name(options.arrivals),
                        format_count(options.requests_per_s));
  return fmt::format("{}, {}: {}{}runs/s; latency {}p50 {}, p90 {}, p99 {}", options.requests,
                     arrivals, most_prefix(prediction.unknown, prediction.bound_only_share),
                     format_count(result.throughput_per_s),
                     least_prefix(prediction.unknown, prediction.bound_only_share),
                     format_time(result.p50_ns), format_time(result.p90_ns),
                     format_time(result.p99_ns));
}

// Shows how the runtime's passes changed the count of operators.
std::string fused_text(const Prediction& prediction) {
  if (prediction.fused_ops == 0) {
    return "";
  }
  return prediction.fused_ops > 0 ? fmt::format(", {} fused", prediction.fused_ops)
                                  : fmt::format(", {} added", -prediction.fused_ops);
}

// "mixed-fp16: float16 62.1 %, float32 37.9 % of the operators' time"
std::string precision_text(const Prediction& prediction) {
  std::vector<std::string> parts;
  for (const Share& share : prediction.precisions) {
    parts.push_back(fmt::format("{} {}", share.name, percent_text(share.fraction)));
  }
  const std::string own =
      prediction.published_weights.empty()
          ? "as in the file"
          : fmt::format("as in the file ({} weights)", prediction.published_weights);
  const std::string asked =
      prediction.precision.empty() ? own : printable(prediction.precision, 60);
  return fmt::format("{}: {} of the operators' time", asked, join(parts, ", "));
}

std::string latency_text(const Prediction& prediction) {
  const double share = prediction.bound_only_share;
  std::string latency =
      fmt::format("{}{}   {}{} samples/s at batch {}", least_prefix(prediction.unknown, share),
                  format_time(prediction.latency_ns), most_prefix(prediction.unknown, share),
                  format_count(prediction.throughput_per_s), prediction.batch);
  if (share > kMuchBoundOnly) {
    latency += fmt::format("; {} of the time is bound-only", percent_text(share));
  }
  if (prediction.largest_share > kMuchOfLargest) {
    latency += fmt::format("; {} of it for the largest sizes that data allow",
                           percent_text(prediction.largest_share));
  }
  return latency;
}

std::string interval_text(const Prediction& prediction) {
  const std::string low = format_time(prediction.interval.low_ns);
  return prediction.unknown.complete()
             ? fmt::format("{} to {}", low, format_time(prediction.interval.high_ns))
             : fmt::format("{} or more", low);
}

std::string busy_text(const Prediction& prediction) {
  const Verdict& verdict = prediction.verdict;
  return fmt::format("{} (device busy {}, host {})",
                     verdict.limit == Limit::kNothing || verdict.limit == Limit::kTransfers
                         ? std::string(limit_name(verdict.limit))
                         : fmt::format("the {}", limit_name(verdict.limit)),
                     percent_text(verdict.device_share), percent_text(verdict.host_share));
}

void add_modes_fields(const Prediction& prediction, std::string_view at_least, Fields* fields) {
  if (prediction.request_options.has_value()) {
    fields->emplace_back("requests", requests_text(prediction));
  }
  if (prediction.repetition.has_value()) {
    const RepeatResult& runs = *prediction.repetition;
    fields->emplace_back(
        "with noise",
        fmt::format("{}: {}mean {}, p10 {}, p50 {}, p90 {}",
                    counted(runs.makespans_ns.size(), "run"), at_least,
                    format_time(static_cast<TimeNs>(runs.mean_ns + 0.5)), format_time(runs.p10_ns),
                    format_time(runs.p50_ns), format_time(runs.p90_ns)));
  }
  if (!prediction.copies.empty()) {
    fields->emplace_back("copies", copies_text(prediction));
  }
}

}  // namespace

std::vector<std::pair<std::string, std::string>> prediction_fields(const Prediction& prediction) {
  const std::string_view at_least = prediction.unknown.complete() ? "" : "at least ";
  Fields fields = {{"device", prediction.device_model},
                   {"latency", latency_text(prediction)},
                   {"80 % interval", interval_text(prediction)},
                   {"limited by", busy_text(prediction)},
                   {"critical path", critical_text(prediction)},
                   {"runtime", fmt::format("{}; operator times: {}", prediction.runtime,
                                           prediction.cost_model)}};
  if (!prediction.precisions.empty()) {
    fields.emplace_back("precision", precision_text(prediction));
  }
  fields.emplace_back("dimensions", dims_text(prediction));
  if (!prediction.open_dims.empty()) {
    fields.emplace_back("open in file", open_dims_text(prediction));
  }
  fields.emplace_back("work",
                      fmt::format("{}{}, {}, {} parameters", at_least,
                                  format_count(static_cast<double>(prediction.macs), "MACs"),
                                  format_count(static_cast<double>(prediction.flops), "FLOPs"),
                                  format_count(static_cast<double>(prediction.parameters))));
  if (prediction.flops > 0 && prediction.peak_flops_per_s > 0 && prediction.unknown.complete()) {
    fields.emplace_back("rate", fmt::format("{}, {} of the {} peak of {}",
                                            format_count(prediction.achieved_flops_per_s, "FLOP/s"),
                                            percent_text(prediction.achieved_flops_per_s /
                                                         prediction.peak_flops_per_s),
                                            dtype_name(prediction.main_dtype),
                                            format_count(prediction.peak_flops_per_s, "FLOP/s")));
  }
  fields.emplace_back("memory", std::string(at_least) + memory_text(prediction));
  add_modes_fields(prediction, at_least, &fields);
  fields.emplace_back("graph",
                      fmt::format("{} in the file; {} executed, {}, {} folded ahead{}",
                                  counted(prediction.file_nodes, "node"), prediction.ops.size(),
                                  counted(prediction.view_ops, "view"), prediction.folded_ops,
                                  fused_text(prediction)));
  return fields;
}

std::string prediction_warnings(const Prediction& prediction) {
  std::string text = incomplete_line(prediction.unknown);
  if (!prediction.fits()) {
    text += fmt::format("DOES NOT FIT: needs {}, the device has {}\n",
                        format_bytes(prediction.peak_memory_bytes),
                        format_bytes(prediction.memory_bytes));
  }
  return text;
}

TextTable shares_table(const std::string& title, const std::vector<Share>& shares) {
  TextTable table(
      {{title}, {"ops", Align::kRight}, {"time", Align::kRight}, {"share", Align::kRight}});
  for (const Share& share : shares) {
    table.add_row({share.name, std::to_string(share.ops), format_time(share.time_ns),
                   percent_text(share.fraction)});
  }
  return table;
}

TextTable time_table(const Prediction& prediction, size_t count, bool tree) {
  TimeNs total = 0;
  for (const PredictedOp& op : prediction.ops) {
    total += op.duration_ns;
  }
  // One source of all times is in the table of sources; a column would only repeat it.
  const bool many_sources = prediction.sources.size() > 1;
  TextTable table({{"time", Align::kRight},
                   {"share", Align::kRight},
                   {"operator", Align::kLeft, true},
                   {"output", Align::kRight, false, true},
                   {"FLOP/s", Align::kRight},
                   {"bound"},
                   {"source", Align::kRight, false, true}});
  for (const OpTreeRow& row : op_tree(prediction.ops, count, tree)) {
    const double share =
        total > 0 ? static_cast<double>(row.time_ns) / static_cast<double>(total) : 0;
    std::vector<std::string> cells = {format_time(row.time_ns), percent_text(share),
                                      std::string(2 * row.depth, ' ') + row.label};
    if (row.op == nullptr) {
      cells.insert(cells.end(), 4, "");
    } else {
      const double seconds = static_cast<double>(row.op->duration_ns) * 1e-9;
      const double rate = seconds > 0 ? static_cast<double>(row.op->flops) / seconds : 0;
      cells.insert(cells.end(), {row.op->shape, format_count(rate), bound_text(row.op->bound),
                                 many_sources ? std::string(source_name(*row.op)) : ""});
    }
    table.add_row(std::move(cells));
  }
  table.drop_empty_columns();
  return table;
}

TextTable remedies_table(const Prediction& prediction) {
  TextTable table(
      {{"would fit", Align::kLeft, true}, {"latency", Align::kRight}, {"memory", Align::kRight}});
  for (const Prediction::Remedy& remedy : prediction.remedies) {
    table.add_row({remedy.action,
                   std::string(least_prefix(prediction.unknown, remedy.bound_only_share)) +
                       format_time(remedy.latency_ns),
                   fmt::format("{} of {}", format_bytes(remedy.peak_memory_bytes),
                               format_bytes(remedy.memory_bytes))});
  }
  return table;
}

std::string bound_text(Bound bound) {
  return bound == Bound::kNone ? "-" : std::string(bound_name(bound));
}

}  // namespace dfsim::inline report
