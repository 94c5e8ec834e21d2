// Writes the format of json_reader.cc in pieces of bounded size, so that a graph of millions of
// tasks is never text as a whole.
#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <string>

#include "base/io/output_file.h"
#include "base/json/json_tree.h"
#include "graphs/taskgraph/task_graph.h"

namespace dfsim::inline graphs {
namespace {

constexpr size_t kPieceBytes = size_t{1} << 18;

// Nanoseconds in file units: at most six digits after the point, none that say nothing.
void append_time(std::string& out, TimeNs ns, TimeNs ns_per_unit) {
  fmt::format_to(std::back_inserter(out), "{}", ns / ns_per_unit);
  if (ns % ns_per_unit != 0) {
    std::string fraction = fmt::format("{:06}", ns % ns_per_unit);
    fraction.erase(fraction.find_last_not_of('0') + 1);
    out += '.' + fraction;
  }
}

class Writer {
 public:
  Writer(const TaskGraph& task_graph, OutputFile& file)
      : task_graph_(task_graph),
        file_(file),
        ns_per_unit_(task_graph.has_unit ? 1 : kNsPerFileUnit) {}

  Status write() {
    write_header();
    write_tasks();
    write_edges();
    out_ += "}\n";
    flush();
    return status_of_writes_;
  }

 private:
  static std::string quoted(const std::string& text) { return JsonTree(text).compact_text(); }
  void flush() {
    if (status_of_writes_.ok()) {
      status_of_writes_ = file_.write(out_);
    }
    out_.clear();
  }
  void flush_when_full() {
    if (out_.size() >= kPieceBytes) {
      flush();
    }
  }
  void write_header();
  void write_tasks();
  void write_edges();

  const TaskGraph& task_graph_;
  OutputFile& file_;
  TimeNs ns_per_unit_;
  std::string out_;
  Status status_of_writes_ = ok_status();  // the first error stays
};

void Writer::write_header() {
  out_ += "{\"format\": \"dfsim-taskgraph\", \"version\": 1,\n";
  out_ += "\"name\": " + quoted(task_graph_.name) + ",\n";
  out_ += fmt::format("\"unit\": \"{}\", \"communication\": \"{}\",\n",
                      task_graph_.has_unit ? "ns" : "none",
                      task_graph_.comm == CommKind::kDelay ? "delay" : "bytes");
  if (task_graph_.bytes_per_s > 0) {
    out_ += fmt::format("\"bandwidth_bytes_per_s\": {},\n", task_graph_.bytes_per_s);
  }
  if (task_graph_.latency_ns > 0) {
    out_ += "\"latency\": ";
    append_time(out_, task_graph_.latency_ns, ns_per_unit_);
    out_ += ",\n";
  }
  if (task_graph_.links == TaskGraphLinks::kFifo) {
    out_ += "\"links\": \"fifo\",\n";
  }
  if (!task_graph_.devices.empty()) {
    out_ += "\"devices\": [";
    for (size_t d = 0; d < task_graph_.devices.size(); ++d) {
      const TaskGraphDevice& device = task_graph_.devices[d];
      out_ += fmt::format("{}{{\"name\": {}, \"memory_bytes\": {}}}", d > 0 ? ", " : "",
                          quoted(device.name), device.memory_bytes);
    }
    out_ += "],\n";
  }
}

void Writer::write_tasks() {
  const ExecGraph& graph = task_graph_.graph;
  const size_t columns = task_graph_.columns();
  out_ += "\"tasks\": [";
  for (size_t i = 0; i < graph.task_count(); ++i) {
    const TaskId task(i);
    out_ += i > 0 ? ",\n" : "\n";
    const bool named = graph.name(task) != fmt::format("t{}", i);
    const bool object = named || graph.resident_bytes(task) > 0;
    if (object) {
      out_ += "{\"name\": " + quoted(graph.name(task));
      out_ += fmt::format(", \"memory_bytes\": {}, \"cost\": ", graph.resident_bytes(task));
    }
    out_ += '[';
    for (size_t c = 0; c < columns; ++c) {
      const TimeNs time = task_graph_.times_ns[graph.cost_row(task) * columns + c];
      out_ += c > 0 ? ", " : "";
      if (time < 0) {
        out_ += "null";
      } else {
        append_time(out_, time, ns_per_unit_);
      }
    }
    out_ += object ? "]}" : "]";
    flush_when_full();
  }
  out_ += "],\n";
}

void Writer::write_edges() {
  const ExecGraph& graph = task_graph_.graph;
  const bool delay = task_graph_.comm == CommKind::kDelay;
  out_ += "\"edges\": [";
  bool first = true;
  for (const Edge& edge : graph.edges()) {
    out_ += fmt::format("{}[{}, {}, ", first ? "\n" : ",\n", edge.from.value(), edge.to.value());
    append_time(out_, graph.edge_bytes(edge), delay ? ns_per_unit_ : 1);
    out_ += ']';
    first = false;
    flush_when_full();
  }
  out_ += "]";
}

}  // namespace

Status write_task_graph(const TaskGraph& task_graph, const std::string& path) {
  DFSIM_ASSIGN_OR_RETURN(OutputFile file, OutputFile::open(path));
  DFSIM_RETURN_IF_ERROR(Writer(task_graph, file).write());
  return file.commit();
}

}  // namespace dfsim::inline graphs
