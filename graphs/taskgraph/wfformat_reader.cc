// WfFormat has two lists about the same tasks, specification and execution, in either order. The
// listener collects both by id and joins them at the end; files join producers and readers as in
// DAX.
#include <fmt/format.h>

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/json/json_events.h"
#include "base/json/json_stream.h"
#include "base/text.h"
#include "graphs/taskgraph/assembler.h"
#include "graphs/taskgraph/file_edges.h"
#include "graphs/taskgraph/readers.h"

namespace dfsim::inline graphs::taskgraph {
namespace {

constexpr std::string_view kVersion = "1.5";

// Collects what matters of a WfFormat document; ids of tasks may be mentioned before or after their
// definition.
class WfListener : public JsonListener {
 public:
  explicit WfListener(const CharSource& source) : source_(source) {}

  Status on_event(const JsonEvent& event) override;
  StatusOr<TaskGraph> assemble();

 private:
  struct Task {
    std::string id;
    std::optional<TimeNs> time;
    bool specified = false;
    size_t line = 0;
  };

  uint32_t task(std::string_view id);
  Status begin_task();
  // Applies what an object of specification/tasks collected, now that its id is known.
  Status flush_specification();
  Status flush_execution();
  Status expect(const JsonEvent& event, JsonEvent::Kind kind) const;

  const CharSource& source_;
  std::string name_;
  std::string version_;
  std::vector<Task> tasks_;
  std::unordered_map<std::string, uint32_t> ids_;
  FileEdges files_;
  size_t machines_ = 0;

  // The object being read, and the line where it ends.
  size_t line_ = 1;
  std::string id_;
  std::vector<std::string> parents_;
  std::vector<std::string> children_;
  std::vector<std::string> inputs_;
  std::vector<std::string> outputs_;
  std::optional<double> number_;  // run time or file size
};

uint32_t WfListener::task(std::string_view id) {
  const auto [entry, added] =
      ids_.try_emplace(std::string(id), static_cast<uint32_t>(tasks_.size()));
  if (added) {
    tasks_.push_back({std::string(id), std::nullopt, false, line_});
  }
  return entry->second;
}

Status WfListener::expect(const JsonEvent& event, JsonEvent::Kind kind) const {
  if (event.kind == kind) {
    return ok_status();
  }
  return invalid_input(fmt::format("'{}' is {}, expected {}", printable(event.path),
                                   json_kind_name(event.kind), json_kind_name(kind)));
}

Status WfListener::begin_task() {
  id_.clear();
  parents_.clear();
  children_.clear();
  inputs_.clear();
  outputs_.clear();
  number_.reset();
  return ok_status();
}

Status WfListener::flush_specification() {
  if (id_.empty()) {
    return invalid_input("a task of 'specification' has no id");
  }
  const uint32_t self = task(id_);
  if (tasks_[self].specified) {
    return invalid_input(fmt::format("task '{}' is specified twice", printable(id_)));
  }
  tasks_[self].specified = true;
  for (const std::string& parent : parents_) {
    files_.add_dependency(task(parent), self);
  }
  for (const std::string& child : children_) {
    files_.add_dependency(self, task(child));
  }
  for (const std::string& file : inputs_) {
    files_.add_input(self, files_.file(file));
  }
  for (const std::string& file : outputs_) {
    files_.add_output(self, files_.file(file));
  }
  return ok_status();
}

Status WfListener::flush_execution() {
  if (id_.empty() || !number_.has_value()) {
    return invalid_input(fmt::format("task '{}' of 'execution' has no {}", printable(id_),
                                     id_.empty() ? "id" : "runtimeInSeconds"));
  }
  const uint32_t self = task(id_);
  if (tasks_[self].time.has_value()) {
    return invalid_input(fmt::format("task '{}' was executed twice", printable(id_)));
  }
  DFSIM_ASSIGN_OR_RETURN(tasks_[self].time,
                         checked_ns(*number_, static_cast<double>(kNsPerSecond),
                                    fmt::format("runtimeInSeconds of '{}'", printable(id_))));
  return ok_status();
}

Status WfListener::on_event(const JsonEvent& event) {
  using Kind = JsonEvent::Kind;
  constexpr std::string_view kSpecification = "workflow/specification/";
  constexpr std::string_view kExecution = "workflow/execution/";
  std::string_view path = event.path;
  if (path == "name" || path == "schemaVersion") {
    DFSIM_RETURN_IF_ERROR(expect(event, Kind::kString));
    (path == "name" ? name_ : version_) = event.text;
  } else if (path.starts_with(kSpecification)) {
    path.remove_prefix(kSpecification.size());
    if (path == "tasks/*" || path == "files/*") {
      if (event.kind == Kind::kBeginObject) {
        return begin_task();
      }
      DFSIM_RETURN_IF_ERROR(expect(event, Kind::kEndObject));
      if (path == "tasks/*") {
        line_ = event.line();
        return flush_specification();
      }
      DFSIM_ASSIGN_OR_RETURN(
          const Bytes bytes,
          checked_bytes(number_.value_or(0), fmt::format("the size of '{}'", printable(id_))));
      files_.set_size(files_.file(id_), bytes);
      return ok_status();
    }
    const bool id = path == "tasks/*/id" || path == "files/*/id";
    std::vector<std::string>* list = path == "tasks/*/parents/*"       ? &parents_
                                     : path == "tasks/*/children/*"    ? &children_
                                     : path == "tasks/*/inputFiles/*"  ? &inputs_
                                     : path == "tasks/*/outputFiles/*" ? &outputs_
                                                                       : nullptr;
    if (id || list != nullptr) {
      DFSIM_RETURN_IF_ERROR(expect(event, Kind::kString));
      if (id) {
        id_ = event.text;
      } else {
        list->emplace_back(event.text);
      }
    } else if (path == "files/*/sizeInBytes") {
      DFSIM_RETURN_IF_ERROR(expect(event, Kind::kNumber));
      number_ = event.number;
    }
  } else if (path.starts_with(kExecution)) {
    path.remove_prefix(kExecution.size());
    if (path == "tasks/*") {
      line_ = event.line();
      return event.kind == Kind::kBeginObject ? begin_task() : flush_execution();
    }
    if (path == "machines/*") {
      machines_ += event.kind == Kind::kBeginObject ? 1 : 0;
    } else if (path == "tasks/*/id") {
      DFSIM_RETURN_IF_ERROR(expect(event, Kind::kString));
      id_ = event.text;
    } else if (path == "tasks/*/runtimeInSeconds") {
      DFSIM_RETURN_IF_ERROR(expect(event, Kind::kNumber));
      number_ = event.number;
    }
  }
  return ok_status();
}

StatusOr<TaskGraph> WfListener::assemble() {
  const std::string& path = source_.path();
  if (version_ != kVersion) {
    return unsupported(
        fmt::format("{}: schemaVersion is '{}', expected {}; convert it with the "
                    "WfCommons tools",
                    path, printable(version_, 20), kVersion));
  }
  Assembler assembler;
  for (const Task& task : tasks_) {
    if (!task.specified) {
      return source_.error_at(task.line, fmt::format("task '{}' is mentioned here, but not in "
                                                     "workflow.specification.tasks",
                                                     printable(task.id)));
    }
    if (!task.time.has_value()) {
      return source_.error_at(
          task.line,
          fmt::format("task '{}' has no run time in workflow.execution.tasks", printable(task.id)));
    }
    assembler.add_task(task.id, std::span(&*task.time, 1));
  }
  files_.assemble(assembler);
  TaskGraph out;
  out.name = name_;
  out.format = "wfformat";
  out.comm = CommKind::kBytes;
  out.has_unit = true;
  out.suggested_devices = machines_;
  DFSIM_RETURN_IF_ERROR(assembler.check_tasks(path));
  DFSIM_RETURN_IF_ERROR(assembler.finish(path, out));
  return out;
}

bool starts_like_wfformat(std::string_view start) {
  const auto has = [&](std::string_view key) { return start.find(key) != std::string_view::npos; };
  return start.front() == '{' && !has("\"dfsim-taskgraph\"") &&
         (has("\"schemaVersion\"") || has("\"workflow\""));
}

// WfCommons WfFormat 1.5: recorded workflows; seconds and bytes.
StatusOr<TaskGraph> read_wfformat_graph(CharSource source) {
  WfListener listener(source);
  JsonStream stream =
      json_stream(source, {"workflow/specification/tasks", "workflow/specification/files",
                           "workflow/execution/tasks", "workflow/execution/machines"});
  DFSIM_RETURN_IF_ERROR(read_json_events(stream, listener));
  return listener.assemble();
}

}  // namespace

TaskGraphFormat wfformat_format() {
  return {.name = "wfformat",
          .looks_like = "WfFormat (JSON)",
          .sniff = starts_like_wfformat,
          .read = read_wfformat_graph};
}

}  // namespace dfsim::inline graphs::taskgraph
