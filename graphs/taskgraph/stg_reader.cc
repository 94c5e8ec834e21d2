// Kasahara's format is words separated by blanks; the reader asks for one word after the other
// and knows the line for errors. Two dummy tasks may or may not be counted in the header, which
// shows only at the end of the file.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <vector>

#include "base/text.h"
#include "graphs/taskgraph/assembler.h"
#include "graphs/taskgraph/readers.h"

namespace dfsim::inline graphs::taskgraph {
namespace {

constexpr uint64_t kMaxStgTasks = 1'000'000'000;

class StgReader {
 public:
  explicit StgReader(CharSource source) : source_(std::move(source)) {}

  StatusOr<TaskGraph> read();

 private:
  struct Arc {
    uint32_t from;
    uint32_t to;
  };

  // The next blank-separated word, "" at the end; comments skipped.
  const std::string& word();
  StatusOr<uint64_t> whole_number(std::string_view what, uint64_t limit);
  Status read_task(uint64_t number);
  StatusOr<TaskGraph> assemble();

  CharSource source_;
  std::string word_;
  size_t word_line_ = 1;
  std::vector<TimeNs> times_;
  std::vector<Arc> arcs_;
  bool sorted_ = true;  // each predecessor has a smaller number
};

const std::string& StgReader::word() {
  word_.clear();
  int c = source_.get();
  while (c != CharSource::kEnd && (std::isspace(c) != 0 || c == '#')) {
    while (c == '#' && source_.peek() != '\n' && source_.peek() != CharSource::kEnd) {
      source_.get();
    }
    c = source_.get();
  }
  word_line_ = source_.line();
  while (c != CharSource::kEnd) {
    word_ += static_cast<char>(c);
    if (std::isspace(source_.peek()) != 0 || source_.peek() == '#') {
      break;
    }
    c = source_.get();
  }
  return word_;
}

StatusOr<uint64_t> StgReader::whole_number(std::string_view what, uint64_t limit) {
  if (word().empty()) {
    return source_.error(fmt::format("the file ends where {} is expected", what));
  }
  uint64_t value = 0;
  for (const char c : word_) {
    if (c < '0' || c > '9' || value > limit) {
      return source_.error_at(word_line_, fmt::format("found '{}', expected {} (0 to {})",
                                                      printable(word_, 24), what, limit));
    }
    value = value * 10 + static_cast<uint64_t>(c - '0');
  }
  if (value > limit) {
    return source_.error_at(word_line_,
                            fmt::format("found {}, expected {} of at most {}", value, what, limit));
  }
  return value;
}

Status StgReader::read_task(uint64_t number) {
  const std::string what = fmt::format("task {}", number);
  const auto time = parse_number(word());
  if (!time.has_value()) {
    return source_.error_at(
        word_line_, fmt::format("found '{}', expected the time of {}", printable(word_, 24), what));
  }
  const auto ns = checked_ns(*time, static_cast<double>(kNsPerFileUnit), "the time of " + what);
  if (!ns.ok()) {
    return source_.error_at(word_line_, ns.status().message());
  }
  times_.push_back(*ns);
  DFSIM_ASSIGN_OR_RETURN(const uint64_t count,
                         whole_number("the number of predecessors of " + what, kMaxStgTasks));
  for (uint64_t i = 0; i < count; ++i) {
    DFSIM_ASSIGN_OR_RETURN(const uint64_t from,
                           whole_number("a predecessor of " + what, kMaxStgTasks));
    arcs_.push_back({static_cast<uint32_t>(from), static_cast<uint32_t>(number)});
    sorted_ = sorted_ && from < number;
  }
  return ok_status();
}

StatusOr<TaskGraph> StgReader::assemble() {
  Assembler assembler;
  assembler.reserve(times_.size(), arcs_.size());
  for (size_t i = 0; i < times_.size(); ++i) {
    // In a sorted file the ids are the numbers, and so are default names.
    assembler.add_task(sorted_ ? "" : fmt::format("t{}", i), std::span(&times_[i], 1));
  }
  for (const Arc& arc : arcs_) {
    if (arc.from >= times_.size()) {
      return invalid_input(
          fmt::format("{}: task {} names predecessor {}, but the file has tasks 0 to {}",
                      source_.path(), arc.to, arc.from, times_.size() - 1));
    }
    assembler.add_edge(TaskId(arc.from), TaskId(arc.to), 0);
  }
  TaskGraph out;
  out.format = "stg";
  DFSIM_RETURN_IF_ERROR(assembler.finish(source_.path(), out));
  return out;
}

StatusOr<TaskGraph> StgReader::read() {
  DFSIM_ASSIGN_OR_RETURN(const uint64_t declared,
                         whole_number("the number of tasks", kMaxStgTasks));
  while (true) {
    if (word().empty()) {
      break;
    }
    const auto number = parse_number(word_);
    if (number != static_cast<double>(times_.size())) {
      return source_.error_at(word_line_, fmt::format("found '{}', expected the number of task {}",
                                                      printable(word_, 24), times_.size()));
    }
    if (times_.size() >= declared + 2) {
      return source_.error_at(
          word_line_, fmt::format("task {} is one too many: the first line says {} tasks (plus at "
                                  "most two dummies)",
                                  times_.size(), declared));
    }
    DFSIM_RETURN_IF_ERROR(read_task(times_.size()));
  }
  if (times_.size() != declared && times_.size() != declared + 2) {
    return source_.error(fmt::format(
        "the file ends after {} tasks; the first line says {} (plus two dummies or none)",
        times_.size(), declared));
  }
  return assemble();
}

bool starts_like_stg(std::string_view start) {
  const auto plain = [](char c) {
    return c > 0 && (c >= ' ' || c == '\n' || c == '\r' || c == '\t');
  };
  return std::isdigit(static_cast<unsigned char>(start.front())) != 0 &&
         std::all_of(start.begin(), start.begin() + std::min<size_t>(start.size(), 256), plain);
}

// Kasahara's Standard Task Graph format: the number of tasks, then per task its number, time,
// number of predecessors and their numbers; '#' starts a comment. The count may or may not include
// the two dummy tasks at both ends. Edges carry no data.
StatusOr<TaskGraph> read_stg_graph(CharSource source) {
  return StgReader(std::move(source)).read();
}

}  // namespace

TaskGraphFormat stg_format() {
  return {.name = "stg",
          .looks_like = "STG (a number)",
          .sniff = starts_like_stg,
          .read = read_stg_graph};
}

}  // namespace dfsim::inline graphs::taskgraph
