// A profile of the MindSpore profiler on Ascend as a trace: framework_raw_N.csv says which operator
// runs on which stream, aicore_intermediate_N_detail.csv how long it takes, both joined by
// full_op_name (datasets/importers/mindspore/mindspore_reader.cc reads the same files as training
// data).
//
// When output_timeline_data_N.txt is in the same directory, its starts are used ("op_name,
// stream_id, start_time(ms), duration(ms)"). Without it the files have no starts: then operators
// follow each other on their stream in the order of the detail file.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <unordered_map>

#include "base/io/text_file.h"
#include "base/text.h"
#include "datasets/importers/mindspore/mindspore_folders.h"
#include "datasets/importers/mindspore/mindspore_op_info.h"
#include "datasets/tables/numbers.h"
#include "datasets/traces/trace_readers.h"

namespace dfsim::inline datasets {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxLineBytes = size_t{16} << 20;
constexpr double kUsPerMs = 1000;
constexpr double kMaxMindSporeUs = 1e17;
constexpr std::string_view kFrameworkPrefix = "framework_raw_";

struct Operator {
  NameId type;
  int64_t stream = 0;
};

bool is_collective(std::string_view type) {
  constexpr std::array<std::string_view, 8> kTypes = {"AllReduce", "AllGather", "ReduceScatter",
                                                      "Broadcast", "AlltoAll",  "AllToAllv",
                                                      "Send",      "Receive"};
  return std::find(kTypes.begin(), kTypes.end(), type) != kTypes.end();
}

// "Default/network/Conv2D-op12" is a Conv2D.
std::string_view type_of(std::string_view full_name) {
  const size_t slash = full_name.rfind('/');
  full_name = slash == std::string_view::npos ? full_name : full_name.substr(slash + 1);
  return full_name.substr(0, full_name.rfind("-op"));
}

// Columns by name, or in the order that the profiler writes them when there is no header.
class Table {
 public:
  static StatusOr<Table> open(const std::string& path, std::vector<std::string_view> names) {
    DFSIM_ASSIGN_OR_RETURN(LineReader lines, LineReader::open(path, kMaxLineBytes));
    return Table(std::move(lines), std::move(names));
  }

  // The cells of the named columns; false at the end.
  StatusOr<bool> next(std::vector<std::string>* cells) {
    std::string_view line;
    while (true) {
      DFSIM_ASSIGN_OR_RETURN(const bool more, lines_.next(&line));
      if (!more) {
        return false;
      }
      if (line.starts_with("\xEF\xBB\xBF")) {
        line.remove_prefix(3);
      }
      if (trim(line).empty() || line.starts_with('#')) {
        continue;
      }
      const std::vector<std::string> all = split_framework_line(line).cells;
      if (positions_.empty() && take_header(all)) {
        continue;
      }
      cells->clear();
      for (const size_t at : positions_) {
        cells->emplace_back(at < all.size() ? trim(all[at]) : "");
      }
      return true;
    }
  }

  bool microseconds() const { return microseconds_; }

 private:
  Table(LineReader lines, std::vector<std::string_view> names)
      : lines_(std::move(lines)), names_(std::move(names)) {}

  bool take_header(const std::vector<std::string>& cells) {
    std::vector<size_t> found(names_.size(), cells.size());
    bool header = false;
    for (size_t i = 0; i < cells.size(); ++i) {
      std::string cell = to_lower(trim(cells[i]));
      microseconds_ |= cell.find("(us)") != std::string::npos;
      cell = trim(std::string_view(cell).substr(0, cell.find('(')));
      std::replace(cell.begin(), cell.end(), ' ', '_');
      for (size_t n = 0; n < names_.size(); ++n) {
        if (cell == names_[n]) {
          found[n] = i;
          header = true;
        }
      }
    }
    for (size_t n = 0; n < names_.size() && !header; ++n) {
      found[n] = n;
    }
    positions_ = std::move(found);
    return header;
  }

  LineReader lines_;
  std::vector<std::string_view> names_;
  std::vector<size_t> positions_;
  bool microseconds_ = false;
};

// The runs of a folder that are MindSpore's own: tables of other names are profiles, whose rows
// have no order in time.
StatusOr<std::vector<MindsporeRun>> profiler_runs(const std::string& path) {
  DFSIM_ASSIGN_OR_RETURN(std::vector<MindsporeRun> runs, find_mindspore_runs(path));
  std::erase_if(runs, [](const MindsporeRun& run) {
    return !fs::path(run.framework_file).filename().string().starts_with(kFrameworkPrefix);
  });
  return runs;
}

class MindsporeReader {
 public:
  explicit MindsporeReader(const std::string& path) {
    trace_.path = path;
    trace_.format = "mindspore";
  }

  StatusOr<Trace> read() {
    DFSIM_ASSIGN_OR_RETURN(const std::vector<MindsporeRun> runs, profiler_runs(trace_.path));
    for (const MindsporeRun& run : runs) {
      DFSIM_RETURN_IF_ERROR(read_run(run));
    }
    if (trace_.spans.empty()) {
      return nothing_usable(trace_, "rows");
    }
    finish_trace(&trace_);
    return std::move(trace_);
  }

 private:
  Status read_run(const MindsporeRun& run) {
    ops_.clear();
    DFSIM_RETURN_IF_ERROR(read_framework(run.framework_file));
    const fs::path file(run.framework_file);
    std::string number = file.filename().string().substr(kFrameworkPrefix.size());
    number = number.substr(0, number.find('.'));
    device_ = parse_number<int64_t>(number).value_or(0);
    process_ = run.network.empty() ? fmt::format("device {}", number)
                                   : fmt::format("{} device {}", printable(run.network), number);
    const fs::path timeline =
        file.parent_path() / fmt::format("output_timeline_data_{}.txt", number);
    std::error_code error;
    return fs::is_regular_file(timeline, error) ? read_timeline(timeline.string())
                                                : read_detail(run.detail_file);
  }

  Status read_framework(const std::string& path) {
    DFSIM_ASSIGN_OR_RETURN(Table table, Table::open(path, {"task_id", "stream_id", "block_dim",
                                                           "full_op_name", "op_name", "op_type"}));
    std::vector<std::string> cells;
    while (true) {
      DFSIM_ASSIGN_OR_RETURN(const bool more, table.next(&cells));
      if (!more) {
        return ok_status();
      }
      const std::string& type = cells[5];
      ops_[cells[3]] = {
          trace_.intern(printable(type.empty() ? type_of(cells[3]) : std::string_view(type))),
          parse_number<int64_t>(cells[1]).value_or(0)};
    }
  }

  void add(const std::string& name, int64_t stream, double start_us, double duration_us) {
    ++trace_.events;
    if (!(duration_us >= 0) || duration_us > kMaxMindSporeUs || !(start_us >= 0) ||
        start_us > kMaxMindSporeUs) {
      trace_.warn("rows without a usable time or with a negative one, left out", trace_.events);
      return;
    }
    const auto known = ops_.find(name);
    Span span;
    span.kind = SpanKind::kKernel;
    span.start_us = start_us;
    span.end_us = start_us + duration_us;
    span.name = known == ops_.end() ? trace_.intern(printable(type_of(name))) : known->second.type;
    span.detail = trace_.intern(printable(name, 1000));
    span.communication = is_collective(trace_.text(span.name));
    span.track = trace_.track_of(process_, fmt::format("stream {}", stream));
    trace_.tracks[span.track.index()].kind = TrackKind::kDevice;
    trace_.tracks[span.track.index()].device = device_;
    trace_.spans.push_back(span);
  }

  Status read_timeline(const std::string& path) {
    DFSIM_ASSIGN_OR_RETURN(Table table,
                           Table::open(path, {"op_name", "stream_id", "start_time", "duration"}));
    std::vector<std::string> cells;
    while (true) {
      DFSIM_ASSIGN_OR_RETURN(const bool more, table.next(&cells));
      if (!more) {
        return ok_status();
      }
      const double unit = table.microseconds() ? 1 : kUsPerMs;
      add(cells[0], parse_number<int64_t>(cells[1]).value_or(0),
          parse_number<double>(cells[2]).value_or(-1) * unit,
          parse_number<double>(cells[3]).value_or(-1) * unit);
    }
  }

  Status read_detail(const std::string& path) {
    DFSIM_ASSIGN_OR_RETURN(Table table, Table::open(path, {"full_op_name", "execution_time"}));
    std::vector<std::string> cells;
    double now_us = 0;
    int64_t placed = 0;
    while (true) {
      DFSIM_ASSIGN_OR_RETURN(const bool more, table.next(&cells));
      if (!more) {
        break;
      }
      const double unit = table.microseconds() ? 1 : kUsPerMs;
      const double us = parse_number<double>(cells[1]).value_or(-1) * unit;
      const auto known = ops_.find(cells[0]);
      add(cells[0], known == ops_.end() ? 0 : known->second.stream, now_us, us);
      now_us += us > 0 && us < kMaxMindSporeUs ? us : 0;
      ++placed;
    }
    if (placed > 0) {
      trace_.warn(
          "operators without a start (no output_timeline_data file), placed one after the "
          "other",
          0, placed);
    }
    return ok_status();
  }

  Trace trace_;
  std::unordered_map<std::string, Operator> ops_;
  std::string process_;
  int64_t device_ = 0;
};

Sniff sniff_mindspore(const TraceInput& input) {
  bool found = false;
  if (input.kind() == TraceInput::Kind::kText) {
    std::error_code error;
    found = fs::path(input.path()).filename().string().starts_with(kFrameworkPrefix) &&
            fs::is_regular_file(input.path(), error);
  } else if (input.kind() == TraceInput::Kind::kFolder) {
    const auto runs = profiler_runs(input.path());
    found = runs.ok() && !runs->empty();
  }
  return found ? Sniff::kYes : Sniff::kNo;
}

StatusOr<Trace> read_mindspore(TraceInput input) { return MindsporeReader(input.path()).read(); }

}  // namespace

TraceReader mindspore_trace_reader() {
  return {.name = "mindspore",
          .description = "MindSpore profiler on Ascend (a folder)",
          .sniff = sniff_mindspore,
          .read = read_mindspore,
          .folder = "a MindSpore profile (one with framework_raw_N.csv)",
          .folder_files =
              "framework_raw_0.csv aicore_intermediate_0_detail.csv "
              "output_timeline_data_0.txt"};
}

}  // namespace dfsim::inline datasets
