// One open transfer per key; the next request for a key closes the one before.
#include "datasets/traces/ctf/ctf_transfers.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "datasets/traces/ctf/ctf_points.h"

namespace dfsim::inline datasets {
namespace {

// "edge_5_x" of "/job:worker/.../device:CPU:0;f5ae;/job:worker/.../device:CPU:0;edge_5_x;0:0", with
// both devices. Keys of other forms stay whole.
struct KeyParts {
  std::string_view source;
  std::string_view destination;
};

KeyParts parts_of(std::string_view key) {
  const size_t first = key.find(';');
  const size_t second = first == key.npos ? key.npos : key.find(';', first + 1);
  const size_t third = second == key.npos ? key.npos : key.find(';', second + 1);
  if (third == key.npos || !key.starts_with("/job:")) {
    return {};
  }
  return {key.substr(0, first), key.substr(second + 1, third - second - 1)};
}

NameId intern_some(std::string_view text, Trace* trace) {
  return text.empty() ? NameId() : trace->intern(printable(text, 300));
}

// Operators by start, of each thread and of each worker.
class OpStarts {
 public:
  explicit OpStarts(const Trace& trace) {
    for (const Span& span : trace.spans) {
      if (span.kind == SpanKind::kOp) {
        of_track_[span.track].push_back(span.start_us);
        const std::string worker = worker_of(trace.text(span.placement));
        if (!worker.empty()) {
          of_worker_[worker].push_back(span.start_us);
        }
      }
    }
    for (auto& [track, starts] : of_track_) {
      std::ranges::sort(starts);
    }
    for (auto& [worker, starts] : of_worker_) {
      std::ranges::sort(starts);
    }
  }

  // The first start of an operator of the thread, or else of the worker, at `from_us` or later; -1
  // when there is none.
  double next(TrackId track, const std::string& worker, double from_us) const {
    const auto first_after = [from_us](const auto& map, const auto& key) {
      const auto starts = map.find(key);
      if (starts == map.end()) {
        return -1.0;
      }
      const auto at = std::ranges::lower_bound(starts->second, from_us);
      return at == starts->second.end() ? -1.0 : *at;
    };
    const double of_track = first_after(of_track_, track);
    const double of_worker = first_after(of_worker_, worker);
    return of_track >= 0 && (of_worker < 0 || of_track <= of_worker) ? of_track : of_worker;
  }

 private:
  std::map<TrackId, std::vector<double>> of_track_;
  std::map<std::string, std::vector<double>> of_worker_;
};

}  // namespace

TransferEvents::Open& TransferEvents::open_for(const std::string& key, double time_us,
                                               const std::string& prefix, Trace* trace) {
  const auto [found, is_new] = open_.try_emplace(key);
  Open& open = found->second;
  if (is_new) {
    open.transfer.key = trace->intern(printable(key, 300));
    open.transfer.requested_us = open.transfer.produced_us = time_us;
    const KeyParts parts = parts_of(key);
    open.transfer.source = intern_some(parts.source, trace);
    open.transfer.destination = intern_some(parts.destination, trace);
    open.prefix = prefix;
  }
  return open;
}

void TransferEvents::close(const std::string& key, Trace* /*trace*/) {
  const auto found = open_.find(key);
  if (found != open_.end()) {
    done_.push_back(std::move(found->second));
    open_.erase(found);
  }
}

// Calls of workers without a tensor: RunGraph and others.
void TransferEvents::call(const CtfEvent& event, std::string_view name, double time_us,
                          TrackId track, const std::string& prefix, Trace* trace) {
  const std::string method(event.text(CtfRole::kName));
  if (name == "send_request") {
    calls_[method] = {time_us, track};
    trace->flows.push_back({time_us, trace->intern("grpc " + method), track, true});
    return;
  }
  const auto sent = calls_.find(method);
  if (sent == calls_.end()) {
    return;  // of a client whose trace is not here
  }
  trace->flows.push_back({time_us, trace->intern("grpc " + method), track, false});
  Span span;
  span.start_us = sent->second.first;
  span.end_us = std::max(time_us, span.start_us);
  span.name = trace->intern("gRPC " + printable(method, 100));
  span.track = trace->track_of(prefix + "gRPC", printable(method, 100));
  trace->spans.push_back(span);
  calls_.erase(sent);
}

void TransferEvents::take(const CtfEvent& event, std::string_view name, double time_us,
                          TrackId track, const std::string& prefix, Trace* trace) {
  if (name == "send_request" || name == "receive_request") {
    call(event, name, time_us, track, prefix, trace);
    return;
  }
  const bool rendezvous = name == "rdv_send" || name == "rdv_recv";
  std::string key(rendezvous ? event.text({"key", "rendezvous_key", "tensor_name", "name"})
                             : event.text({"rendezvous_key", "tensor", "key"}));
  if (key.empty()) {
    key = last_key_[track];  // prepare_response_tensor may say only what it is
  } else {
    last_key_[track] = key;
  }
  if (key.empty()) {
    return;
  }
  const bool asks = name == "rdv_recv" || name.starts_with("send_");
  if (const auto found = open_.find(key);
      found != open_.end() && asks && !name.ends_with("_end") &&
      (found->second.arrived || (found->second.asked && found->second.produced))) {
    close(key, trace);
  }
  Open& open = open_for(key, time_us, prefix, trace);
  Transfer& transfer = open.transfer;
  open.remote |= !rendezvous;
  const auto device = [&](std::string_view field, NameId* to) {
    *to = to->valid() ? *to : intern_some(event.text({field}), trace);
  };
  device("src_device", &transfer.source);
  device("dst_device", &transfer.destination);
  if (const Bytes bytes = event.integer({"size", "bytes"}); bytes >= 0) {
    transfer.bytes = std::min(bytes, Bytes{1} << 60);
  }
  if (name == "rdv_send") {
    transfer.produced_us = time_us;
    transfer.from = track;
    open.produced = true;
    trace->flows.push_back({time_us, trace->intern("rendezvous " + key), track, true});
  } else if (name == "send_request_tensor_end") {
    transfer.arrived_us = time_us;
    open.arrived = true;
  } else if (asks) {
    if (!open.asked) {
      transfer.requested_us = time_us;
      transfer.to = track;
      open.asked = true;
    }
    if (name == "rdv_recv") {
      trace->flows.push_back({time_us, trace->intern("rendezvous " + key), track, false});
    }
  } else {  // at the sender: the request came, the answer is prepared and encoded
    open.encoded_us = time_us;
    if (open.prepared_us < 0 && !name.starts_with("receive_")) {
      open.prepared_us = time_us;
    }
    transfer.from = transfer.from.valid() ? transfer.from : track;
  }
}

void TransferEvents::finish(Trace* trace) {
  while (!open_.empty()) {
    close(open_.begin()->first, trace);
  }
  const OpStarts starts(*trace);
  for (Open& open : done_) {
    Transfer& transfer = open.transfer;
    if (!open.produced && open.prepared_us >= 0) {
      transfer.produced_us = open.prepared_us;
      open.produced = true;
    }
    const double began_us = transfer.began_us();
    if (open.asked && open.produced && transfer.requested_us < transfer.produced_us) {
      Span span;
      span.start_us = transfer.requested_us;
      span.end_us = transfer.produced_us;
      span.name = trace->intern("Rendezvous wait");
      span.detail = transfer.key;
      span.track = trace->track_of(open.prefix + "rendezvous", trace->text(transfer.key));
      trace->spans.push_back(span);
    }
    if (!open.remote || !open.asked || !open.produced) {
      continue;
    }
    transfer.arrival_recorded = open.arrived && transfer.arrived_us >= began_us;
    if (!transfer.arrival_recorded) {
      transfer.arrived_us = starts.next(transfer.to, worker_of(trace->text(transfer.destination)),
                                        std::max(began_us, open.encoded_us));
    }
    if (transfer.arrived_us < began_us) {
      continue;  // nothing used it
    }
    Span span;
    span.start_us = began_us;
    span.end_us = transfer.arrived_us;
    span.name = trace->intern("Transfer");
    span.detail = transfer.key;
    span.bytes = transfer.bytes;
    span.track = trace->track_of(open.prefix + "network", trace->text(transfer.key));
    transfer.span = SpanId(trace->spans.size());
    trace->spans.push_back(span);
    trace->transfers.push_back(transfer);
  }
  done_.clear();
}

}  // namespace dfsim::inline datasets
