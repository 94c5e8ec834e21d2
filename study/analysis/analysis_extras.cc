// Tables that only some tracers fill: transfers between workers, lengths of the runtime's queues,
// performance counters.
#include <algorithm>
#include <map>
#include <string>
#include <tuple>

#include "study/analysis/analysis_parts.h"

namespace dfsim::inline study {

void add_transfers(const Trace& trace, TraceAnalysis* analysis) {
  struct Group {
    TransferRow row;
    std::vector<double> times_us;
  };
  std::map<std::tuple<std::string, std::string, std::string>, Group> groups;
  for (const Transfer& transfer : trace.transfers) {
    const std::string& key = trace.text(transfer.key);
    const std::string& source = trace.text(transfer.source);
    const std::string& destination = trace.text(transfer.destination);
    Group& group = groups[{key, source, destination}];
    group.row.key = key;
    group.row.source = source;
    group.row.destination = destination;
    group.row.bytes = std::max(group.row.bytes, transfer.bytes);
    group.row.waited_us += std::max(0.0, transfer.produced_us - transfer.requested_us);
    group.row.inferred |= !transfer.arrival_recorded;
    group.times_us.push_back(transfer.arrived_us - transfer.began_us());
  }
  for (auto& [key, group] : groups) {
    group.row.time = spread_of(std::move(group.times_us));
    analysis->transfers.push_back(std::move(group.row));
  }
  std::ranges::stable_sort(analysis->transfers, std::ranges::greater{},
                           [](const TransferRow& row) { return row.time.total_us; });
}

void add_queue_lengths(const Trace& trace, TraceAnalysis* analysis) {
  struct Sum {
    int64_t samples = 0;
    double first_us = 0;
    double last_us = 0;
    double last = 0;
    double area = 0;
    double max = 0;
  };
  std::map<std::string, Sum> sums;
  for (const CounterSample& sample : trace.counters) {
    if (trace.text(sample.name) != kQueueLengthCounter) {
      continue;
    }
    Sum& sum = sums[trace.track(sample.track).name];
    sum.first_us = sum.samples == 0 ? sample.time_us : sum.first_us;
    sum.area += sum.samples == 0 ? 0 : sum.last * (sample.time_us - sum.last_us);
    sum.last = sample.value;
    sum.last_us = sample.time_us;
    sum.max = std::max(sum.max, sample.value);
    ++sum.samples;
  }
  for (const auto& [queue, sum] : sums) {
    const double time_us = sum.last_us - sum.first_us;
    analysis->queue_lengths.push_back(
        {queue, sum.samples, time_us > 0 ? sum.area / time_us : sum.last, sum.max});
  }
}

void add_counters(const Trace& trace, TraceAnalysis* analysis) {
  std::map<std::pair<std::string, std::string>, CounterRow> rows;
  for (const SpanCounter& counter : trace.span_counters) {
    const Span& span = trace.span(counter.span);
    // A kernel's counts belong to its operator, where it has one.
    const Span& owner = is_device_work(span.kind) && span.op.valid() ? trace.span(span.op) : span;
    CounterRow& row = rows[{trace.text(owner.name), trace.text(counter.name)}];
    row.name = trace.text(owner.name);
    row.counter = trace.text(counter.name);
    ++row.spans;
    row.total += counter.value;
  }
  for (auto& [key, row] : rows) {
    analysis->counters.push_back(std::move(row));
  }
}

}  // namespace dfsim::inline study
