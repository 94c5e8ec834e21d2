// Assembler: what all task-graph readers share: checked numbers, rows of equal cost kept once, and
// the final checks.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "graphs/taskgraph/task_graph.h"

namespace dfsim::inline graphs::taskgraph {

// The number `text` spells in full, or nothing. "nan" and "inf" are numbers here: see checked_ns.
std::optional<double> parse_number(std::string_view text);

// `value` units of `ns_per_unit` in nanoseconds, rounded to nearest. Error (kInvalidInput, without
// place): NaN, negative or above 2^61 ns; `what` names the value ("cost of task 'a'").
StatusOr<TimeNs> checked_ns(double value, double ns_per_unit, std::string_view what);
// `value` bytes, fractions rounded up. Error: NaN, negative or above 2^61.
StatusOr<Bytes> checked_bytes(double value, std::string_view what);

// Whether `text` is the second of two words. Error (kInvalidInput, without place): it is neither.
StatusOr<bool> second_of(std::string_view text, std::string_view what, const std::string& first,
                         const std::string& second);

class Assembler {
 public:
  // `columns` = times per task. Reserving is a hint; 0 when unknown.
  explicit Assembler(size_t columns = 1) : columns_(columns) {}
  void reserve(size_t tasks, size_t edges) { builder_.reserve(tasks, edges); }

  TaskId add_task(std::string name, std::span<const TimeNs> times_ns, Bytes resident_bytes = 0);
  DataId add_data(TaskId producer, Bytes bytes) {
    data_total_ += static_cast<double>(bytes);
    return builder_.add_data(producer, bytes);
  }
  void add_edge(DataId data, TaskId to) { builder_.add_edge(data, to); }
  // A data item of its own for this edge.
  void add_edge(TaskId from, TaskId to, Bytes bytes) { add_edge(add_data(from, bytes), to); }
  size_t task_count() const { return builder_.task_count(); }

  // Error (kInvalidInput): there is no task. For formats in which that can only be a mistake.
  Status check_tasks(const std::string& path) const;
  // Moves graph and times into `out`. `path` starts messages. Errors: a cycle, or times so large
  // that their sum would overflow the clock.
  Status finish(const std::string& path, TaskGraph& out);

 private:
  uint32_t intern_row(std::span<const TimeNs> times_ns);
  void grow_slots();
  uint64_t row_hash(std::span<const TimeNs> row) const;
  std::span<const TimeNs> row(size_t index) const {
    return std::span(rows_).subspan(index * columns_, columns_);
  }

  size_t columns_;
  ExecGraphBuilder builder_;
  std::vector<TimeNs> rows_;
  std::vector<uint32_t> slots_;  // open addressing over rows_
  double time_total_ = 0;
  double data_total_ = 0;
};

}  // namespace dfsim::inline graphs::taskgraph
