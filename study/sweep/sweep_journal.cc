// One line per finished point, appended and flushed, behind a header that names the program's
// version. A line that was cut off when a sweep was killed is skipped, and its point runs again.
#include "study/sweep/sweep_journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/json/json_tree.h"
#include "base/json/json_value.h"
#include "base/text.h"

namespace dfsim::inline study {
namespace {

constexpr std::string_view kJournalStart = R"({"schema":"dfsim.sweep-journal/)";

std::string journal_header(const std::string& program) {
  return fmt::format("{}2\",\"program\":{}}}", kJournalStart, JsonTree(program).compact_text());
}

// The program in a header, or the header when that names none.
std::string program_of_header(const std::string& header) {
  const PaddedJson padded(header);
  JsonParser parser;
  JsonValue value;
  std::string_view program;
  const bool found = parser.parse_object(padded.view(), &value) && value["program"].get(&program);
  return printable(found ? program : std::string_view(header), 100);
}

Status not_a_journal(const std::string& path) {
  return invalid_input(path +
                       ": found another file, expected the finished points of a sweep; move "
                       "it, or give another -o");
}

// Calls visit(name, field) for each figure, to write and to read them alike.
template <typename Figures, typename Visit>
void each_figure(Figures& figures, const Visit& visit) {
  visit("latency_ns", figures.latency_ns);
  visit("low_ns", figures.interval.low_ns);
  visit("high_ns", figures.interval.high_ns);
  visit("throughput_per_s", figures.throughput_per_s);
  visit("batch", figures.batch);
  visit("peak_memory_bytes", figures.peak_memory_bytes);
  visit("memory_bytes", figures.memory_bytes);
  visit("weight_bytes", figures.weight_bytes);
  visit("parameters", figures.parameters);
  visit("macs", figures.macs);
  visit("flops", figures.flops);
  visit("achieved_flops_per_s", figures.achieved_flops_per_s);
  visit("device_busy_ns", figures.device_busy_ns);
  visit("host_busy_ns", figures.host_busy_ns);
  visit("tasks", figures.tasks);
  visit("unresolved_ops", figures.unresolved_ops);
  visit("bound_only_fraction", figures.bound_only_fraction);
}

bool get_figure(const JsonValue& value, uint64_t* figure) {
  int64_t number = 0;
  const bool found = value.get(&number) && number >= 0;
  *figure = static_cast<uint64_t>(number);
  return found;
}
bool get_figure(const JsonValue& value, int64_t* figure) { return value.get(figure); }
bool get_figure(const JsonValue& value, double* figure) { return value.get(figure); }

std::string journal_line(const std::string& key, const SweepRow& row) {
  JsonTree line = {{"key", key}, {"runtime", row.runtime}};
  if (row.error.empty()) {
    each_figure(row.figures, [&](const char* name, auto figure) { line[name] = figure; });
  } else {
    line["error"] = row.error;
  }
  return line.compact_text() + "\n";
}

// False for a line that is cut off or from another program.
bool parse_journal_line(JsonParser& parser, const std::string& text, std::string* key,
                        SweepRow* row) {
  const PaddedJson padded(text);
  JsonValue value;
  std::string_view name;
  std::string_view runtime;
  if (!parser.parse_object(padded.view(), &value) || !value["key"].get(&name) ||
      !value["runtime"].get(&runtime)) {
    return false;
  }
  *key = name;
  row->runtime = runtime;
  std::string_view error;
  if (value["error"].get(&error)) {
    row->error = error;
    return !row->error.empty();
  }
  bool complete = true;
  each_figure(row->figures, [&](const char* figure, auto& target) {
    complete = get_figure(value[figure], &target) && complete;
  });
  return complete;
}

// The lines behind the header.
Status read_journal_lines(std::ifstream& in, const TakeFinishedPoint& take) {
  JsonParser parser;
  std::string line;
  std::string key;
  while (std::getline(in, line)) {
    SweepRow row;
    if (parse_journal_line(parser, line, &key, &row)) {
      DFSIM_RETURN_IF_ERROR(take(key, row));
    }
  }
  return ok_status();
}

bool ends_with_line_break(std::ifstream& in) {
  in.clear();
  in.seekg(-1, std::ios::end);
  return in.get() == '\n';
}

}  // namespace

Status read_finished_points(const std::string& path, const std::string& program,
                            const TakeFinishedPoint& take) {
  std::ifstream in(path);
  std::string line;
  if (!in) {
    return not_found(path +
                     ": no such file, expected the finished points of a part; run that part");
  }
  if (!std::getline(in, line)) {
    return ok_status();  // killed before it wrote anything
  }
  if (!line.starts_with(kJournalStart)) {
    return not_a_journal(path);
  }
  if (line != journal_header(program)) {
    return invalid_input(fmt::format(
        "{}: found points of another version of dfsim, {}; expected {}; run that part with the "
        "same program as the others",
        path, program_of_header(line), program));
  }
  return read_journal_lines(in, take);
}

StatusOr<std::unique_ptr<SweepJournal>> SweepJournal::open(const std::string& path,
                                                           const std::string& program,
                                                           const TakeFinishedPoint& take) {
  std::unique_ptr<SweepJournal> journal(new SweepJournal(path));
  journal->file_ = std::fopen(path.c_str(), "a+");
  if (journal->file_ == nullptr) {
    return failed(fmt::format("{}: cannot be written: {}; check the directory and its permissions",
                              path, std::strerror(errno)));
  }
  if (::flock(::fileno(journal->file_), LOCK_EX | LOCK_NB) != 0) {
    return failed(path + ": another sweep is writing it; wait for it, or give another -o");
  }
  DFSIM_RETURN_IF_ERROR(journal->read(program, take));
  return journal;
}

SweepJournal::~SweepJournal() {
  if (file_ != nullptr) {
    std::fclose(file_);
  }
}

Status SweepJournal::read(const std::string& program, const TakeFinishedPoint& take) {
  std::ifstream in(path_);
  std::string line;
  const std::string header = journal_header(program);
  const bool is_empty = !std::getline(in, line);
  if (!is_empty && line == header) {
    DFSIM_RETURN_IF_ERROR(read_journal_lines(in, take));
    // After a line that was cut off, the next one begins on a line of its own.
    if (!ends_with_line_break(in)) {
      std::fputc('\n', file_);
    }
    return ok_status();
  }
  if (!is_empty && !line.starts_with(kJournalStart)) {
    return not_a_journal(path_);
  }
  // Rows of another version count for nothing.
  if (::ftruncate(::fileno(file_), 0) != 0 || std::fprintf(file_, "%s\n", header.c_str()) < 0 ||
      std::fflush(file_) != 0) {
    return failed(fmt::format("{}: cannot be written: {}", path_, std::strerror(errno)));
  }
  return ok_status();
}

Status SweepJournal::add(const std::string& key, const SweepRow& row) {
  const std::string line = journal_line(key, row);
  const std::lock_guard lock(mutex_);
  if (std::fwrite(line.data(), 1, line.size(), file_) != line.size() || std::fflush(file_) != 0) {
    return failed(fmt::format("{}: cannot be written: {}", path_, std::strerror(errno)));
  }
  return ok_status();
}

}  // namespace dfsim::inline study
