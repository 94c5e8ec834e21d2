#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "base/text.h"
#include "base/text_table.h"
#include "report/predictions/prediction_views.h"
#include "report/recordings/advice_views.h"
#include "report/text_parts.h"

namespace dfsim::inline report {
namespace {

constexpr size_t kMaxListedUnresolved = 10;

// "Label        value" lines of one block.
std::string prediction_field(std::string_view label, const std::string& value) {
  return fmt::format("  {:<15}{}\n", label, value);
}

std::string dims_text(const Prediction& prediction) {
  std::vector<std::string> parts;
  for (const BoundDim& dim : prediction.dims) {
    const std::string origin = dim.origin == "given" ? "" : fmt::format(" ({})", dim.origin);
    parts.push_back(fmt::format("{}={}{}", printable(dim.name, 40), dim.extent, origin));
  }
  return parts.empty() ? fmt::format("batch {}", prediction.batch) : join(parts, ", ");
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

std::string shares_text(std::string_view title, const std::vector<Share>& shares) {
  TextTable table({{std::string(title)},
                   {"ops", Align::kRight},
                   {"time", Align::kRight},
                   {"share", Align::kRight}});
  for (const Share& share : shares) {
    table.add_row({share.name, std::to_string(share.ops), format_time(share.time_ns),
                   percent_text(share.fraction)});
  }
  return table.render(100, 2);
}

std::string bound_text(Bound bound) {
  return bound == Bound::kNone ? "-" : std::string(bound_name(bound));
}

// "conv1/Conv + BatchNormalization + Relu": an operator's name, and what was fused into it.
std::string name_text(const PredictedOp& op) {
  constexpr size_t kMostListed = 4;
  std::string text = printable(op.name, 60);
  for (size_t i = 1; i < std::min(kMostListed, op.origins.size()); ++i) {
    text += " + " + printable(op.origins[i].op_type, 30);
  }
  return op.origins.size() > kMostListed
             ? text + fmt::format(" + {} more", op.origins.size() - kMostListed)
             : text;
}

void add_op_row(const PredictedOp& op, const std::string& first, TextTable* table) {
  const double seconds = static_cast<double>(op.duration_ns) * 1e-9;
  const double rate = seconds > 0 ? static_cast<double>(op.flops) / seconds : 0;
  table->add_row({first, name_text(op), printable(op.op_type, 30), op.shape,
                  format_time(op.duration_ns), format_count(rate), bound_text(op.bound),
                  std::string(source_name(op))});
}

TextTable ops_table(std::string first) {
  return TextTable({{std::move(first), Align::kRight},
                    {"op"},
                    {"type"},
                    {"output"},
                    {"time", Align::kRight},
                    {"FLOP/s", Align::kRight},
                    {"bound"},
                    {"source"}});
}

std::string top_ops_text(const Prediction& prediction, size_t count, size_t width) {
  std::vector<const PredictedOp*> slowest;
  TimeNs total = 0;
  for (const PredictedOp& op : prediction.ops) {
    slowest.push_back(&op);
    total += op.duration_ns;
  }
  std::stable_sort(slowest.begin(), slowest.end(), [](const PredictedOp* a, const PredictedOp* b) {
    return a->duration_ns > b->duration_ns;
  });
  slowest.resize(std::min(count, slowest.size()));
  TextTable table = ops_table("share");
  for (const PredictedOp* op : slowest) {
    const double fraction =
        total > 0 ? static_cast<double>(op->duration_ns) / static_cast<double>(total) : 0;
    add_op_row(*op, percent_text(fraction), &table);
  }
  return table.render(width, 2);
}

std::string unresolved_text(const Prediction& prediction) {
  const size_t count = prediction.unresolved.size();
  std::string text = fmt::format("\n  {} operator{} of the file could not be resolved:\n", count,
                                 count == 1 ? "" : "s");
  for (size_t i = 0; i < std::min(kMaxListedUnresolved, prediction.unresolved.size()); ++i) {
    const UnresolvedOpInfo& op = prediction.unresolved[i];
    text += fmt::format("    {} '{}': {}\n", printable(op.op_type, 40), printable(op.name, 60),
                        op.reason);
  }
  if (prediction.unresolved.size() > kMaxListedUnresolved) {
    text += fmt::format("    and {} more (dfsim inspect --unresolved lists all)\n",
                        prediction.unresolved.size() - kMaxListedUnresolved);
  }
  return text;
}

// Why the latency is what it is, in one line: the device or the host.
std::string limit_text(const Prediction& prediction) {
  if (prediction.latency_ns <= 0) {
    return "nothing to run";
  }
  const auto latency = static_cast<double>(prediction.latency_ns);
  const double busy = static_cast<double>(prediction.device_busy_ns) / latency;
  const double host = static_cast<double>(prediction.host_busy_ns) / latency;
  const std::string facts =
      fmt::format("(device busy {}, host {})", percent_text(busy), percent_text(host));
  if (busy >= host) {
    return "the device " + facts;
  }
  const bool gpu = prediction.device_type == DeviceType::kGpu;
  return "the host " + facts + "; try larger batches" + (gpu ? " or CUDA graphs" : "");
}

// How much of the work is one chain: what more queues or devices could save at most.
std::string critical_text(const Prediction& prediction) {
  const auto on_path = std::count_if(prediction.ops.begin(), prediction.ops.end(),
                                     [](const PredictedOp& op) { return op.critical; });
  const double share = prediction.device_busy_ns > 0
                           ? static_cast<double>(prediction.critical_path_ns) /
                                 static_cast<double>(prediction.device_busy_ns)
                           : 0;
  return fmt::format("{} in {} of {} operators, {} of the device time",
                     format_time(prediction.critical_path_ns), on_path, prediction.ops.size(),
                     percent_text(share));
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
  const std::string asked =
      prediction.precision.empty() ? "as in the file" : printable(prediction.precision, 60);
  return fmt::format("{}: {} of the operators' time", asked, join(parts, ", "));
}

// The latency, how far it may be off, and how much of it is an estimate at all.
std::string headline(const Prediction& prediction) {
  const double share = prediction.bound_only_share;
  std::string latency =
      fmt::format("{}{}   {}{} samples/s at batch {}", least_prefix(prediction.unknown, share),
                  format_time(prediction.latency_ns), most_prefix(prediction.unknown, share),
                  format_count(prediction.throughput_per_s), prediction.batch);
  if (share > kMuchBoundOnly) {
    latency += fmt::format("; {} of the time is bound-only", percent_text(share));
  }
  const std::string low = format_time(prediction.interval.low_ns);
  return prediction_field("latency", latency) +
         prediction_field(
             "80 % interval",
             prediction.unknown.complete()
                 ? fmt::format("{} to {}", low, format_time(prediction.interval.high_ns))
                 : fmt::format("{} or more", low));
}

// What does not fit, as the first line, and at the end what would.
std::string oversubscribed_line(const Prediction& prediction) {
  return prediction.fits() ? ""
                           : fmt::format("DOES NOT FIT: {} are needed, the device has {}\n",
                                         format_bytes(prediction.peak_memory_bytes),
                                         format_bytes(prediction.memory_bytes));
}

std::string remedies_text(const Prediction& prediction) {
  if (prediction.fits()) {
    return "";
  }
  if (prediction.remedies.empty()) {
    return "\n  no smaller batch, other precision, recomputation, split over a built-in node or "
           "bigger built-in device makes it fit\n";
  }
  TextTable table({{"would fit"}, {"latency", Align::kRight}, {"memory", Align::kRight}});
  for (const Prediction::Remedy& remedy : prediction.remedies) {
    table.add_row({remedy.action,
                   std::string(least_prefix(prediction.unknown, remedy.bound_only_share)) +
                       format_time(remedy.latency_ns),
                   fmt::format("{} of {}", format_bytes(remedy.peak_memory_bytes),
                               format_bytes(remedy.memory_bytes))});
  }
  return '\n' + table.render(kTextColumns, 2);
}

}  // namespace

std::string summary_text(const Prediction& prediction, size_t top_ops, size_t width) {
  std::string text = incomplete_line(prediction.unknown) + oversubscribed_line(prediction);
  text += fmt::format("{} on {} ({})\n\n", prediction.model, prediction.hardware,
                      prediction.device_model);
  text += headline(prediction);
  const std::string_view at_least = prediction.unknown.complete() ? "" : "at least ";
  text += prediction_field("limited by", limit_text(prediction));
  text += prediction_field("critical path", critical_text(prediction));
  text += prediction_field(
      "runtime", fmt::format("{}; operator times: {}", prediction.runtime, prediction.cost_model));
  if (!prediction.precisions.empty()) {
    text += prediction_field("precision", precision_text(prediction));
  }
  text += prediction_field("dimensions", dims_text(prediction));
  text += prediction_field("work",
                           fmt::format("{}{}, {}, {} parameters", at_least,
                                       format_count(static_cast<double>(prediction.macs), "MACs"),
                                       format_count(static_cast<double>(prediction.flops), "FLOPs"),
                                       format_count(static_cast<double>(prediction.parameters))));
  if (prediction.flops > 0 && prediction.peak_flops_per_s > 0 && prediction.unknown.complete()) {
    text += prediction_field(
        "rate",
        fmt::format("{}, {} of the {} peak of {}",
                    format_count(prediction.achieved_flops_per_s, "FLOP/s"),
                    percent_text(prediction.achieved_flops_per_s / prediction.peak_flops_per_s),
                    dtype_name(prediction.main_dtype),
                    format_count(prediction.peak_flops_per_s, "FLOP/s")));
  }
  text += prediction_field("memory", std::string(at_least) + memory_text(prediction));
  if (prediction.request_options.has_value()) {
    text += prediction_field("requests", requests_text(prediction));
  }
  if (prediction.repetition.has_value()) {
    const RepeatResult& runs = *prediction.repetition;
    text += prediction_field(
        "with noise",
        fmt::format("{} runs: {}mean {}, p10 {}, p50 {}, p90 {}", runs.makespans_ns.size(),
                    at_least, format_time(static_cast<TimeNs>(runs.mean_ns + 0.5)),
                    format_time(runs.p10_ns), format_time(runs.p50_ns), format_time(runs.p90_ns)));
  }
  if (!prediction.copies.empty()) {
    text += prediction_field("copies", copies_text(prediction));
  }
  text += prediction_field(
      "graph", fmt::format("{} nodes in the file; {} executed, {} views, {} folded ahead",
                           prediction.file_nodes, prediction.ops.size(), prediction.view_ops,
                           prediction.folded_ops) +
                   fused_text(prediction));
  text += '\n' + shares_text("class", prediction.classes);
  text += '\n' + shares_text("bound by", prediction.bounds);
  text += '\n' + shares_text("cost source", prediction.sources);
  if (top_ops > 0) {
    text += '\n' + top_ops_text(prediction, top_ops, width);
  }
  text += remedies_text(prediction);
  text += advice_text(prediction.advice, 17);
  for (const std::string& note : prediction.notes) {
    text += fmt::format("\n  note: {}\n", note);
  }
  if (!prediction.unresolved.empty()) {
    text += unresolved_text(prediction);
  }
  return text;
}

std::string ops_text(const Prediction& prediction, size_t width) {
  TextTable table = ops_table("start");
  auto copy = prediction.copies.begin();
  const auto add_copies_until = [&](TimeNs time_ns) {
    for (; copy != prediction.copies.end() && copy->start_ns <= time_ns; ++copy) {
      table.add_row({format_time(copy->start_ns),
                     fmt::format("{} to {}", printable(copy->name, 50), printable(copy->to, 20)),
                     "Copy", format_bytes(copy->bytes), format_time(copy->duration_ns), "-", "link",
                     "hardware"});
    }
  };
  for (const PredictedOp& op : prediction.ops) {
    add_copies_until(op.start_ns);
    add_op_row(op, format_time(op.start_ns), &table);
  }
  add_copies_until(std::numeric_limits<TimeNs>::max());
  return table.render(width);
}

}  // namespace dfsim::inline report
