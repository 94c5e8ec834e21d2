// Maps a simulation's events to tracks, slices, flows and counters, as chrome_trace.cc does for
// JSON; a test compares both.
#include "report/trace/perfetto_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "report/text_parts.h"
#include "report/trace/perfetto_packets.h"
#include "study/prediction/copy_log.h"

namespace dfsim::inline report {
namespace {

using TrackUuid = PerfettoPackets::TrackUuid;

class PerfettoTraceImpl : public PerfettoTrace {
 public:
  PerfettoTraceImpl(const ChromeTrace::Subject& subject, Sink sink)
      : subject_(subject), packets_(std::move(sink)), copies_(subject.platform) {
    for (const DeviceSpec& device : subject.platform.devices) {
      devices_.push_back(packets_.add_process(fmt::format("{} ({})", device.name, device.model)));
    }
    links_ = packets_.add_process("links");
    host_ = packets_.add_process("host");
    lanes_.resize(subject.platform.links.size());
    number_out_edges();
  }

  void on_task_dispatched(const DispatchEvent& event) override {
    if (event.request != 0 || event.time_ns == event.begin_ns) {
      return;
    }
    settle(event.begin_ns);
    const TrackUuid track =
        track_of(&dispatchers_, event.thread, host_, fmt::format("dispatch {}", event.thread));
    // Under the op's own name, which is there anyway: the track says what it is.
    packets_.begin({event.begin_ns, track, "dispatch", task_name(event.task)});
    packets_.end(track, event.time_ns);
  }

  void on_task_started(const TaskEvent& event) override {
    if (event.request != 0) {
      return;
    }
    settle(event.time_ns);
    SliceArgs args(&packets_);
    const std::string category = describe(event, &args);
    std::vector<uint64_t> arriving;
    for (const uint32_t edge : subject_.tasks.in_edge_indices(event.task)) {
      arriving.push_back(edge + 1);
    }
    std::vector<uint64_t> leaving;
    const size_t task = event.task.index();
    for (uint32_t i = first_out_[task]; i < first_out_[task + 1]; ++i) {
      leaving.push_back(out_edges_[i] + 1);
    }
    packets_.begin({event.time_ns, queue_of(event), category, task_name(event.task), &args,
                    &leaving, &arriving});
  }

  void on_task_finished(const TaskEvent& event) override {
    if (event.request == 0) {
      settle(event.time_ns);
      packets_.end(queue_of(event), event.time_ns);
    }
  }

  void on_transfer_started(const TransferEvent& event) override {
    copies_.on_transfer_started(event);
    std::vector<TrackUuid>& tracks = transfers_[event.id];
    for (const Hop& hop : event.hops) {
      SliceArgs args(&packets_);
      args.number("bytes", event.bytes)
          .text("from", node_name(event.from))
          .text("to", node_name(event.to));
      const TrackUuid track = take_lane(hop.link);
      packets_.begin({event.time_ns, track, "transfer", data_name(event.data), &args});
      tracks.push_back(track);
    }
  }

  void on_transfer_finished(const TransferEvent& event) override {
    copies_.on_transfer_finished(event);
    const auto tracks = transfers_.find(event.id);
    if (tracks == transfers_.end()) {
      return;
    }
    for (size_t i = 0; i < tracks->second.size(); ++i) {
      packets_.end(tracks->second[i], event.time_ns);
      free_lane(event.hops[i].link, tracks->second[i]);
    }
    transfers_.erase(tracks);
  }

  void on_memory_allocated(const MemoryEvent& event) override { add_memory(event); }
  void on_memory_freed(const MemoryEvent& event) override { add_memory(event); }

  void finish() override {
    settle(std::numeric_limits<TimeNs>::max());
    for (const CopyRecord& copy : copies_.copies()) {
      add_copy(copy, copy.from, copy.from_engine);
      add_copy(copy, copy.to, copy.to_engine);
    }
    packets_.flush();
  }

 private:
  // A link that is shared holds several transfers at once: each has a lane of its own.
  struct Lane {
    TrackUuid track = 0;
    bool busy = false;
  };

  using Tracks = std::map<std::pair<size_t, uint32_t>, TrackUuid>;

  TrackUuid track_of(Tracks* tracks, std::pair<size_t, uint32_t> key, TrackUuid parent,
                     const std::string& name) {
    const auto [it, is_new] = tracks->try_emplace(key, 0);
    if (is_new) {
      it->second = packets_.add_track(parent, name);
    }
    return it->second;
  }
  TrackUuid track_of(std::map<uint32_t, TrackUuid>* tracks, uint32_t key, TrackUuid parent,
                     const std::string& name) {
    const auto [it, is_new] = tracks->try_emplace(key, 0);
    if (is_new) {
      it->second = packets_.add_track(parent, name);
    }
    return it->second;
  }

  // The first queue that is used is the main one.
  TrackUuid queue_of(const TaskEvent& event) {
    const auto [it, is_new] = queues_.try_emplace({event.device.index(), event.queue}, 0);
    if (is_new) {
      it->second = packets_.add_track(devices_[event.device.index()],
                                      fmt::format("queue {}", event.queue), queues_.size() == 1);
    }
    return it->second;
  }

  TrackUuid take_lane(LinkId link) {
    std::vector<Lane>& lanes = lanes_[link.index()];
    for (Lane& lane : lanes) {
      if (!lane.busy) {
        lane.busy = true;
        return lane.track;
      }
    }
    lanes.push_back({packets_.add_track(links_, subject_.platform.links[link.index()].name), true});
    return lanes.back().track;
  }

  void free_lane(LinkId link, TrackUuid track) {
    for (Lane& lane : lanes_[link.index()]) {
      lane.busy = lane.busy && lane.track != track;
    }
  }

  void number_out_edges() {
    const auto edges = subject_.tasks.edges();
    first_out_.assign(subject_.tasks.task_count() + 1, 0);
    for (const Edge& edge : edges) {
      ++first_out_[edge.from.index() + 1];
    }
    for (size_t i = 1; i < first_out_.size(); ++i) {
      first_out_[i] += first_out_[i - 1];
    }
    out_edges_.resize(edges.size());
    std::vector<uint32_t> fill(first_out_.begin(), first_out_.end() - 1);
    for (uint32_t e = 0; e < edges.size(); ++e) {
      out_edges_[fill[edges[e].from.index()]++] = e;
    }
  }

  std::string node_name(DeviceId device) const {
    return device.valid() ? subject_.platform.device(device).name : subject_.platform.host.node;
  }

  std::string task_name(TaskId task) const {
    const OpId op = subject_.tasks.op(task);
    return subject_.graph != nullptr && op.valid() ? subject_.graph->op(op).name
                                                   : subject_.tasks.name(task);
  }

  // Data is called as the op that makes it, which is a text that is there anyway.
  std::string data_name(DataId data) const { return task_name(subject_.tasks.data_producer(data)); }

  // The category; what is known of the op goes to `args`.
  std::string describe(const TaskEvent& event, SliceArgs* args) const {
    if (subject_.workload == nullptr) {
      return "task";
    }
    const uint32_t row = subject_.tasks.cost_row(event.task);
    const OpDescriptor& op = subject_.workload->rows[row];
    args->text("op_type", op.op_type)
        .number("flops", op.work.flops)
        .number("bytes", op.work.bytes())
        .text("output",
              op.output_extents.empty() ? "?" : format_shape(Shape::of(op.output_extents[0])));
    if (subject_.costs != nullptr) {
      const OpCost& cost = subject_.costs->at(row, event.device);
      // One text for both, as it comes with every op.
      args->text("cost",
                 fmt::format("{}, {}", bound_name(cost.bound), cost_source_name(cost.source)));
    }
    return std::string(op_class_name(op.op_class));
  }

  void add_copy(const CopyRecord& copy, DeviceId device, int engine) {
    if (engine < 0) {
      return;
    }
    const TrackUuid track =
        track_of(&engines_, {device.index(), static_cast<uint32_t>(engine)},
                 devices_[device.index()], fmt::format("copy engine {}", engine));
    SliceArgs args(&packets_);
    args.text("kind", copy_kind_name(copy.kind))
        .number("bytes", copy.bytes)
        .text("from", node_name(copy.from))
        .text("to", node_name(copy.to))
        .real("waited_us", in_us(copy.start_ns - copy.requested_ns));
    packets_.begin({copy.start_ns, track, "copy", data_name(copy.data), &args});
    packets_.end(track, copy.released_ns);
  }

  // Writes the last of several changes at one time, and the greatest before it.
  struct Counter {
    TrackUuid track = 0;
    TimeNs time_ns = -1;  // of what is not written yet
    Bytes last_bytes = 0;
    Bytes most_bytes = 0;
  };

  // Writes what is over before `time_ns`, so that times go up.
  void settle(TimeNs time_ns) {
    for (size_t i = 0; i < pending_.size();) {
      Counter* const counter = pending_[i];
      if (counter->time_ns < time_ns) {
        write(counter);
        pending_[i] = pending_.back();
        pending_.pop_back();
      } else {
        ++i;
      }
    }
  }

  void write(Counter* counter) {
    if (counter->time_ns >= 0) {
      if (counter->most_bytes > counter->last_bytes) {
        packets_.count(counter->track, counter->time_ns, counter->most_bytes);
      }
      packets_.count(counter->track, counter->time_ns, counter->last_bytes);
    }
    counter->time_ns = -1;
  }

  void add_memory(const MemoryEvent& event) {
    const auto device = static_cast<uint32_t>(event.device.index());
    const auto [it, is_new] = counters_.try_emplace(device);
    Counter& counter = it->second;
    if (is_new) {
      counter.track = packets_.add_bytes_counter(devices_[device], "memory");
    }
    settle(event.time_ns);
    if (counter.time_ns < 0) {
      pending_.push_back(&counter);
      counter.most_bytes = 0;
    }
    counter.time_ns = event.time_ns;
    counter.last_bytes = event.in_use_bytes;
    counter.most_bytes = std::max(counter.most_bytes, event.in_use_bytes);
  }

  ChromeTrace::Subject subject_;
  PerfettoPackets packets_;
  CopyLog copies_;
  std::vector<TrackUuid> devices_;
  TrackUuid links_ = 0;
  TrackUuid host_ = 0;
  Tracks queues_;
  Tracks engines_;
  std::map<uint32_t, TrackUuid> dispatchers_;
  std::map<uint32_t, Counter> counters_;  // by device
  std::vector<Counter*> pending_;         // those with something to write
  std::vector<std::vector<Lane>> lanes_;  // by link
  std::map<uint64_t, std::vector<TrackUuid>> transfers_;
  std::vector<uint32_t> first_out_;  // by task: its part of out_edges_
  std::vector<uint32_t> out_edges_;
};

}  // namespace

std::unique_ptr<PerfettoTrace> PerfettoTrace::create(const ChromeTrace::Subject& subject,
                                                     Sink sink) {
  return std::make_unique<PerfettoTraceImpl>(subject, std::move(sink));
}

}  // namespace dfsim::inline report
