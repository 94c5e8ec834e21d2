// Listens to a simulation and writes the Trace Event Format. Slices of one thread may not
// overlap in Perfetto, so a shared link opens another thread for each transfer at the same time.
#include "report/trace/chrome_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "base/json/json_tree.h"
#include "study/prediction/copy_log.h"

namespace dfsim::inline report {
namespace {

constexpr uint32_t kFirstEngine = 1000;  // thread of a device's first copy engine, after its queues

using Json = JsonTree;

// The trace's clock counts microseconds; three decimals keep every nanosecond.
std::string trace_us(TimeNs time_ns) {
  return fmt::format("{}.{:03}", time_ns / kNsPerUs, time_ns % kNsPerUs);
}

std::string quoted(const std::string& text) { return Json(text).compact_text(); }

class ChromeTraceImpl : public ChromeTrace {
 public:
  explicit ChromeTraceImpl(const Subject& subject)
      : subject_(subject), spans_(subject.tasks.task_count()), copies_(subject.platform) {
    for (size_t d = 0; d < subject.platform.devices.size(); ++d) {
      const DeviceSpec& device = subject.platform.devices[d];
      add_name("process_name", d, 0, fmt::format("{} ({})", device.name, device.model));
    }
    add_name("process_name", links_pid(), 0, "links");
    for (size_t l = 0; l < subject.platform.links.size(); ++l) {
      add_name("thread_name", links_pid(), l, subject.platform.links[l].name);
    }
    add_name("process_name", host_pid(), 0, "host");
  }

  void on_task_dispatched(const DispatchEvent& event) override {
    if (event.request != 0 || event.time_ns == event.begin_ns) {
      return;
    }
    if (named_.insert({host_pid(), event.thread}).second) {
      add_name("thread_name", host_pid(), event.thread, fmt::format("dispatch {}", event.thread));
    }
    add(fmt::format(R"({{"ph":"X","cat":"dispatch","name":{},"pid":{},"tid":{},"ts":{},"dur":{},)"
                    R"("args":{{"device":{}}}}})",
                    quoted("dispatch " + task_name(event.task)), host_pid(), event.thread,
                    trace_us(event.begin_ns), trace_us(event.time_ns - event.begin_ns),
                    quoted(node_name(event.device))));
  }

  void on_task_started(const TaskEvent& event) override {
    if (event.request == 0) {
      spans_[event.task.index()] = {event.time_ns, event.time_ns, event.device, event.queue};
    }
  }

  void on_task_finished(const TaskEvent& event) override {
    if (event.request != 0) {
      return;
    }
    Span& span = spans_[event.task.index()];
    span.end_ns = event.time_ns;
    if (named_.insert({event.device.index(), event.queue}).second) {
      add_name("thread_name", event.device.index(), event.queue,
               fmt::format("queue {}", event.queue));
    }
    add_slice(event.task, span);
    add_flows(event.task, span);
  }

  void on_transfer_started(const TransferEvent& event) override {
    Transfer& transfer = transfers_[event.id];
    transfer.start_ns = event.time_ns;
    for (const Hop& hop : event.hops) {
      transfer.threads.push_back(take_lane(hop.link));
    }
    copies_.on_transfer_started(event);
  }

  void on_transfer_finished(const TransferEvent& event) override {
    copies_.on_transfer_finished(event);
    const auto transfer = transfers_.find(event.id);
    if (transfer == transfers_.end()) {
      return;
    }
    const TimeNs start = transfer->second.start_ns;
    for (size_t i = 0; i < event.hops.size(); ++i) {
      const size_t thread = transfer->second.threads[i];
      add(fmt::format(R"({{"ph":"X","cat":"transfer","name":{},"pid":{},"tid":{},"ts":{},"dur":{},)"
                      R"("args":{{"bytes":{},"from":{},"to":{}}}}})",
                      quoted(data_name(event.data)), links_pid(), thread, trace_us(start),
                      trace_us(event.time_ns - start), event.bytes, quoted(node_name(event.from)),
                      quoted(node_name(event.to))));
      busy_lanes_.erase(thread);
    }
    transfers_.erase(transfer);
  }

  void on_memory_allocated(const MemoryEvent& event) override { add_memory(event); }
  void on_memory_freed(const MemoryEvent& event) override { add_memory(event); }

  std::string finish() override {
    for (const CopyRecord& copy : copies_.copies()) {
      add_copy(copy, copy.from, copy.from_engine);
      add_copy(copy, copy.to, copy.to_engine);
    }
    return "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n" + body_ + "\n]}\n";
  }

 private:
  struct Span {
    TimeNs start_ns = 0;
    TimeNs end_ns = 0;
    DeviceId device;
    uint32_t queue = 0;
  };

  struct Transfer {
    TimeNs start_ns = 0;
    std::vector<size_t> threads;  // of each hop
  };

  size_t links_pid() const { return subject_.platform.devices.size(); }
  size_t host_pid() const { return links_pid() + 1; }

  // A thread of the link that shows nothing else now: slices of one thread may not overlap. A
  // shared link has as many as it has transfers at once, and each is called as the link.
  size_t take_lane(LinkId link) {
    const size_t links = subject_.platform.links.size();
    size_t thread = link.index();
    while (!busy_lanes_.insert(thread).second) {
      thread += links;
    }
    if (thread >= links && named_.insert({links_pid(), static_cast<uint32_t>(thread)}).second) {
      add_name("thread_name", links_pid(), thread, subject_.platform.links[link.index()].name);
    }
    return thread;
  }

  std::string node_name(DeviceId device) const {
    return device.valid() ? subject_.platform.device(device).name : subject_.platform.host.node;
  }

  std::string task_name(TaskId task) const {
    const OpId op = subject_.tasks.op(task);
    return subject_.graph != nullptr && op.valid() ? subject_.graph->op(op).name
                                                   : subject_.tasks.name(task);
  }

  std::string data_name(DataId data) const {
    return "output of " + task_name(subject_.tasks.data_producer(data));
  }

  void add(std::string_view event) {
    if (!body_.empty()) {
      body_ += ",\n";
    }
    body_ += event;
  }

  void add_name(std::string_view kind, size_t pid, size_t tid, const std::string& name) {
    add(fmt::format(R"({{"ph":"M","name":"{}","pid":{},"tid":{},"args":{{"name":{}}}}})", kind, pid,
                    tid, quoted(name)));
  }

  void add_slice(TaskId task, const Span& span) {
    std::string category = "task";
    std::string args;
    if (subject_.workload != nullptr) {
      const uint32_t row = subject_.tasks.cost_row(task);
      const OpDescriptor& op = subject_.workload->rows[row];
      category = op_class_name(op.op_class);
      args = fmt::format(
          R"("op_type":{},"flops":{},"bytes":{},"output":"{}")", quoted(op.op_type), op.work.flops,
          op.work.bytes(),
          op.output_extents.empty() ? "?" : format_shape(Shape::of(op.output_extents[0])));
      if (subject_.costs != nullptr) {
        const OpCost& cost = subject_.costs->at(row, span.device);
        args += fmt::format(R"(,"bound":"{}","source":"{}")", bound_name(cost.bound),
                            cost_source_name(cost.source));
      }
    }
    add(fmt::format(
        R"({{"ph":"X","cat":"{}","name":{},"pid":{},"tid":{},"ts":{},"dur":{},"args":{{{}}}}})",
        category, quoted(task_name(task)), span.device.index(), span.queue, trace_us(span.start_ns),
        trace_us(span.end_ns - span.start_ns), args));
  }

  // On one of its ends' copy engines, for as long as it holds it.
  void add_copy(const CopyRecord& copy, DeviceId device, int engine) {
    if (engine < 0) {
      return;
    }
    const uint32_t thread = kFirstEngine + static_cast<uint32_t>(engine);
    if (named_.insert({device.index(), thread}).second) {
      add_name("thread_name", device.index(), thread, fmt::format("copy engine {}", engine));
    }
    add(fmt::format(R"({{"ph":"X","cat":"copy","name":{},"pid":{},"tid":{},"ts":{},"dur":{},)"
                    R"("args":{{"kind":"{}","bytes":{},"from":{},"to":{},"waited_us":{}}}}})",
                    quoted("copy of " + data_name(copy.data)), device.index(), thread,
                    trace_us(copy.start_ns), trace_us(copy.released_ns - copy.start_ns),
                    copy_kind_name(copy.kind), copy.bytes, quoted(node_name(copy.from)),
                    quoted(node_name(copy.to)), trace_us(copy.start_ns - copy.requested_ns)));
  }

  // An arrow per edge, from the producer's end to this task's start.
  void add_flows(TaskId task, const Span& span) {
    for (const uint32_t edge_index : subject_.tasks.in_edge_indices(task)) {
      const Edge& edge = subject_.tasks.edges()[edge_index];
      const Span& from = spans_[edge.from.index()];
      // Bound to the slice that encloses the moment: just before the end, at the start.
      const TimeNs leave = std::max(from.start_ns, from.end_ns - 1);
      add(fmt::format(
          R"({{"ph":"s","cat":"data","name":"data","id":{},"pid":{},"tid":{},"ts":{}}})",
          edge_index, from.device.index(), from.queue, trace_us(leave)));
      add(fmt::format(
          R"({{"ph":"f","bp":"e","cat":"data","name":"data","id":{},"pid":{},"tid":{},"ts":{}}})",
          edge_index, span.device.index(), span.queue, trace_us(span.start_ns)));
    }
  }

  void add_memory(const MemoryEvent& event) {
    add(fmt::format(
        R"({{"ph":"C","name":"memory","pid":{},"tid":0,"ts":{},"args":{{"bytes":{}}}}})",
        event.device.index(), trace_us(event.time_ns), event.in_use_bytes));
  }

  Subject subject_;
  std::vector<Span> spans_;
  std::set<std::pair<size_t, uint32_t>> named_;  // process and thread
  std::map<uint64_t, Transfer> transfers_;
  std::set<size_t> busy_lanes_;  // threads of links
  CopyLog copies_;
  std::string body_;
};

}  // namespace

std::unique_ptr<ChromeTrace> ChromeTrace::create(const Subject& subject) {
  return std::make_unique<ChromeTraceImpl>(subject);
}

}  // namespace dfsim::inline report
