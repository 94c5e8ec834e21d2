// The MindSpore profiler on Ascend: a folder with, for each device N,
// - framework_raw_N.csv: task_id, stream_id, block_dim, full_op_name, op_name, op_type, subgraph,
//   op_info (JSON: format, data_type and shape of each operand; see mindspore_op_info.h), and
// - aicore_intermediate_N_detail.csv: full_op_name, execution_time (ms per execution on the
// device). Joined by full_op_name. Columns may be in any order, with or without a header, and more
// may be there. A name that occurs several times (steps) gives one row with the median of its
// times. Timed ops that framework_raw does not list keep the type that their name says and no
// shapes, so that the network's total stays whole. Folders of several networks and batch sizes are
// read in one go; their names say network and batch (mindspore_folders.h).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <memory>
#include <unordered_map>

#include "base/io/text_file.h"
#include "base/text.h"
#include "datasets/importers/importer_list.h"
#include "datasets/importers/mindspore/mindspore_folders.h"
#include "datasets/importers/mindspore/mindspore_op_info.h"
#include "datasets/importers/op_names.h"
#include "datasets/importers/row_sink.h"
#include "datasets/profiles/statistics.h"
#include "datasets/tables/numbers.h"
#include "datasets/tables/table_reader.h"

namespace dfsim::inline datasets {
namespace {

// A long op_info (an op with hundreds of inputs) makes a long line.
constexpr size_t kMaxLineBytes = size_t{16} << 20;

// Where columns are, by their names in a header or in the order that the profiler writes them.
struct Layout {
  std::vector<int> positions;
  bool has_header = false;
  double unit_ns = kNsPerMs;  // of the time column
};

std::string plain_name(std::string_view cell) {
  std::string name = to_lower(trim(cell));
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
}

// The layout of a file whose first line has these cells; `names` are the columns in default order.
Layout find_layout(const std::vector<std::string>& cells, std::span<const std::string_view> names) {
  Layout layout;
  layout.positions.assign(names.size(), -1);
  for (size_t i = 0; i < cells.size(); ++i) {
    std::string cell = plain_name(cells[i]);
    const size_t unit = cell.find('(');
    if (unit != std::string::npos) {
      if (cell.find("us") != std::string::npos && cell.starts_with("execution_time")) {
        layout.unit_ns = kNsPerUs;
      }
      cell.resize(unit);
      while (cell.ends_with('_')) {
        cell.pop_back();
      }
    }
    const auto it = std::find(names.begin(), names.end(), cell);
    if (it != names.end()) {
      layout.positions[static_cast<size_t>(it - names.begin())] = static_cast<int>(i);
      layout.has_header = true;
    }
  }
  if (!layout.has_header) {
    for (size_t i = 0; i < names.size(); ++i) {
      layout.positions[i] = static_cast<int>(i);
    }
  }
  return layout;
}

// The columns that are used, in the order of a file without header.
enum FrameworkColumn : size_t { kTask, kStream, kBlock, kFullName, kName, kType, kSubgraph, kInfo };
constexpr std::array<std::string_view, 8> kFrameworkNames = {
    "task_id", "stream_id", "block_dim", "full_op_name",
    "op_name", "op_type",   "subgraph",  "op_info"};
constexpr std::array<std::string_view, 2> kDetailNames = {"full_op_name", "execution_time"};

std::string_view cell_at(const std::vector<std::string>& cells, const Layout& layout,
                         size_t column) {
  const int position = layout.positions[column];
  return position < 0 || static_cast<size_t>(position) >= cells.size()
             ? std::string_view()
             : trim(cells[static_cast<size_t>(position)]);
}

// Calls `on_row(cells, layout, line number)` for each data line of a file.
template <typename OnRow>
Status read_lines(const std::string& path, std::span<const std::string_view> names,
                  std::span<const size_t> required, OnRow on_row) {
  DFSIM_ASSIGN_OR_RETURN(LineReader lines, LineReader::open(path, kMaxLineBytes));
  Layout layout;
  std::string_view line;
  while (true) {
    DFSIM_ASSIGN_OR_RETURN(const bool more, lines.next(&line));
    if (!more) {
      return layout.positions.empty() ? invalid_input(fmt::format("{}: is empty", path))
                                      : ok_status();
    }
    if (layout.positions.empty() && line.starts_with("\xEF\xBB\xBF")) {
      line.remove_prefix(3);
    }
    if (trim(line).empty()) {
      continue;
    }
    const FrameworkLine parts = split_framework_line(line);
    if (layout.positions.empty()) {
      layout = find_layout(parts.cells, names);
      for (const size_t column : required) {
        if (layout.positions[column] < 0) {
          return invalid_input(fmt::format("{}:{}: column '{}' is missing", path,
                                           lines.line_number(), names[column]));
        }
      }
      if (layout.has_header) {
        continue;
      }
    }
    on_row(parts.cells, layout, lines.line_number());
  }
}

// Times by full_op_name, in the order of the file.
struct Timings {
  std::unordered_map<std::string, std::vector<double>> by_name;
  std::vector<std::pair<std::string, int64_t>> order;  // name, first line
};

Status read_detail(const std::string& path, DropReport* drops, Timings* timings) {
  constexpr std::array<size_t, 2> kRequired = {0, 1};
  return read_lines(path, kDetailNames, kRequired,
                    [&](const std::vector<std::string>& cells, const Layout& layout, int64_t line) {
                      const std::string name(cell_at(cells, layout, 0));
                      const auto time = parse_number<double>(cell_at(cells, layout, 1));
                      const double ns = time.value_or(std::nan("")) * layout.unit_ns;
                      std::vector<double>& times = timings->by_name[name];
                      if (const auto problem = time_problem(ns); problem || name.empty()) {
                        drops->add(path, line, problem.value_or(DropReason::kMalformed),
                                   fmt::format("'{}' takes '{}'", printable(name),
                                               printable(cell_at(cells, layout, 1))));
                        return;
                      }
                      if (times.empty()) {
                        timings->order.emplace_back(name, line);
                      }
                      times.push_back(ns);
                    });
}

// "Default/network/Conv2D-op12" -> "Conv2D".
std::string_view type_in_name(std::string_view full_name) {
  const size_t slash = full_name.rfind('/');
  std::string_view name = slash == std::string_view::npos ? full_name : full_name.substr(slash + 1);
  const size_t suffix = name.rfind("-op");
  return name.substr(0, suffix);
}

class RunReader {
 public:
  RunReader(RowSink& sink, DropReport* drops, ProfileRow common)
      : sink_(sink), drops_(drops), common_(common) {}

  Status read(const MindsporeRun& run);

 private:
  void add_framework_row(const std::vector<std::string>& cells, const Layout& layout, int64_t line);
  void add_timed(ProfileRow row, std::string_view type, const TensorList& inputs,
                 const TensorList& outputs, int64_t line, std::vector<double>& times);

  RowSink& sink_;
  DropReport* drops_;
  ProfileRow common_;
  Timings timings_;
  OpInfoParser info_;
};

Status RunReader::read(const MindsporeRun& run) {
  DFSIM_RETURN_IF_ERROR(read_detail(run.detail_file, drops_, &timings_));
  constexpr std::array<size_t, 2> kRequired = {kFullName, kType};
  DFSIM_RETURN_IF_ERROR(
      read_lines(run.framework_file, kFrameworkNames, kRequired,
                 [this](const std::vector<std::string>& cells, const Layout& layout, int64_t line) {
                   add_framework_row(cells, layout, line);
                 }));
  for (const auto& [name, line] : timings_.order) {
    std::vector<double>& times = timings_.by_name[name];
    if (!times.empty()) {
      ProfileRow row = common_;
      row.name = sink_.profile().intern(name);
      add_timed(row, type_in_name(name), {}, {}, line, times);
    }
  }
  return ok_status();
}

void RunReader::add_framework_row(const std::vector<std::string>& cells, const Layout& layout,
                                  int64_t line) {
  const std::string name(cell_at(cells, layout, kFullName));
  const std::string_view type = cell_at(cells, layout, kType);
  if (name.empty() || type.empty()) {
    sink_.drop(line, DropReason::kMalformed,
               fmt::format("{} columns, expected full_op_name and op_type among 8", cells.size()));
    return;
  }
  const auto it = timings_.by_name.find(name);
  if (it == timings_.by_name.end()) {
    sink_.drop(line, DropReason::kNoTime,
               fmt::format("'{}' has no execution_time", printable(name)));
    return;
  }
  if (it->second.empty()) {
    return;  // the same op in another step: its times are in the row that there is
  }
  TensorList inputs;
  TensorList outputs;
  const std::string_view json = cell_at(cells, layout, kInfo);
  std::string problem = json.empty() ? "" : info_.parse(json, &inputs, &outputs);
  if (!problem.empty()) {
    sink_.drop(line, DropReason::kMalformed, std::move(problem));
    it->second.clear();
    return;
  }
  ProfileRow row = common_;
  row.name = sink_.profile().intern(name);
  add_timed(row, type, inputs, outputs, line, it->second);
}

void RunReader::add_timed(ProfileRow row, std::string_view type, const TensorList& inputs,
                          const TensorList& outputs, int64_t line, std::vector<double>& times) {
  Profile& profile = sink_.profile();
  const OpNameInfo info = mindspore_op(type);
  row.op_type = profile.intern(info.op_type.empty() ? type : info.op_type);
  row.op_class = info.op_class;
  row.inputs = profile.intern(inputs);
  row.outputs = profile.intern(outputs);
  row.attributes = profile.intern(guess_mindspore_attributes(info.op_type, inputs, outputs));
  row.samples = static_cast<int32_t>(times.size());
  const double spread = times.size() > 1 ? standard_deviation(times) : -1;
  sink_.add(row, line, median(times), spread);
  times.clear();
}

class MindsporeImporter : public Importer {
 public:
  std::string_view name() const override { return "mindspore"; }
  std::string_view description() const override {
    return "MindSpore profiler on Ascend (folder, or folders of networks)";
  }
  Status import(const std::string& path, const ProfileImportOptions& options, Profile& profile,
                DropReport* drops) const override {
    DFSIM_ASSIGN_OR_RETURN(const std::vector<MindsporeRun> runs, find_mindspore_runs(path));
    for (const MindsporeRun& run : runs) {
      RowSink sink(profile, drops, run.framework_file);
      ProfileRow common;
      const std::string folder =
          std::filesystem::path(run.framework_file).parent_path().filename().string();
      common.network = profile.intern(run.network.empty() ? folder : run.network);
      common.batch = run.batch;
      set_origin(profile, options, "Ascend 910", "mindspore", "", &common);
      common.timing = TimingKind::kKernelOnly;
      common.provenance = profile.intern("MindSpore profiler");
      DFSIM_RETURN_IF_ERROR(RunReader(sink, drops, common).read(run));
    }
    return ok_status();
  }
};

}  // namespace

std::unique_ptr<Importer> make_mindspore_importer() {
  return std::make_unique<MindsporeImporter>();
}

}  // namespace dfsim::inline datasets
