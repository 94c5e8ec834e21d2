// JSON of an analysis; the timeline is written as columns of equal length, which are a fraction
// of a list of objects.
#include <algorithm>
#include <map>
#include <set>

#include "base/check.h"
#include "base/json/json_tree.h"
#include "report/recordings/advice_views.h"
#include "report/recordings/analysis_views.h"
#include "report/text_parts.h"

namespace dfsim::inline report {
namespace {

using Json = JsonTree;

Json spread_json(const Spread& spread) {
  return {{"count", spread.count},         {"total_us", spread.total_us},
          {"mean_us", spread.mean_us()},   {"min_us", spread.min_us},
          {"median_us", spread.median_us}, {"p95_us", spread.p95_us},
          {"max_us", spread.max_us},       {"deviation_us", spread.deviation_us}};
}

Json breakdown_json(const Breakdown& b) {
  return {{"computation_ms", ms_from_us(b.computation_us)},
          {"exposed_communication_ms", ms_from_us(b.exposed_communication_us)},
          {"exposed_copies_ms", ms_from_us(b.exposed_copy_us)},
          {"busy_ms", ms_from_us(b.busy_us())},
          {"idle_ms", ms_from_us(b.idle_us)},
          {"total_ms", ms_from_us(b.total_us)},
          {"communication_ms", ms_from_us(b.communication_us)},
          {"copies_ms", ms_from_us(b.copy_us)},
          {"overlap", b.overlap()}};
}

// null where nothing runs again.
Json recompute_json(const RecomputeSplit& split) {
  if (split.items == 0) {
    return nullptr;
  }
  return {{"items", split.items},
          {"again", breakdown_json(split.again)},
          {"first", breakdown_json(split.first)}};
}

Json ops_json(const std::vector<OpRow>& rows) {
  Json list = Json::array();
  for (const OpRow& row : rows) {
    Json json = {{"name", row.name}};
    if (!row.detail.empty()) {
      json["detail"] = row.detail;
    }
    json["calls"] = row.calls;
    json["share"] = row.share;
    json["host_us"] = row.host_us;
    json["time"] = spread_json(row.time);
    list.push_back(std::move(json));
  }
  return list;
}

Json queues_json(const TraceAnalysis& analysis) {
  Json list = Json::array();
  for (const QueueUse& use : analysis.queues) {
    Json idle = Json::object();
    for (int cause = 0; cause < kIdleCauseCount; ++cause) {
      idle[std::string(idle_cause_name(static_cast<IdleCause>(cause)))] =
          use.idle_us[static_cast<size_t>(cause)];
    }
    list.push_back({{"device", use.device},
                    {"name", use.name},
                    {"items", use.items},
                    {"busy_us", use.busy_us},
                    {"idle_us", std::move(idle)},
                    {"mean_length", use.mean_length},
                    {"max_length", use.max_length}});
  }
  return list;
}

Json memory_json(const TraceAnalysis& analysis) {
  Json list = Json::array();
  for (const AllocatorUse& use : analysis.memory) {
    Json tensors = Json::array();
    for (const LiveTensor& tensor : use.at_peak) {
      tensors.push_back({{"bytes", tensor.bytes},
                         {"allocated_by", tensor.allocated_by},
                         {"since_us", tensor.since_us}});
    }
    Json timeline = Json::array();
    for (const auto& [time_us, bytes] : use.timeline) {
      timeline.push_back({time_us, bytes});
    }
    Json bins = Json::array();
    for (const AllocatorBin& bin : use.bins) {
      bins.push_back({{"bin", bin.bin},
                      {"chunks", bin.chunks},
                      {"chunks_in_use", bin.chunks_in_use},
                      {"bytes", bin.bytes},
                      {"in_use_bytes", bin.in_use}});
    }
    list.push_back({{"device", use.device},
                    {"allocator", use.allocator},
                    {"wasted_bytes", use.wasted_bytes},
                    {"max_wasted_bytes", use.max_wasted_bytes},
                    {"chunks", use.chunks},
                    {"free_chunks", use.free_chunks},
                    {"bins", std::move(bins)},
                    {"events", use.events},
                    {"peak_bytes", use.peak_bytes},
                    {"peak_us", use.peak_us},
                    {"reserved_bytes", use.reserved_bytes},
                    {"max_reserved_bytes", use.max_reserved_bytes},
                    {"fragmentation", use.fragmentation},
                    {"at_peak", std::move(tensors)},
                    {"timeline", std::move(timeline)}});
  }
  return list;
}

Json path_json(const TraceAnalysis& analysis, const Trace& trace) {
  const TracePath& path = analysis.critical_path;
  Json classes = Json::object();
  for (int c = 0; c < kPathClassCount; ++c) {
    classes[std::string(path_class_name(static_cast<PathClass>(c)))] =
        path.class_us[static_cast<size_t>(c)];
  }
  Json spans = Json::array();
  for (size_t i = 0; i < path.spans.size(); ++i) {
    const Span& span = trace.span(path.spans[i]);
    spans.push_back({{"name", trace.text(span.name)},
                     {"kind", span_kind_name(span.kind)},
                     {"start_us", span.start_us},
                     {"duration_us", span.duration_us()},
                     {"weight_us", path.weight_us[i]}});
  }
  return {{"method", analysis.path_method},
          {"length_us", path.length_us},
          {"edges", path.edges},
          {"class_us", std::move(classes)},
          {"spans", std::move(spans)}};
}

// Tables that only some tracers fill.
Json extras_json(const TraceAnalysis& analysis) {
  Json transfers = Json::array();
  for (const TransferRow& row : analysis.transfers) {
    transfers.push_back({{"key", row.key},
                         {"source", row.source},
                         {"destination", row.destination},
                         {"bytes", row.bytes},
                         {"waited_us", row.waited_us},
                         {"arrival_inferred", row.inferred},
                         {"time", spread_json(row.time)}});
  }
  Json lengths = Json::array();
  for (const QueueLengthRow& row : analysis.queue_lengths) {
    lengths.push_back(
        {{"name", row.queue}, {"samples", row.samples}, {"mean", row.mean}, {"max", row.max}});
  }
  Json counters = Json::array();
  for (const CounterRow& row : analysis.counters) {
    counters.push_back(
        {{"name", row.name}, {"counter", row.counter}, {"spans", row.spans}, {"total", row.total}});
  }
  return {{"transfers", std::move(transfers)},
          {"queue_lengths", std::move(lengths)},
          {"counters", std::move(counters)}};
}

Json tables_json(const TraceAnalysis& analysis) {
  Json kernels = Json::array();
  for (const KernelRow& row : analysis.kernels) {
    kernels.push_back({{"name", row.name},
                       {"kind", row.kind},
                       {"share", row.share},
                       {"time", spread_json(row.time)}});
  }
  Json copies = Json::array();
  for (const CopyRow& row : analysis.copies) {
    copies.push_back({{"direction", copy_direction_name(row.direction)},
                      {"size", row.size_class.empty() ? "all" : row.size_class},
                      {"bytes", row.bytes},
                      {"bytes_per_s", row.bytes_per_s},
                      {"time", spread_json(row.time)}});
  }
  Json waits = Json::array();
  for (const WaitRow& row : analysis.waits) {
    waits.push_back({{"for", row.kind}, {"name", row.name}, {"time", spread_json(row.time)}});
  }
  Json states = Json::array();
  for (const HostStateRow& row : analysis.host_states) {
    states.push_back({{"name", row.name},
                      {"kind", row.call ? "call" : "operator"},
                      {"calls", row.calls},
                      {"total_us", row.total_us},
                      {"preempted_us", row.preempted_us},
                      {"preempted_by", row.preempted_by},
                      {"blocked_us", row.blocked_us},
                      {"blocked_in", row.blocked_in},
                      {"interrupted_us", row.interrupted_us},
                      {"interrupted_by", row.interrupted_by},
                      {"page_faults", row.page_faults},
                      {"device_wait_us", row.device_us}});
  }
  return {{"operators", ops_json(analysis.ops)}, {"nodes", ops_json(analysis.nodes)},
          {"kernels", std::move(kernels)},       {"copies", std::move(copies)},
          {"waits", std::move(waits)},           {"host_states", std::move(states)}};
}

// Columns of equal length, sorted by start; times from the trace's start.
Json timeline_json(const TraceAnalysis& analysis, const Trace& trace) {
  std::vector<size_t> shown;
  for (size_t i = 0; i < trace.spans.size(); ++i) {
    const SpanKind kind = trace.spans[i].kind;
    if (is_device_work(kind) || kind == SpanKind::kOp || kind == SpanKind::kRuntime) {
      shown.push_back(i);
    }
  }
  const size_t left_out = shown.size() - std::min(shown.size(), kMaxTimelineSpans);
  if (left_out > 0) {
    std::stable_sort(shown.begin(), shown.end(), [&trace](size_t a, size_t b) {
      return trace.spans[a].duration_us() > trace.spans[b].duration_us();
    });
    shown.resize(kMaxTimelineSpans);
    std::sort(shown.begin(), shown.end());
  }
  const std::set<SpanId> critical(analysis.critical_path.spans.begin(),
                                  analysis.critical_path.spans.end());
  std::map<TrackId, size_t> tracks;
  std::map<NameId, size_t> names;
  Json json = {{"tracks", Json::array()},   {"kinds", Json::array()},
               {"names", Json::array()},    {"left_out", left_out},
               {"track", Json::array()},    {"name", Json::array()},
               {"kind", Json::array()},     {"critical", Json::array()},
               {"start_us", Json::array()}, {"duration_us", Json::array()}};
  // In the order of the page's colours.
  const std::vector<std::string_view> kinds = {"kernel",        "op",   "runtime",
                                               "communication", "copy", "memset"};
  for (const std::string_view kind : kinds) {
    json["kinds"].push_back(kind);
  }
  for (const size_t i : shown) {
    const Span& span = trace.spans[i];
    const auto [track, new_track] = tracks.try_emplace(span.track, tracks.size());
    if (new_track) {
      const Track& where = trace.track(span.track);
      json["tracks"].push_back(where.process + " " + where.name);
    }
    const auto [name, new_name] = names.try_emplace(span.name, names.size());
    if (new_name) {
      json["names"].push_back(trace.text(span.name));
    }
    std::string_view kind = span_kind_name(span.kind);
    if (span.kind == SpanKind::kKernel && span.communication) {
      kind = "communication";
    }
    json["track"].push_back(track->second);
    json["name"].push_back(name->second);
    json["kind"].push_back(std::find(kinds.begin(), kinds.end(), kind) - kinds.begin());
    json["critical"].push_back(critical.count(SpanId(i)));
    json["start_us"].push_back(span.start_us - analysis.start_us);
    json["duration_us"].push_back(span.duration_us());
  }
  return json;
}

Json analysis_json(const TraceAnalysis& analysis, const Trace& trace, bool timeline) {
  Json warnings = Json::array();
  for (const TraceWarning& warning : analysis.warnings) {
    warnings.push_back({{"text", warning.text},
                        {"count", warning.count},
                        {"first_event", warning.first_event},
                        {"of_file", warning.of_file}});
  }
  Json json = {{"path", analysis.path},
               {"format", analysis.format},
               {"device_name", analysis.device_name},
               {"rank", analysis.rank},
               {"events", analysis.events},
               {"spans", analysis.spans},
               {"start_us", analysis.start_us},
               {"end_us", analysis.end_us},
               {"on_device", analysis.on_device},
               {"unlinked_work", analysis.unlinked_work},
               {"window", analysis.window.empty() ? Json(nullptr) : Json(analysis.window)},
               {"warnings", std::move(warnings)},
               {"breakdown", breakdown_json(analysis.breakdown)},
               {"recompute", recompute_json(analysis.recompute)},
               {"steps", spread_json(analysis.steps)},
               {"queues", queues_json(analysis)},
               {"launches",
                {{"call", spread_json(analysis.launches.call)},
                 {"delay", spread_json(analysis.launches.delay)},
                 {"shorter_than_call", analysis.launches.shorter_than_call}}}};
  json.update(tables_json(analysis));
  json.update(extras_json(analysis));
  json["memory"] = memory_json(analysis);
  json["critical_path"] = path_json(analysis, trace);
  json["advice"] = advice_json(analysis.advice);
  if (timeline) {
    json["timeline"] = timeline_json(analysis, trace);
  }
  return json;
}

}  // namespace

std::string analyses_json(const std::vector<TraceAnalysis>& analyses,
                          const std::vector<Trace>& traces, bool timeline) {
  DFSIM_CHECK(analyses.size() == traces.size());
  Json list = Json::array();
  for (size_t i = 0; i < analyses.size(); ++i) {
    list.push_back(analysis_json(analyses[i], traces[i], timeline));
  }
  Json ranks = Json::array();
  for (const RankRow& row : compare_ranks(analyses)) {
    ranks.push_back({{"rank", row.rank},
                     {"path", row.path},
                     {"over_median", row.over_median},
                     {"collectives", row.collectives},
                     {"came_last", row.came_last},
                     {"waited_us", row.waited_us},
                     {"breakdown", breakdown_json(row.breakdown)}});
  }
  const Json json = {
      {"schema", kAnalysisSchema}, {"traces", std::move(list)}, {"ranks", std::move(ranks)}};
  return timeline ? json.compact_text() + "\n" : json.text();
}

}  // namespace dfsim::inline report
