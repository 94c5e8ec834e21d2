// Checks numbers of task graphs and keeps rows of equal costs once, found by a hash table of its
// own: graphs of a million tasks have few distinct rows, and a row may be as long as there are
// devices.
#include "graphs/taskgraph/assembler.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/hash.h"
#include "base/text.h"

namespace dfsim::inline graphs::taskgraph {
namespace {

constexpr double kMaxTotal = 0x1.0p62;
constexpr double kMaxValue = 0x1.0p61;
constexpr uint32_t kFree = UINT32_MAX;

}  // namespace

std::optional<double> parse_number(std::string_view text) {
  double value = 0;
  const char* begin = text.data() + (text.starts_with('+') ? 1 : 0);
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(begin, end, value);
  if (error != std::errc() || stop != end) {
    return std::nullopt;
  }
  return value;
}

StatusOr<TimeNs> checked_ns(double value, double ns_per_unit, std::string_view what) {
  const double ns = value * ns_per_unit;
  if (!(value >= 0) || !(ns <= kMaxValue)) {
    return invalid_input(fmt::format("{} is {}; expected a number from 0 to {:.3g} that is not NaN",
                                     what, value, kMaxValue / ns_per_unit));
  }
  return static_cast<TimeNs>(std::llround(ns));
}

StatusOr<bool> second_of(std::string_view text, std::string_view what, const std::string& first,
                         const std::string& second) {
  return text == first || text == second
             ? StatusOr<bool>(text == second)
             : invalid_input(unknown_name_message(what, text, {first, second}));
}

StatusOr<Bytes> checked_bytes(double value, std::string_view what) {
  if (!(value >= 0) || !(value <= kMaxValue)) {
    return invalid_input(
        fmt::format("{} is {}; expected a number of bytes, 0 or more", what, value));
  }
  return static_cast<Bytes>(std::ceil(value));
}

TaskId Assembler::add_task(std::string name, std::span<const TimeNs> times_ns,
                           Bytes resident_bytes) {
  ExecGraphBuilder::Task task;
  task.cost_row = intern_row(times_ns);
  task.resident_bytes = resident_bytes;
  task.name = std::move(name);
  time_total_ += static_cast<double>(*std::max_element(times_ns.begin(), times_ns.end()));
  return builder_.add_task(std::move(task));
}

uint64_t Assembler::row_hash(std::span<const TimeNs> row) const {
  Hasher hasher;
  for (const TimeNs time : row) {
    hasher.add(static_cast<uint64_t>(time));
  }
  return hasher.digest();
}

void Assembler::grow_slots() {
  slots_.assign(std::max<size_t>(64, slots_.size() * 2), kFree);
  for (size_t i = 0; i * columns_ < rows_.size(); ++i) {
    size_t slot = row_hash(row(i)) & (slots_.size() - 1);
    while (slots_[slot] != kFree) {
      slot = (slot + 1) & (slots_.size() - 1);
    }
    slots_[slot] = static_cast<uint32_t>(i);
  }
}

uint32_t Assembler::intern_row(std::span<const TimeNs> times_ns) {
  DFSIM_CHECK(times_ns.size() == columns_);
  const size_t count = rows_.size() / columns_;
  if (count * 2 >= slots_.size()) {
    grow_slots();
  }
  size_t slot = row_hash(times_ns) & (slots_.size() - 1);
  while (slots_[slot] != kFree) {
    if (std::ranges::equal(row(slots_[slot]), times_ns)) {
      return slots_[slot];
    }
    slot = (slot + 1) & (slots_.size() - 1);
  }
  slots_[slot] = static_cast<uint32_t>(count);
  rows_.insert(rows_.end(), times_ns.begin(), times_ns.end());
  return static_cast<uint32_t>(count);
}

Status Assembler::check_tasks(const std::string& path) const {
  return rows_.empty()
             ? invalid_input(fmt::format("{}: holds no task, expected at least one", path))
             : ok_status();
}

Status Assembler::finish(const std::string& path, TaskGraph& out) {
  if (!(time_total_ + data_total_ < kMaxTotal)) {
    return invalid_input(fmt::format(
        "{}: all times and amounts of data add up to {:.3g}, above what the clock of 2^62 ns can "
        "count; scale the weights down",
        path, time_total_ + data_total_));
  }
  auto graph = builder_.build();
  if (!graph.ok()) {
    return graph.status().with_place(path);
  }
  out.graph = std::move(graph).value();
  out.times_ns = std::move(rows_);
  return ok_status();
}

}  // namespace dfsim::inline graphs::taskgraph
