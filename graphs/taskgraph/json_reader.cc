#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/json/json_events.h"
#include "base/json/json_stream.h"
#include "base/text.h"
#include "graphs/taskgraph/assembler.h"
#include "graphs/taskgraph/readers.h"

namespace dfsim::inline graphs::taskgraph {
namespace {

using Kind = JsonEvent::Kind;

constexpr double kCannotRun = -1;  // a null cost
constexpr uint32_t kNoTask = UINT32_MAX;
constexpr double kMaxTasks = 4e9;

struct Unit {
  std::string_view name;
  double ns;
};
constexpr Unit kUnits[] = {{"none", static_cast<double>(kNsPerFileUnit)},
                           {"ns", 1.0},
                           {"us", static_cast<double>(kNsPerUs)},
                           {"ms", static_cast<double>(kNsPerMs)},
                           {"s", static_cast<double>(kNsPerSecond)}};

// Keeps tasks and edges as flat arrays of what the file says: units and the kind of communication
// may come after them.
class OwnListener : public JsonListener {
 public:
  explicit OwnListener(const CharSource& source) : source_(source) {}

  Status on_event(const JsonEvent& event) override;
  StatusOr<TaskGraph> assemble();

 private:
  struct Arc {
    uint32_t from;
    uint32_t to;
    double weight;
  };

  Status on_header(const JsonEvent& event);
  Status on_device(const JsonEvent& event);
  Status on_task(const JsonEvent& event, std::string_view key);
  Status on_edge(const JsonEvent& event, std::string_view key);
  Status add_cost(const JsonEvent& event);
  Status end_task();
  Status end_edge();
  Status read_end(const JsonEvent& event, uint32_t& end);
  Status set_comm(CommKind kind);
  Status add_tasks(Assembler& assembler, double ns_per_unit);
  Status add_edges(Assembler& assembler, double ns_per_unit);
  std::string task_label(size_t task) const;

  const CharSource& source_;
  TaskGraph out_;
  const Unit* unit_ = &kUnits[0];
  bool comm_known_ = false;
  double version_ = 0;
  double latency_ = 0;
  bool seen_tasks_ = false;

  std::vector<double> costs_;  // columns per task
  size_t columns_ = 0;         // of the first task; 0 = none yet
  std::vector<std::string> names_;
  std::vector<double> memory_;  // per task; empty while all are 0
  std::unordered_map<std::string, uint32_t> ids_;
  size_t task_count_ = 0;
  std::vector<Arc> arcs_;

  // The task or edge being read.
  size_t row_size_ = 0;
  std::string task_name_;
  double task_memory_ = 0;
  Arc arc_{};
  size_t arc_fields_ = 0;
};

Status wrong_kind(const JsonEvent& event, std::string_view expected) {
  return invalid_input(fmt::format("'{}' is {}, expected {}", printable(event.path),
                                   json_kind_name(event.kind), expected));
}

Status unknown_key(const JsonEvent& event, std::vector<std::string> names) {
  const std::string_view path = event.path;
  const size_t slash = path.rfind('/');
  return invalid_input(unknown_name_message(
      "key", path.substr(slash == std::string_view::npos ? 0 : slash + 1), std::move(names)));
}

std::string OwnListener::task_label(size_t task) const {
  return task < names_.size() && !names_[task].empty()
             ? fmt::format("'{}'", printable(names_[task]))
             : fmt::format("{}", task);
}

Status OwnListener::set_comm(CommKind kind) {
  if (comm_known_ && out_.comm != kind) {
    return invalid_input("the file gives both delays and bytes; expected one kind for all edges");
  }
  comm_known_ = true;
  out_.comm = kind;
  return ok_status();
}

Status OwnListener::on_header(const JsonEvent& event) {
  const std::string_view key = event.path;
  const bool text = key == "format" || key == "name" || key == "unit" || key == "communication" ||
                    key == "links" || key == "comment";
  const bool number = key == "version" || key == "bandwidth_bytes_per_s" || key == "latency";
  if (!text && !number) {
    return unknown_key(event,
                       {"format", "version", "name", "comment", "unit", "communication", "links",
                        "bandwidth_bytes_per_s", "latency", "devices", "tasks", "edges"});
  }
  if (event.kind != (text ? Kind::kString : Kind::kNumber)) {
    return wrong_kind(event, text ? "a text" : "a number");
  }
  if (key == "name") {
    out_.name = event.text;
  } else if (key == "version") {
    version_ = event.number;
  } else if (key == "latency") {
    latency_ = event.number;
  } else if (key == "bandwidth_bytes_per_s") {
    if (!(event.number > 0)) {
      return invalid_input(
          fmt::format("'{}' is {}, expected a positive number", key, event.number));
    }
    out_.bytes_per_s = event.number;
  } else if (key == "unit") {
    std::vector<std::string> names;
    for (const Unit& unit : kUnits) {
      if (unit.name == event.text) {
        unit_ = &unit;
        out_.has_unit = unit.name != "none";
        return ok_status();
      }
      names.emplace_back(unit.name);
    }
    return invalid_input(unknown_name_message("unit", event.text, names));
  } else if (key == "links") {
    DFSIM_ASSIGN_OR_RETURN(const bool fifo, second_of(event.text, "kind of links", "free", "fifo"));
    out_.links = fifo ? TaskGraphLinks::kFifo : TaskGraphLinks::kFree;
  } else if (key == "communication") {
    DFSIM_ASSIGN_OR_RETURN(const bool bytes,
                           second_of(event.text, "kind of communication", "delay", "bytes"));
    return set_comm(bytes ? CommKind::kBytes : CommKind::kDelay);
  }
  return ok_status();
}

Status OwnListener::on_device(const JsonEvent& event) {
  if (event.path == "devices") {
    return event.kind == Kind::kBeginArray || event.kind == Kind::kEndArray
               ? ok_status()
               : wrong_kind(event, "an array of devices");
  }
  if (event.path == "devices/*") {
    if (event.kind == Kind::kString) {
      out_.devices.push_back({std::string(event.text), 0});
    } else if (event.kind == Kind::kBeginObject) {
      out_.devices.emplace_back();
    } else if (event.kind == Kind::kEndObject) {
      if (out_.devices.back().name.empty()) {
        return invalid_input("a device has no name");
      }
    } else {
      return wrong_kind(event, "a device: its name, or an object with one");
    }
    return ok_status();
  }
  if (event.path == "devices/*/name" && event.kind == Kind::kString) {
    out_.devices.back().name = event.text;
    return ok_status();
  }
  if (event.path == "devices/*/memory_bytes" && event.kind == Kind::kNumber) {
    DFSIM_ASSIGN_OR_RETURN(out_.devices.back().memory_bytes,
                           checked_bytes(event.number, "memory_bytes of a device"));
    return ok_status();
  }
  return unknown_key(event, {"name", "memory_bytes"});
}

Status OwnListener::add_cost(const JsonEvent& event) {
  if (event.kind != Kind::kNumber && event.kind != Kind::kNull) {
    return wrong_kind(event, "a time, or null where the task cannot run");
  }
  if (event.kind == Kind::kNumber && !(event.number >= 0)) {
    return invalid_input(
        fmt::format("the cost of task {} is {}, expected 0 or more (null where it "
                    "cannot run)",
                    task_count_, event.number));
  }
  costs_.push_back(event.kind == Kind::kNull ? kCannotRun : event.number);
  ++row_size_;
  return ok_status();
}

Status OwnListener::end_task() {
  if (columns_ == 0) {
    columns_ = row_size_;
  }
  if (row_size_ == 0 || row_size_ != columns_) {
    return invalid_input(
        fmt::format("task {} has {} costs, expected {}", task_count_, row_size_,
                    columns_ == 0 ? std::string("one per device") : std::to_string(columns_)));
  }
  if (!task_name_.empty()) {
    if (!ids_.try_emplace(task_name_, static_cast<uint32_t>(task_count_)).second) {
      return invalid_input(fmt::format("there are two tasks '{}'", printable(task_name_)));
    }
    names_.resize(task_count_);
    names_.push_back(std::move(task_name_));
  }
  if (task_memory_ != 0) {
    memory_.resize(task_count_);
    memory_.push_back(task_memory_);
  }
  ++task_count_;
  return ok_status();
}

Status OwnListener::on_task(const JsonEvent& event, std::string_view key) {
  if (key == "*") {
    switch (event.kind) {
      case Kind::kBeginObject:
      case Kind::kBeginArray:
        row_size_ = 0;
        task_name_.clear();
        task_memory_ = 0;
        return ok_status();
      case Kind::kEndObject:
      case Kind::kEndArray:
        return end_task();
      case Kind::kNumber: {  // the cost on identical processors
        row_size_ = 0;
        task_name_.clear();
        task_memory_ = 0;
        DFSIM_RETURN_IF_ERROR(add_cost(event));
        return end_task();
      }
      default:
        return wrong_kind(event, "a task: an object, an array of costs or a cost");
    }
  }
  if (key == "*/*" || key == "*/cost/*" || (key == "*/cost" && event.is_scalar())) {
    return add_cost(event);
  }
  if (key == "*/cost" && (event.kind == Kind::kBeginArray || event.kind == Kind::kEndArray)) {
    return ok_status();
  }
  if (key == "*/name" && event.kind == Kind::kString) {
    task_name_ = event.text;
    return ok_status();
  }
  if (key == "*/memory_bytes" && event.kind == Kind::kNumber) {
    task_memory_ = event.number;
    return ok_status();
  }
  return unknown_key(event, {"name", "cost", "memory_bytes"});
}

Status OwnListener::read_end(const JsonEvent& event, uint32_t& end) {
  if (event.kind == Kind::kString) {
    const auto found = ids_.find(std::string(event.text));
    if (found == ids_.end()) {
      return invalid_input(
          fmt::format("an edge names task '{}', which is not among the {} tasks "
                      "before this line",
                      printable(event.text), task_count_));
    }
    end = found->second;
    return ok_status();
  }
  if (event.kind != Kind::kNumber || event.number != std::floor(event.number) ||
      !(event.number >= 0) || event.number > kMaxTasks) {
    return wrong_kind(event, "a task's name or position (0, 1, ...)");
  }
  end = static_cast<uint32_t>(event.number);
  return ok_status();
}

Status OwnListener::end_edge() {
  if (arc_.from == kNoTask || arc_.to == kNoTask) {
    return invalid_input(
        fmt::format("edge {} has no {}", arcs_.size(), arc_.from == kNoTask ? "'from'" : "'to'"));
  }
  if (seen_tasks_ && std::max(arc_.from, arc_.to) >= task_count_) {
    return invalid_input(fmt::format("edge {} joins task {} to {}, but there are {} tasks",
                                     arcs_.size(), arc_.from, arc_.to, task_count_));
  }
  arcs_.push_back(arc_);
  return ok_status();
}

Status OwnListener::on_edge(const JsonEvent& event, std::string_view key) {
  if (key == "*") {
    if (event.kind == Kind::kBeginObject || event.kind == Kind::kBeginArray) {
      arc_ = {kNoTask, kNoTask, 0};
      arc_fields_ = 0;
      return ok_status();
    }
    return event.kind == Kind::kEndObject || event.kind == Kind::kEndArray
               ? end_edge()
               : wrong_kind(event, "an edge: an object or [from, to, weight]");
  }
  const size_t field = key == "*/*" ? arc_fields_++ : key == "*/from" ? 0 : key == "*/to" ? 1 : 2;
  if (field < 2) {
    return read_end(event, field == 0 ? arc_.from : arc_.to);
  }
  if (field > 2) {
    return invalid_input(fmt::format("edge {} has over three entries", arcs_.size()));
  }
  if (key != "*/*" && key != "*/delay" && key != "*/bytes") {
    return unknown_key(event, {"from", "to", "delay", "bytes"});
  }
  if (event.kind != Kind::kNumber || !(event.number >= 0)) {
    return event.kind == Kind::kNumber
               ? invalid_input(fmt::format("the weight of edge {} is {}, expected 0 or more",
                                           arcs_.size(), event.number))
               : wrong_kind(event, "a number");
  }
  arc_.weight = event.number;
  return key == "*/*" ? ok_status()
                      : set_comm(key == "*/delay" ? CommKind::kDelay : CommKind::kBytes);
}

Status OwnListener::on_event(const JsonEvent& event) {
  const std::string_view path = event.path;
  if (path.starts_with("tasks/")) {
    return on_task(event, path.substr(6));
  }
  if (path.starts_with("edges/")) {
    return on_edge(event, path.substr(6));
  }
  if (path.starts_with("devices")) {
    return on_device(event);
  }
  if (path == "tasks" || path == "edges") {
    seen_tasks_ = seen_tasks_ || (path == "tasks" && event.kind == Kind::kEndArray);
    return event.kind == Kind::kBeginArray || event.kind == Kind::kEndArray
               ? ok_status()
               : wrong_kind(event, "an array");
  }
  return path.empty() ? ok_status() : on_header(event);
}

Status OwnListener::add_tasks(Assembler& assembler, double ns_per_unit) {
  std::vector<TimeNs> row(columns_);
  names_.resize(names_.empty() ? 0 : task_count_);
  for (size_t i = 0; i < task_count_; ++i) {
    bool runs_somewhere = false;
    for (size_t c = 0; c < columns_; ++c) {
      const double cost = costs_[i * columns_ + c];
      row[c] = -1;
      if (cost != kCannotRun) {
        DFSIM_ASSIGN_OR_RETURN(row[c],
                               checked_ns(cost, ns_per_unit, "the cost of task " + task_label(i)));
        runs_somewhere = true;
      }
    }
    if (!runs_somewhere) {
      return invalid_input(
          fmt::format("task {} can run on no device: all its costs are null", task_label(i)));
    }
    Bytes memory = 0;
    if (i < memory_.size()) {
      DFSIM_ASSIGN_OR_RETURN(memory,
                             checked_bytes(memory_[i], "memory_bytes of task " + task_label(i)));
    }
    assembler.add_task(names_.empty() ? "" : std::move(names_[i]), row, memory);
  }
  return ok_status();
}

Status OwnListener::add_edges(Assembler& assembler, double ns_per_unit) {
  const bool delay = out_.comm == CommKind::kDelay;
  for (size_t e = 0; e < arcs_.size(); ++e) {
    const Arc& arc = arcs_[e];
    if (std::max(arc.from, arc.to) >= task_count_) {
      return invalid_input(fmt::format("edge {} joins task {} to {}, but there are {} tasks", e,
                                       arc.from, arc.to, task_count_));
    }
    const std::string what = fmt::format("the weight of edge {}", e);
    DFSIM_ASSIGN_OR_RETURN(const Bytes amount, delay ? checked_ns(arc.weight, ns_per_unit, what)
                                                     : checked_bytes(arc.weight, what));
    assembler.add_edge(TaskId(arc.from), TaskId(arc.to), amount);
  }
  return ok_status();
}

StatusOr<TaskGraph> OwnListener::assemble() {
  const std::string& path = source_.path();
  if (version_ != 1) {
    return unsupported(fmt::format("{}: 'version' is {}, expected 1", path, version_));
  }
  if (!out_.devices.empty() && columns_ != 0 && columns_ != out_.devices.size()) {
    return invalid_input(
        fmt::format("{}: {} devices, but {} costs per task", path, out_.devices.size(), columns_));
  }
  for (size_t c = out_.devices.size(); columns_ > 1 && c < columns_; ++c) {
    out_.devices.push_back({fmt::format("P{}", c + 1), 0});
  }
  Assembler assembler(out_.columns());
  assembler.reserve(task_count_, arcs_.size());
  auto latency = checked_ns(latency_, unit_->ns, "'latency'");
  Status status = latency.ok() ? add_tasks(assembler, unit_->ns) : latency.status();
  if (status.ok()) {
    status = add_edges(assembler, unit_->ns);
  }
  if (!status.ok()) {
    return status.with_place(path);
  }
  out_.format = "json";
  out_.latency_ns = *latency;
  DFSIM_RETURN_IF_ERROR(assembler.finish(path, out_));
  return std::move(out_);
}

bool starts_like_json(std::string_view start) {
  return start.front() == '{' && start.find("\"dfsim-taskgraph\"") != std::string_view::npos;
}

// dfsim's own JSON.
StatusOr<TaskGraph> read_json_graph(CharSource source) {
  OwnListener listener(source);
  JsonStream stream = json_stream(source, {"devices", "tasks", "edges"});
  DFSIM_RETURN_IF_ERROR(read_json_events(stream, listener));
  return listener.assemble();
}

}  // namespace

TaskGraphFormat json_format() {
  return {.name = "json",
          .looks_like = "dfsim-taskgraph (JSON)",
          .sniff = starts_like_json,
          .read = read_json_graph};
}

}  // namespace dfsim::inline graphs::taskgraph
