// Ascend's profilers. CANN's op_summary_*.csv and kernel_details.csv have one row per execution
// with its type, its operands as lists that ';' separates, and its duration in us. MindSpore's
// profiler writes a folder with, for each device N,
// - framework_raw_N.csv: task_id, stream_id, block_dim, full_op_name, op_name, op_type, subgraph,
//   op_info (JSON: format, data_type and shape of each operand; see mindspore_op_info.h), and
// - aicore_intermediate_N_detail.csv: full_op_name, execution_time (ms per execution on the
// device). Joined by full_op_name. Columns may be in any order, with or without a header, and more
// may be there. A name that occurs several times (steps) gives one row with the median of its
// times. Timed ops that framework_raw does not list keep the type that their name says and no
// shapes, so that the network's total stays whole. Types that the profiler's version names wrongly
// are corrected with a note (mindspore_types.h), blocked formats become logical shapes
// (mindspore_layouts.h), and gradients get the names and operands of dfsim's training steps
// (mindspore_operands.h). Folders of several networks and batch sizes are
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
#include "datasets/importers/mindspore/mindspore_layouts.h"
#include "datasets/importers/mindspore/mindspore_op_info.h"
#include "datasets/importers/mindspore/mindspore_operands.h"
#include "datasets/importers/mindspore/mindspore_types.h"
#include "datasets/importers/op_names.h"
#include "datasets/importers/row_sink.h"
#include "datasets/profiles/statistics.h"
#include "datasets/tables/numbers.h"
#include "datasets/tables/table_reader.h"
#include "hardware/platform_loader.h"

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

// The layout of a file whose first line has these cells; `names` are the columns in default order.
Layout find_layout(const std::vector<std::string>& cells, std::span<const std::string_view> names,
                   MindsporeFileKind kind) {
  Layout layout;
  layout.positions.assign(names.size(), -1);
  layout.unit_ns = kind == MindsporeFileKind::kSummary ? kNsPerUs : kNsPerMs;
  for (size_t i = 0; i < cells.size(); ++i) {
    const std::string cell = mindspore_column(cells[i], kind);
    if (cell == "execution_time" && cells[i].find("(us)") != std::string::npos) {
      layout.unit_ns = kNsPerUs;
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
// Everything in one table: operands as op_info, or as lists that ';' separates.
enum JoinedColumn : size_t {
  kJoinedName,
  kJoinedType,
  kJoinedTime,
  kJoinedInfo,
  kInShapes,
  kInTypes,
  kInFormats,
  kOutShapes,
  kOutTypes,
  kOutFormats
};
constexpr std::array<std::string_view, 10> kJoinedNames = {
    "full_op_name",     "op_type",       "execution_time", "op_info",           "input_shapes",
    "input_data_types", "input_formats", "output_shapes",  "output_data_types", "output_formats"};

std::string_view cell_at(const std::vector<std::string>& cells, const Layout& layout,
                         size_t column) {
  const int position = layout.positions[column];
  return position < 0 || static_cast<size_t>(position) >= cells.size()
             ? std::string_view()
             : trim(cells[static_cast<size_t>(position)]);
}

OperandLists operand_lists(const std::vector<std::string>& cells, const Layout& layout) {
  return {cell_at(cells, layout, kInShapes),  cell_at(cells, layout, kInTypes),
          cell_at(cells, layout, kInFormats), cell_at(cells, layout, kOutShapes),
          cell_at(cells, layout, kOutTypes),  cell_at(cells, layout, kOutFormats)};
}

// Calls `on_row(cells, layout, line number)` for each data line of a file.
template <typename OnRow>
Status read_lines(const std::string& path, std::span<const std::string_view> names,
                  std::span<const size_t> required, MindsporeFileKind kind, OnRow on_row) {
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
      layout = find_layout(parts.cells, names, kind);
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
  return read_lines(path, kDetailNames, kRequired, MindsporeFileKind::kDetail,
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

// The rate in FLOP/s that float32 products on this device cannot exceed: the vector units' peak, as
// long as its hardware file knows of no matrix units for them. 0 = no such file.
double float32_limit(std::string_view device) {
  std::string name = to_lower(device);
  std::replace(name.begin(), name.end(), ' ', '-');
  const StatusOr<Platform> platform = load_platform(name);
  if (!platform.ok() || platform->devices.empty() ||
      platform->devices.front().type != DeviceType::kNpu) {
    return 0;
  }
  return platform->devices.front().peak_flops_per_s(DType::kFloat32, false);
}

// One timed operator, as the files have it.
struct TimedOp {
  ProfileRow row;
  std::string type;
  TensorList inputs;
  TensorList outputs;
  TypePlaces places;
  int64_t line = 0;
  std::vector<double> times;
};

// Reads all operators of a run first, because two things show only in all of them together: whether
// the profiler's names of types are shifted, and how many channels the blocked tensors really have.
class RunReader {
 public:
  RunReader(RowSink& sink, DropReport* drops, ProfileRow common, double float32_flops_per_s)
      : sink_(sink), drops_(drops), common_(common), float32_flops_per_s_(float32_flops_per_s) {}

  Status read(const MindsporeRun& run);

 private:
  Status read_pair(const MindsporeRun& run);
  Status read_joined(const MindsporeRun& run);
  void add_framework_row(const std::vector<std::string>& cells, const Layout& layout, int64_t line);
  void mend_types();
  void learn_shapes();
  bool beats_float32(const TimedOp& op) const;
  void add_rows();

  RowSink& sink_;
  DropReport* drops_;
  ProfileRow common_;
  double float32_flops_per_s_;
  Timings timings_;
  OpInfoParser info_;
  LogicalShapes shapes_;
  std::vector<TimedOp> ops_;
};

Status RunReader::read(const MindsporeRun& run) {
  if (run.detail_file.empty()) {
    DFSIM_RETURN_IF_ERROR(read_joined(run));
  } else {
    DFSIM_RETURN_IF_ERROR(read_pair(run));
  }
  learn_shapes();
  mend_types();
  add_rows();
  return ok_status();
}

Status RunReader::read_pair(const MindsporeRun& run) {
  DFSIM_RETURN_IF_ERROR(read_detail(run.detail_file, drops_, &timings_));
  constexpr std::array<size_t, 2> kRequired = {kFullName, kType};
  DFSIM_RETURN_IF_ERROR(
      read_lines(run.framework_file, kFrameworkNames, kRequired, run.kind,
                 [this](const std::vector<std::string>& cells, const Layout& layout, int64_t line) {
                   add_framework_row(cells, layout, line);
                 }));
  for (const auto& [name, line] : timings_.order) {
    std::vector<double>& times = timings_.by_name[name];
    if (!times.empty()) {
      TimedOp op = {common_, std::string(type_in_name(name)), {}, {}, {}, line, std::move(times)};
      op.row.name = sink_.profile().intern(name);
      ops_.push_back(std::move(op));
    }
  }
  return ok_status();
}

// One table with everything: rows of one name are executions of one operator.
Status RunReader::read_joined(const MindsporeRun& run) {
  constexpr std::array<size_t, 3> kRequired = {kJoinedName, kJoinedType, kJoinedTime};
  std::unordered_map<std::string, size_t> known;
  return read_lines(
      run.framework_file, kJoinedNames, kRequired, run.kind,
      [&](const std::vector<std::string>& cells, const Layout& layout, int64_t line) {
        const std::string name(cell_at(cells, layout, kJoinedName));
        const auto time = parse_number<double>(cell_at(cells, layout, kJoinedTime));
        const double ns = time.value_or(std::nan("")) * layout.unit_ns;
        if (const auto problem = time_problem(ns); problem || name.empty()) {
          sink_.drop(line, problem.value_or(DropReason::kMalformed),
                     fmt::format("'{}' takes '{}'", printable(name),
                                 printable(cell_at(cells, layout, kJoinedTime))));
          return;
        }
        const auto [it, is_new] = known.try_emplace(name, ops_.size());
        if (!is_new) {
          ops_[it->second].times.push_back(ns);
          return;
        }
        TimedOp op = {common_, std::string(cell_at(cells, layout, kJoinedType)), {}, {}, {}, line,
                      {ns}};
        const std::string_view json = cell_at(cells, layout, kJoinedInfo);
        std::string problem = json.empty()
                                  ? parse_operand_lists(operand_lists(cells, layout), &op.inputs,
                                                        &op.outputs, &op.places)
                                  : info_.parse(json, &op.inputs, &op.outputs, &op.places);
        if (!problem.empty()) {
          sink_.drop(line, DropReason::kMalformed, std::move(problem));
          known.erase(it);
          return;
        }
        op.row.name = sink_.profile().intern(name);
        ops_.push_back(std::move(op));
      });
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
  TimedOp op;
  const std::string_view json = cell_at(cells, layout, kInfo);
  std::string problem = json.empty() ? "" : info_.parse(json, &op.inputs, &op.outputs, &op.places);
  op.times = std::move(it->second);
  it->second.clear();
  if (!problem.empty()) {
    sink_.drop(line, DropReason::kMalformed, std::move(problem));
    return;
  }
  op.row = common_;
  op.row.name = sink_.profile().intern(name);
  op.type = type;
  op.line = line;
  ops_.push_back(std::move(op));
}

void RunReader::learn_shapes() {
  for (const TimedOp& op : ops_) {
    if (mindspore_op(op.type).name == "TransData" && !op.inputs.empty() && !op.outputs.empty()) {
      shapes_.learn(op.inputs[0], op.outputs[0]);
    }
  }
}

bool RunReader::beats_float32(const TimedOp& op) const {
  const OpNameInfo info = mindspore_op(op.type);
  if (float32_flops_per_s_ <= 0 || op.times.empty() ||
      (info.op_class != OpClass::kConv && info.op_class != OpClass::kMatMul)) {
    return false;
  }
  const double flops = product_flops(info, graph_operands(info, op.inputs, op.outputs, shapes_));
  std::vector<double> times = op.times;
  return flops > float32_flops_per_s_ * median(times) / static_cast<double>(kNsPerSecond);
}

// Gives all operands the types that make the run possible, and says so.
void RunReader::mend_types() {
  std::vector<TypedOp> typed;
  typed.reserve(ops_.size());
  for (const TimedOp& op : ops_) {
    typed.push_back({op.type, mindspore_op(op.type).op_class, op.places, beats_float32(op)});
  }
  const TypeShift found = find_type_shift(typed);
  if (found.impossible == 0) {
    return;
  }
  if (found.shift == 0) {
    drops_->note(fmt::format(
        "{}: the types of {} of {} operators cannot be right, and no shift of MindSpore's "
        "enumeration explains them; they stay as they are written",
        sink_.file(), found.impossible, ops_.size()));
    return;
  }
  const auto mend = [&](const std::vector<int>& places, TensorList* tensors) {
    for (size_t i = 0; i < places.size(); ++i) {
      if (places[i] >= 0) {
        (*tensors)[i].dtype = mindspore_type_at(places[i], found.shift);
      }
    }
  };
  for (TimedOp& op : ops_) {
    mend(op.places.inputs, &op.inputs);
    mend(op.places.outputs, &op.outputs);
  }
  drops_->note(fmt::format(
      "{}: the types of {} of {} operators cannot be right as they are written; MindSpore's "
      "enumeration is shifted by {} in this version of its profiler, so dfsim read every type "
      "{} places {} ({} operators stay impossible)",
      sink_.file(), found.impossible, ops_.size(), std::abs(found.shift), std::abs(found.shift),
      found.shift < 0 ? "further on" : "further back", found.unexplained));
}

void RunReader::add_rows() {
  Profile& profile = sink_.profile();
  for (TimedOp& op : ops_) {
    const OpNameInfo info = mindspore_op(op.type);
    const MindsporeOperands operands =
        graph_operands(info, std::move(op.inputs), std::move(op.outputs), shapes_);
    op.row.op_type =
        profile.intern(info.op_type.empty() ? std::string_view(op.type) : info.op_type);
    op.row.op_class = info.op_class;
    op.row.inputs = profile.intern(operands.inputs);
    op.row.outputs = profile.intern(operands.outputs);
    op.row.attributes = profile.intern(operands.attributes);
    op.row.samples = static_cast<int32_t>(op.times.size());
    const double spread = op.times.size() > 1 ? standard_deviation(op.times) : -1;
    sink_.add(op.row, op.line, median(op.times), spread);
  }
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
      set_origin(profile, options, "Huawei Ascend 910", "mindspore", "", &common);
      common.timing = TimingKind::kKernelOnly;
      common.provenance = profile.intern("MindSpore profiler");
      const double limit = float32_limit(profile.text(common.device));
      DFSIM_RETURN_IF_ERROR(RunReader(sink, drops, common, limit).read(run));
    }
    return ok_status();
  }
};

}  // namespace

std::unique_ptr<Importer> make_mindspore_importer() {
  return std::make_unique<MindsporeImporter>();
}

}  // namespace dfsim::inline datasets
