// JSON and CSV of a prediction. Latency and rates of an incomplete model go into fields of their
// own names ("at_least"), so that no program takes a limit for an estimate.
#include <fmt/format.h>

#include <limits>

#include "base/json/json_tree.h"
#include "base/text.h"
#include "report/predictions/prediction_parts.h"
#include "report/predictions/prediction_views.h"
#include "report/recordings/advice_views.h"
#include "report/text_parts.h"
#include "report/unknown_work_json.h"

namespace dfsim::inline report {
namespace {

using Json = JsonTree;

constexpr int kSchemaVersion = 1;

Json shares_json(const std::vector<Share>& shares) {
  Json list = Json::array();
  for (const Share& share : shares) {
    list.push_back({{"name", share.name},
                    {"ops", share.ops},
                    {"time_us", in_us(share.time_ns)},
                    {"fraction", share.fraction}});
  }
  return list;
}

Json op_json(const PredictedOp& op) {
  Json json = {{"name", op.name},
               {"op_type", op.op_type},
               {"class", op_class_name(op.op_class)},
               {"device", op.device},
               {"queue", op.queue},
               {"start_us", in_us(op.start_ns)},
               {"duration_us", in_us(op.duration_ns)},
               {"macs", op.macs},
               {"flops", op.flops},
               {"bytes", op.bytes},
               {"dtype", dtype_name(op.dtype)},
               {"bound", bound_name(op.bound)},
               {"bound_us", in_us(op.bound_ns)},
               {"source", source_name(op)},
               {"output_shape", op.shape},
               {"critical", op.critical},
               {"reads", op.reads}};
  if (op.dispatch.end_ns > op.dispatch.begin_ns) {
    json["dispatch"] = {{"thread", op.dispatch.thread},
                        {"start_us", in_us(op.dispatch.begin_ns)},
                        {"duration_us", in_us(op.dispatch.end_ns - op.dispatch.begin_ns)}};
  }
  Json waits = Json::object();
  for (int reason = 0; reason < kWaitReasonCount; ++reason) {
    waits[std::string(wait_reason_name(static_cast<WaitReason>(reason)))] =
        in_us(op.wait_ns[static_cast<size_t>(reason)]);
  }
  json["wait_us"] = std::move(waits);
  if (!op.origins.empty()) {
    json["origins"] = Json::array();
    for (const OpOrigin& origin : op.origins) {
      json["origins"].push_back({{"op_type", origin.op_type}, {"name", origin.name}});
    }
  }
  return json;
}

// Only the latency of a whole model goes into `latency_ms`. That of a part is a lower limit and
// goes into `latency_at_least_ms`. Rates likewise.
void add_latency(const UnknownWork& unknown, Json latency, Json* json) {
  (*json)["latency_ms"] = unknown.complete() ? latency : Json(nullptr);
  (*json)["latency_at_least_ms"] = unknown.complete() ? Json(nullptr) : std::move(latency);
}

void add_rate(const UnknownWork& unknown, double per_s, Json* json) {
  (*json)["throughput_per_s"] = unknown.complete() ? Json(per_s) : Json(nullptr);
  (*json)["throughput_at_most_per_s"] = unknown.complete() ? Json(nullptr) : Json(per_s);
}

void add_headline(const Prediction& prediction, Json* json) {
  const UnknownWork& unknown = prediction.unknown;
  (*json)["complete"] = unknown.complete();
  (*json)["unknown_work"] = unknown_work_json(unknown);
  (*json)["is_limit"] = prediction.is_limit();
  (*json)["bound_only_fraction"] = prediction.bound_only_share;
  (*json)["largest_sizes_fraction"] = prediction.largest_share;
  add_latency(unknown, in_ms(prediction.latency_ns), json);
  (*json)["latency_interval_ms"] = {
      {"low", in_ms(prediction.interval.low_ns)},
      {"high", unknown.complete() ? Json(in_ms(prediction.interval.high_ns)) : Json(nullptr)}};
  add_rate(unknown, prediction.throughput_per_s, json);
}

Json requests_json(const Prediction& prediction) {
  if (!prediction.request_options.has_value()) {
    return nullptr;
  }
  const RequestOptions& options = *prediction.request_options;
  const RequestResult& result = prediction.requests;
  const bool closed = options.arrivals == ArrivalKind::kClosedLoop;
  Json latency = {{"mean", result.mean_latency_ns / kNsPerMs},
                  {"p50", in_ms(result.p50_ns)},
                  {"p90", in_ms(result.p90_ns)},
                  {"p95", in_ms(result.p95_ns)},
                  {"p99", in_ms(result.p99_ns)},
                  {"max", in_ms(result.max_ns)}};
  Json json = {{"requests", options.requests},
               {"arrivals", arrival_kind_name(options.arrivals)},
               {"in_flight", closed ? Json(options.in_flight) : Json(nullptr)},
               {"rate_per_s", closed ? Json(nullptr) : Json(options.requests_per_s)},
               {"warm_up", options.warm_up}};
  add_rate(prediction.unknown, result.throughput_per_s, &json);
  add_latency(prediction.unknown, std::move(latency), &json);
  return json;
}

Json repetition_json(const Prediction& prediction) {
  if (!prediction.repetition.has_value()) {
    return nullptr;
  }
  const RepeatResult& result = *prediction.repetition;
  Json latency = {{"mean", result.mean_ns / kNsPerMs},
                  {"standard_deviation", result.standard_deviation_ns / kNsPerMs},
                  {"min", in_ms(result.min_ns)},
                  {"p10", in_ms(result.p10_ns)},
                  {"p50", in_ms(result.p50_ns)},
                  {"p90", in_ms(result.p90_ns)},
                  {"max", in_ms(result.max_ns)}};
  Json json = {{"runs", result.makespans_ns.size()}};
  add_latency(prediction.unknown, std::move(latency), &json);
  return json;
}

Json copy_json(const PredictedCopy& copy) {
  return {{"name", copy.name},
          {"kind", copy_kind_name(copy.kind)},
          {"from", copy.from},
          {"to", copy.to},
          {"device", copy.device.empty() ? Json(nullptr) : Json(copy.device)},
          {"engine", copy.engine < 0 ? Json(nullptr) : Json(copy.engine)},
          {"bytes", copy.bytes},
          {"start_us", in_us(copy.start_ns)},
          {"duration_us", in_us(copy.duration_ns)},
          {"wait_us", in_us(copy.wait_ns)}};
}

Json memory_json(const PredictedMemory& memory) {
  Json timeline = Json::array();
  for (const auto& [time_ns, bytes] : memory.timeline) {
    timeline.push_back({in_us(time_ns), bytes});
  }
  Json held = Json::array();
  for (const PredictedMemory::Held& tensor : memory.at_peak) {
    held.push_back({{"name", tensor.name},
                    {"use", tensor.use},
                    {"bytes", tensor.bytes},
                    {"since_us", in_us(tensor.since_ns)}});
  }
  return {{"device", memory.device},
          {"peak_bytes", memory.peak_bytes},
          {"peak_us", in_us(memory.peak_ns)},
          {"timeline", std::move(timeline)},
          {"at_peak", std::move(held)}};
}

Json verdict_json(const Prediction& prediction) {
  const Verdict& verdict = prediction.verdict;
  const PredictionHeadline headline = prediction_headline(prediction);
  Json change = nullptr;
  if (verdict.change.has_value()) {
    change = {{"name", verdict.change->name},
              {"option", verdict.change->option},
              {"latency_ms", in_ms(verdict.change->latency_ns)},
              {"bound_only_fraction", verdict.change->bound_only_share}};
  }
  return {{"answer", headline.answer},
          {"reason", headline.reason},
          {"device_busy_fraction", verdict.device_share},
          {"host_busy_fraction", verdict.host_share},
          {"copy_fraction", verdict.copy_share},
          {"change", std::move(change)}};
}

}  // namespace

std::string prediction_json(const Prediction& prediction) {
  Json json;
  json["schema"] = fmt::format("dfsim.predict/{}", kSchemaVersion);
  json["model"] = prediction.model;
  json["hardware"] = prediction.hardware;
  json["device"] = prediction.device_model;
  json["runtime"] = prediction.runtime;
  json["passes"] = prediction.passes;
  json["cost_model"] = prediction.cost_model;
  json["batch"] = prediction.batch;
  json["dims"] = Json::array();
  for (const BoundDim& dim : prediction.dims) {
    json["dims"].push_back({{"name", dim.name}, {"value", dim.extent}, {"origin", dim.origin}});
  }
  json["open_dims"] = prediction.open_dims;
  add_headline(prediction, &json);
  json["limited_by"] = limit_name(prediction.verdict.limit);
  json["verdict"] = verdict_json(prediction);
  json["macs"] = prediction.macs;
  json["flops"] = prediction.flops;
  json["parameters"] = prediction.parameters;
  json["weight_bytes"] = prediction.weight_bytes;
  json["input_bytes"] = prediction.input_bytes;
  json["peak_activation_bytes"] = prediction.peak_activation_bytes;
  json["peak_memory_bytes"] = prediction.peak_memory_bytes;
  json["device_memory_bytes"] = prediction.memory_bytes;
  json["fits"] = prediction.fits();
  json["remedies"] = Json::array();
  for (const Prediction::Remedy& remedy : prediction.remedies) {
    const bool complete = prediction.unknown.complete();
    json["remedies"].push_back({{"kind", remedy.kind},
                                {"action", remedy.action},
                                {"latency_ms", complete ? Json(in_ms(remedy.latency_ns)) : Json()},
                                {"bound_only_fraction", remedy.bound_only_share},
                                {"peak_memory_bytes", remedy.peak_memory_bytes},
                                {"device_memory_bytes", remedy.memory_bytes}});
  }
  json["achieved_flops_per_s"] =
      prediction.unknown.complete() ? Json(prediction.achieved_flops_per_s) : Json(nullptr);
  json["peak_flops_per_s"] = prediction.peak_flops_per_s;
  json["main_dtype"] = dtype_name(prediction.main_dtype);
  json["device_busy_ms"] = in_ms(prediction.device_busy_ns);
  json["host_busy_ms"] = in_ms(prediction.host_busy_ns);
  json["critical_path_ms"] = in_ms(prediction.critical_path_ns);
  json["nodes"] = {{"file", prediction.file_nodes},
                   {"executed", prediction.ops.size()},
                   {"views", prediction.view_ops},
                   {"folded", prediction.folded_ops},
                   {"fused", prediction.fused_ops}};
  json["classes"] = shares_json(prediction.classes);
  json["bounds"] = shares_json(prediction.bounds);
  json["sources"] = shares_json(prediction.sources);
  json["precision"] = prediction.precision.empty() ? Json(nullptr) : Json(prediction.precision);
  json["precisions"] = shares_json(prediction.precisions);
  json["unresolved"] = Json::array();
  for (const UnresolvedOpInfo& op : prediction.unresolved) {
    json["unresolved"].push_back(
        {{"name", op.name}, {"op_type", op.op_type}, {"reason", op.reason}});
  }
  json["notes"] = prediction.notes;
  json["ops"] = Json::array();
  for (const PredictedOp& op : prediction.ops) {
    json["ops"].push_back(op_json(op));
  }
  json["pipeline"] = requests_json(prediction);
  json["repetition"] = repetition_json(prediction);
  json["copies"] = Json::array();
  for (const PredictedCopy& copy : prediction.copies) {
    json["copies"].push_back(copy_json(copy));
  }
  json["memory"] = Json::array();
  for (const PredictedMemory& memory : prediction.memory) {
    json["memory"].push_back(memory_json(memory));
  }
  json["advice"] = advice_json(prediction.advice);
  // Names come from files and may not be UTF-8: replaced, not thrown at the user.
  return json.text();
}

std::string ops_csv(const Prediction& prediction) {
  std::string csv =
      "name,op_type,class,device,queue,start_us,duration_us,macs,flops,bytes,dtype,bound,source,"
      "output_shape\n";
  auto copy = prediction.copies.begin();
  const auto add_copies_until = [&](TimeNs time_ns) {
    for (; copy != prediction.copies.end() && copy->start_ns <= time_ns; ++copy) {
      csv +=
          fmt::format("{},Copy,copy,{},{},{},{},0,0,{},,link,hardware,\n",
                      csv_field(fmt::format("{} to {}", copy->name, copy->to)),
                      csv_field(copy->device), copy->engine < 0 ? "" : std::to_string(copy->engine),
                      in_us(copy->start_ns), in_us(copy->duration_ns), copy->bytes);
    }
  };
  for (const PredictedOp& op : prediction.ops) {
    add_copies_until(op.start_ns);
    csv += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", csv_field(op.name),
                       csv_field(op.op_type), op_class_name(op.op_class), csv_field(op.device),
                       op.queue, in_us(op.start_ns), in_us(op.duration_ns), op.macs, op.flops,
                       op.bytes, dtype_name(op.dtype), bound_name(op.bound), source_name(op),
                       op.shape);
  }
  add_copies_until(std::numeric_limits<TimeNs>::max());
  return csv;
}

}  // namespace dfsim::inline report
