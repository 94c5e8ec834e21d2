// Text of an analysis, one function per table, in the order in which a reader needs them.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/text.h"
#include "base/text_table.h"
#include "report/recordings/advice_views.h"
#include "report/recordings/analysis_views.h"
#include "report/recordings/trace_labels.h"
#include "report/text_parts.h"

namespace dfsim::inline report {
namespace {

constexpr double kMuch = 1e15;  // us; beyond that a trace's times are nonsense

std::string analysis_time(double us) {
  return us < kMuch ? format_time(ns_from_seconds(std::max(us, 0.0) / 1e6)) : "?";
}

double share(double part, double whole) { return whole > 0 ? part / whole : 0; }

std::string analysis_field(std::string_view label, const std::string& value) {
  return fmt::format("  {:<14}{}\n", label, value);
}

std::string breakdown_text(const TraceAnalysis& analysis) {
  const Breakdown& b = analysis.breakdown;
  TextTable table({{analysis.on_device ? "Device time" : "Host time (no device work)"},
                   {"time", Align::kRight},
                   {"share", Align::kRight}});
  const auto row = [&](std::string_view name, double us) {
    table.add_row({std::string(name), analysis_time(us), percent_text(share(us, b.total_us))});
  };
  row("computation", b.computation_us);
  row("exposed communication", b.exposed_communication_us);
  row("exposed copies", b.exposed_copy_us);
  row("idle", b.idle_us);
  row("total", b.total_us);
  std::string text = table.render(kTextColumns, 2);
  if (b.communication_us > 0) {
    text += analysis_field(
        "communication", fmt::format("{}, {} of it hidden behind computation",
                                     analysis_time(b.communication_us), percent_text(b.overlap())));
  }
  if (analysis.recompute.items > 0) {
    const RecomputeSplit& split = analysis.recompute;
    text += analysis_field(
        "recomputation",
        fmt::format("{} of computation and {} of copies are done again ({})",
                    analysis_time(split.again.computation_us), analysis_time(split.again.copy_us),
                    counted(split.items, "piece")));
  }
  if (analysis.unlinked_work > 0) {
    text += analysis_field("left out", fmt::format("{} of work of no recorded operator",
                                                   counted(analysis.unlinked_work, "piece")));
  }
  return text;
}

std::string queues_text(const TraceAnalysis& analysis) {
  if (analysis.queues.empty()) {
    return "";
  }
  TextTable table({{"Queue"},
                   {"items", Align::kRight},
                   {"busy", Align::kRight},
                   {"idle: host", Align::kRight},
                   {"kernel gap", Align::kRight},
                   {"other", Align::kRight},
                   {"length", Align::kRight}});
  for (const QueueUse& use : analysis.queues) {
    table.add_row({printable(use.device + " " + use.name, 30), std::to_string(use.items),
                   analysis_time(use.busy_us), analysis_time(use.idle_us[0]),
                   analysis_time(use.idle_us[1]), analysis_time(use.idle_us[2]),
                   fmt::format("{:.1f} (max {})", use.mean_length, use.max_length)});
  }
  return fmt::format("\n{}", table.render(kTextColumns, 2));
}

std::string launches_text(const TraceAnalysis& analysis) {
  const LaunchStats& stats = analysis.launches;
  if (stats.call.count == 0) {
    return "";
  }
  std::string text(1, '\n');
  return text +
         analysis_field("launches",
                        fmt::format("{}; the call takes {} (median), work begins {} later",
                                    stats.call.count, analysis_time(stats.call.median_us),
                                    analysis_time(stats.delay.median_us))) +
         analysis_field("small kernels",
                        fmt::format("{} of {} take less time than their own launch",
                                    stats.shorter_than_call, stats.call.count));
}

std::string ops_text(std::string_view title, const std::vector<OpRow>& rows, size_t top) {
  if (rows.empty() || top == 0) {
    return "";
  }
  TextTable table({{std::string(title), Align::kLeft, true},
                   {"calls", Align::kRight},
                   {"total", Align::kRight},
                   {"share", Align::kRight},
                   {"median", Align::kRight},
                   {"max", Align::kRight}});
  for (size_t i = 0; i < std::min(top, rows.size()); ++i) {
    const OpRow& row = rows[i];
    const std::string name =
        printable(row.name) + (row.detail.empty() ? "" : " " + shapes_label(row.detail));
    table.add_row({name, std::to_string(row.calls), analysis_time(row.time.total_us),
                   percent_text(row.share), analysis_time(row.time.median_us),
                   analysis_time(row.time.max_us)});
  }
  return fmt::format("\n{}", table.render(kTextColumns, 2));
}

std::string kernels_text(const TraceAnalysis& analysis, size_t top) {
  if (analysis.kernels.empty() || top == 0) {
    return "";
  }
  TextTable table({{"Kernel", Align::kLeft, true},
                   {"count", Align::kRight},
                   {"total", Align::kRight},
                   {"share", Align::kRight},
                   {"median", Align::kRight},
                   {"spread", Align::kRight}});
  for (size_t i = 0; i < std::min(top, analysis.kernels.size()); ++i) {
    const KernelRow& row = analysis.kernels[i];
    table.add_row({kernel_label(row.name), std::to_string(row.time.count),
                   analysis_time(row.time.total_us), percent_text(row.share),
                   analysis_time(row.time.median_us),
                   percent_text(share(row.time.deviation_us, row.time.mean_us()))});
  }
  return fmt::format("\n{}", table.render(kTextColumns, 2));
}

std::string copies_text(const TraceAnalysis& analysis) {
  if (analysis.copies.empty()) {
    return "";
  }
  TextTable table({{"Copies"},
                   {"size"},
                   {"count", Align::kRight},
                   {"bytes", Align::kRight},
                   {"time", Align::kRight},
                   {"rate", Align::kRight}});
  for (const CopyRow& row : analysis.copies) {
    table.add_row({std::string(copy_direction_name(row.direction)),
                   row.size_class.empty() ? "all" : row.size_class, std::to_string(row.time.count),
                   row.bytes > 0 ? format_bytes(row.bytes) : "?", analysis_time(row.time.total_us),
                   row.bytes_per_s > 0 ? format_count(row.bytes_per_s, "B/s") : "?"});
  }
  return fmt::format("\n{}", table.render(kTextColumns, 2));
}

std::string memory_text(const TraceAnalysis& analysis) {
  std::string text;
  for (const AllocatorUse& use : analysis.memory) {
    std::string where = use.device < 0 ? "host" : fmt::format("device {}", use.device);
    where += use.allocator.empty() ? "" : ", " + printable(use.allocator, 20);
    text += '\n';
    text += analysis_field(
        "memory", fmt::format("{}: peak {} at {} ({})", where, format_bytes(use.peak_bytes),
                              analysis_time(use.peak_us), counted(use.events, "event")));
    if (use.reserved_bytes > 0) {
      text += analysis_field(
          "",
          fmt::format("{} reserved then ({} unused), at most {}", format_bytes(use.reserved_bytes),
                      percent_text(use.fragmentation), format_bytes(use.max_reserved_bytes)));
    }
    if (use.wasted_bytes > 0 || use.free_chunks > 0) {
      text += analysis_field(
          "", fmt::format("{} of them are rounding{}",
                          format_bytes(std::max<Bytes>(0, use.wasted_bytes)),
                          use.free_chunks < 0 ? std::string()
                                              : fmt::format("; {} of {} free", use.free_chunks,
                                                            counted(use.chunks, "chunk"))));
    }
    constexpr size_t kShown = 5;
    for (size_t i = 0; i < std::min(kShown, use.at_peak.size()); ++i) {
      const LiveTensor& tensor = use.at_peak[i];
      text += analysis_field(
          "", fmt::format("{:>9}  {}", format_bytes(tensor.bytes),
                          tensor.allocated_by.empty() ? "(outside any operator)"
                                                      : printable(tensor.allocated_by)));
    }
  }
  return text;
}

std::string waits_text(const TraceAnalysis& analysis, size_t top) {
  if (analysis.waits.empty() || top == 0) {
    return "";
  }
  TextTable table({{"Waits"},
                   {"for"},
                   {"calls", Align::kRight},
                   {"total", Align::kRight},
                   {"max", Align::kRight}});
  for (size_t i = 0; i < std::min(top, analysis.waits.size()); ++i) {
    const WaitRow& row = analysis.waits[i];
    table.add_row({printable(row.name), row.kind, std::to_string(row.time.count),
                   analysis_time(row.time.total_us), analysis_time(row.time.max_us)});
  }
  return fmt::format("\n{}", table.render(kTextColumns, 2));
}

// "3.00 ms backup": a time and what most of it was for.
std::string paused_text(double us, const std::string& cause) {
  return us <= 0 ? "-" : fmt::format("{} {}", analysis_time(us), printable(cause, 20));
}

std::string host_states_text(const TraceAnalysis& analysis, size_t top) {
  if (analysis.host_states.empty() || top == 0) {
    return "";
  }
  TextTable table({{"On the host"},
                   {"calls", Align::kRight},
                   {"total", Align::kRight},
                   {"running", Align::kRight},
                   {"preempted by", Align::kRight},
                   {"blocked in", Align::kRight},
                   {"device", Align::kRight}});
  for (size_t i = 0; i < std::min(top, analysis.host_states.size()); ++i) {
    const HostStateRow& row = analysis.host_states[i];
    table.add_row({printable(row.name), std::to_string(row.calls), analysis_time(row.total_us),
                   analysis_time(std::max(0.0, row.total_us - row.preempted_us - row.blocked_us -
                                                   row.interrupted_us - row.device_us)),
                   paused_text(row.preempted_us, row.preempted_by),
                   paused_text(row.blocked_us, row.blocked_in),
                   row.device_us > 0 ? analysis_time(row.device_us) : "-"});
  }
  return fmt::format("\n{}", table.render(kTextColumns, 2));
}

std::string transfers_text(const TraceAnalysis& analysis, size_t top) {
  if (analysis.transfers.empty() || top == 0) {
    return "";
  }
  TextTable table({{"Between workers"},
                   {"count", Align::kRight},
                   {"bytes", Align::kRight},
                   {"time", Align::kRight},
                   {"median", Align::kRight},
                   {"waited before", Align::kRight}});
  for (size_t i = 0; i < std::min(top, analysis.transfers.size()); ++i) {
    const TransferRow& row = analysis.transfers[i];
    table.add_row({printable(row.key, 44), std::to_string(row.time.count),
                   row.bytes < 0 ? "?" : format_bytes(row.bytes), analysis_time(row.time.total_us),
                   analysis_time(row.time.median_us), analysis_time(row.waited_us)});
  }
  return fmt::format("\n{}", table.render(kTextColumns, 2));
}

std::string queue_lengths_text(const TraceAnalysis& analysis) {
  if (analysis.queue_lengths.empty()) {
    return "";
  }
  TextTable table({{"Queue of the runtime"},
                   {"samples", Align::kRight},
                   {"mean length", Align::kRight},
                   {"max", Align::kRight}});
  for (const QueueLengthRow& row : analysis.queue_lengths) {
    table.add_row({printable(row.queue, 40), std::to_string(row.samples),
                   fmt::format("{:.1f}", row.mean), fmt::format("{:.0f}", row.max)});
  }
  return fmt::format("\n{}", table.render(kTextColumns, 2));
}

std::string counters_text(const TraceAnalysis& analysis, size_t top) {
  if (analysis.counters.empty() || top == 0) {
    return "";
  }
  TextTable table({{"Counted"},
                   {"counter"},
                   {"calls", Align::kRight},
                   {"total", Align::kRight},
                   {"per call", Align::kRight}});
  for (size_t i = 0; i < std::min(top, analysis.counters.size()); ++i) {
    const CounterRow& row = analysis.counters[i];
    table.add_row({printable(row.name, 30), printable(row.counter, 30), std::to_string(row.spans),
                   format_count(row.total),
                   format_count(row.total / static_cast<double>(std::max<int64_t>(1, row.spans)))});
  }
  return fmt::format("\n{}", table.render(kTextColumns, 2));
}

std::string path_text(const TraceAnalysis& analysis, const Trace& trace, size_t top) {
  const TracePath& path = analysis.critical_path;
  if (path.spans.empty()) {
    return "";
  }
  std::vector<std::string> parts;
  for (int c = 0; c < kPathClassCount; ++c) {
    const double us = path.class_us[static_cast<size_t>(c)];
    if (us > 0) {
      parts.push_back(fmt::format("{} {}", path_class_name(static_cast<PathClass>(c)),
                                  percent_text(share(us, path.length_us))));
    }
  }
  std::string text(1, '\n');
  text += analysis_field("critical path",
                         fmt::format("{} over {}", analysis_time(path.length_us),
                                     counted(static_cast<int64_t>(path.spans.size()), "span")) +
                             (analysis.path_method == "hta" ? ", as HolisticTraceAnalysis" : ""));
  if (!parts.empty()) {
    text += analysis_field("", join(parts, ", "));
  }
  std::vector<size_t> order(path.spans.size());
  for (size_t i = 0; i < order.size(); ++i) {
    order[i] = i;
  }
  std::stable_sort(order.begin(), order.end(),
                   [&path](size_t a, size_t b) { return path.weight_us[a] > path.weight_us[b]; });
  constexpr size_t kShown = 5;
  for (size_t i = 0; i < std::min({kShown, order.size(), top}); ++i) {
    text += analysis_field(
        "", fmt::format("{:>9}  {}", analysis_time(path.weight_us[order[i]]),
                        printable(trace.text(trace.span(path.spans[order[i]]).name), 52)));
  }
  return text;
}

}  // namespace

std::string analysis_text(const TraceAnalysis& analysis, const Trace& trace, size_t top) {
  std::string text = fmt::format(
      "{}: {} trace, {}, {}\n",
      printable(std::filesystem::path(analysis.path).filename().string(), 60), analysis.format,
      counted(analysis.events, "event"), counted(analysis.spans, "span"));
  if (!analysis.device_name.empty()) {
    text += analysis_field("device", printable(analysis.device_name));
  }
  if (analysis.rank >= 0) {
    text += analysis_field("rank", std::to_string(analysis.rank));
  }
  text += analysis_field("recorded", analysis_time(analysis.end_us - analysis.start_us));
  if (!analysis.window.empty()) {
    text += analysis_field("window", printable(analysis.window) + " (s from the beginning)");
  }
  if (analysis.steps.count > 0) {
    text +=
        analysis_field("steps", fmt::format("{}; median {}, from {} to {}", analysis.steps.count,
                                            analysis_time(analysis.steps.median_us),
                                            analysis_time(analysis.steps.min_us),
                                            analysis_time(analysis.steps.max_us)));
  }
  for (const TraceWarning& warning : analysis.warnings) {
    const std::string said = printable(warning.text, 100);
    text += analysis_field("warning",
                           warning.of_file ? said : fmt::format("{} {}", warning.count, said));
  }
  text += '\n';
  text += breakdown_text(analysis);
  text += queues_text(analysis);
  text += launches_text(analysis);
  text += ops_text("Operator", analysis.ops, top);
  text += ops_text("Node or shapes", analysis.nodes, top);
  text += kernels_text(analysis, top);
  text += copies_text(analysis);
  text += waits_text(analysis, top);
  text += host_states_text(analysis, top);
  text += transfers_text(analysis, top);
  text += queue_lengths_text(analysis);
  text += counters_text(analysis, top);
  text += memory_text(analysis);
  text += path_text(analysis, trace, top);
  text += advice_text(analysis.advice, 16);
  return text;
}

std::string ranks_text(const std::vector<RankRow>& ranks) {
  if (ranks.empty()) {
    return "";
  }
  TextTable table({{"Rank"},
                   {"total", Align::kRight},
                   {"computation", Align::kRight},
                   {"exposed comm.", Align::kRight},
                   {"idle", Align::kRight},
                   {"over median", Align::kRight},
                   {"last", Align::kRight},
                   {"waited", Align::kRight}});
  for (const RankRow& row : ranks) {
    const std::string name = row.rank >= 0 ? std::to_string(row.rank)
                                           : std::filesystem::path(row.path).filename().string();
    table.add_row({printable(name, 24), analysis_time(row.breakdown.total_us),
                   analysis_time(row.breakdown.computation_us),
                   analysis_time(row.breakdown.exposed_communication_us),
                   analysis_time(row.breakdown.idle_us),
                   fmt::format("{:+.1f} %", row.over_median * 100),
                   row.collectives > 0 ? fmt::format("{}/{}", row.came_last, row.collectives) : "-",
                   row.collectives > 0 ? analysis_time(row.waited_us) : "-"});
  }
  return table.render(kTextColumns, 2);
}

}  // namespace dfsim::inline report
