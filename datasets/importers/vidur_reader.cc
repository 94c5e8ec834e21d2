// Vidur's profiles (MIT): the ops of transformer layers on A40, A100, H100, and NCCL transfers.
//
// compute/DEVICE/ORG/MODEL/mlp.csv: one line per number of tokens and tensor-parallel size, one
// group of columns time_stats.OP.{min,max,mean,median,std} per op, in ms of kernel time (1 us
// steps). Sizes: n_head, n_kv_head, n_embd (E), n_expanded_embd (F), vocab_size, use_gated_mlp,
// num_tokens (T), num_tensor_parallel_workers (P). fp16. Per device, a head being E/n_head wide:
//   emb (vocab/P,E) gathered at T ids; layernorms over (T,E), RMS where the MLP is gated;
//   attn_pre_proj E -> (n_head+2 n_kv_head)/P heads; attn_rope on the query and key heads;
//   attn_post_proj E/P -> E; mlp_up_proj E -> F/P, twice that when gated; mlp_act; mlp_down_proj
//   F/P -> E; add (T,E).
// network/TOPOLOGY/{all_reduce,send_recv}.csv: size is in bytes, the dtype fp16.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <memory>

#include "base/text.h"
#include "datasets/importers/importer_list.h"
#include "datasets/importers/row_sink.h"
#include "datasets/importers/tensor_lists.h"
#include "datasets/tables/numbers.h"
#include "datasets/tables/table_reader.h"

namespace dfsim::inline datasets {
namespace vidur {
namespace {

constexpr DType kType = DType::kFloat16;
constexpr std::string_view kStats = "time_stats.";

enum Column : int {
  kHeads,
  kKvHeads,
  kEmbed,
  kExpanded,
  kVocab,
  kGated,
  kTokens,
  kParallel,
  kWorkers,
  kSize,
  kCollective,
  kColumns
};
constexpr std::array<std::string_view, kColumns> kNames = {
    "n_head",      "n_kv_head",     "n_embd",     "n_expanded_embd",
    "vocab_size",  "use_gated_mlp", "num_tokens", "num_tensor_parallel_workers",
    "num_workers", "size",          "collective"};

// Sizes of one line of mlp.csv, per device where they are split.
struct Layer {
  int64_t tokens = 0;
  int64_t embed = 0;
  int64_t query = 0;     // width of this device's query heads
  int64_t key = 0;       // and of its key heads
  int64_t expanded = 0;  // F/P
  int64_t vocab = 0;     // per device
  bool gated = false;
};

struct OpShape {
  std::string_view op_type;
  OpClass op_class = OpClass::kOpaque;
  TensorList inputs;
  TensorList outputs;
  std::string attributes;
};

OpShape linear(int64_t tokens, int64_t in, int64_t out) {
  return {"Gemm",
          OpClass::kMatMul,
          {tensor(kType, {tokens, in}), tensor(kType, {out, in})},
          {tensor(kType, {tokens, out})},
          gemm_attributes(false, true)};
}

// The op of one group of columns; empty op_type when the name is not known.
OpShape shape_of(std::string_view op, const Layer& s) {
  const TensorSpec x = tensor(kType, {s.tokens, s.embed});
  if (op == "emb") {
    return {"Gather",
            OpClass::kGather,
            {tensor(kType, {s.vocab, s.embed}), tensor(DType::kInt64, {s.tokens})},
            {x},
            "axis=0"};
  }
  if (op == "input_layernorm" || op == "post_attention_layernorm") {
    const TensorSpec scale = tensor(kType, {s.embed});
    return s.gated
               ? OpShape{"RMSNormalization", OpClass::kNorm, {x, scale}, {x}, "axis=1"}
               : OpShape{"LayerNormalization", OpClass::kNorm, {x, scale, scale}, {x}, "axis=1"};
  }
  if (op == "attn_pre_proj") {
    return linear(s.tokens, s.embed, s.query + 2 * s.key);
  }
  if (op == "attn_post_proj") {
    return linear(s.tokens, s.query, s.embed);
  }
  if (op == "mlp_up_proj") {
    return linear(s.tokens, s.embed, s.gated ? 2 * s.expanded : s.expanded);
  }
  if (op == "mlp_down_proj") {
    return linear(s.tokens, s.expanded, s.embed);
  }
  if (op == "attn_rope") {
    const TensorList heads = {tensor(kType, {s.tokens, s.query}), tensor(kType, {s.tokens, s.key})};
    return {"RotaryEmbedding", OpClass::kElementwise, heads, heads, ""};
  }
  if (op == "mlp_act") {
    const TensorSpec y = tensor(kType, {s.tokens, s.expanded});
    return s.gated ? OpShape{"SiluAndMul",
                             OpClass::kElementwise,
                             {tensor(kType, {s.tokens, 2 * s.expanded})},
                             {y},
                             ""}
                   : OpShape{"Gelu", OpClass::kElementwise, {y}, {y}, ""};
  }
  if (op == "add") {
    return {"Add", OpClass::kElementwise, {x, x}, {x}, ""};
  }
  return {};
}

// "a100" of ".../compute/a100/org/model/mlp.csv" and the like; "" when the path is not so.
std::string folder_after(const std::string& path, std::string_view folder) {
  const std::filesystem::path parts(path);
  for (auto it = parts.begin(); it != parts.end(); ++it) {
    if (it->string() == folder && std::next(it) != parts.end()) {
      return std::next(it)->string();
    }
  }
  return "";
}

std::string device_name(std::string_view folder) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kDevices = {
      {{"a100", "NVIDIA A100 80GB"}, {"a40", "NVIDIA A40"}, {"h100", "NVIDIA H100"}}};
  for (const auto& [prefix, name] : kDevices) {
    if (folder.substr(0, folder.find('_')) == prefix) {
      return std::string(name);
    }
  }
  return std::string(folder);
}

// The positions of median and std of each group of columns.
struct Group {
  std::string op;
  size_t median = 0;
  size_t std_dev = SIZE_MAX;
};

std::vector<Group> find_groups(const TableReader& table) {
  std::vector<Group> groups;
  const auto header = table.header();
  for (size_t i = 0; i < header.size(); ++i) {
    const std::string_view name = header[i];
    if (!name.starts_with(kStats) || !name.ends_with(".median")) {
      continue;
    }
    Group group;
    group.op = name.substr(kStats.size(), name.size() - kStats.size() - 7);
    group.median = i;
    for (size_t j = 0; j < header.size(); ++j) {
      if (header[j] == fmt::format("{}{}.std", kStats, group.op)) {
        group.std_dev = j;
      }
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

class VidurImporter : public Importer {
 public:
  std::string_view name() const override { return "vidur"; }
  std::string_view description() const override {
    return "Vidur mlp.csv and network tables (fp16 transformer layers, kernel-only)";
  }
  Status import(const std::string& path, const ProfileImportOptions& options, Profile& profile,
                DropReport* drops) const override;
};

std::string read_layer(const TableReader& table, Layer* layer) {
  std::array<int64_t, kColumns> v{};
  for (const Column column : {kHeads, kKvHeads, kEmbed, kExpanded, kVocab, kTokens, kParallel}) {
    const auto value = table.integer(column);
    if (!value.has_value() || *value < 1 || *value > kMaxExtent) {
      return fmt::format("{} is '{}', expected a positive number", kNames[column],
                         printable(table.cell(column)));
    }
    v[column] = *value;
  }
  const int64_t parallel = v[kParallel];
  if (v[kEmbed] % v[kHeads] != 0 || v[kKvHeads] > v[kHeads] || v[kHeads] % parallel != 0 ||
      v[kExpanded] % parallel != 0) {
    return "heads or widths that cannot be split evenly over the devices";
  }
  const int64_t head = v[kEmbed] / v[kHeads];
  layer->tokens = v[kTokens];
  layer->embed = v[kEmbed];
  layer->query = head * (v[kHeads] / parallel);
  layer->key = head * std::max<int64_t>(1, v[kKvHeads] / parallel);
  layer->expanded = v[kExpanded] / parallel;
  layer->vocab = (v[kVocab] + parallel - 1) / parallel;
  layer->gated = to_lower(table.cell(kGated)) == "true";
  return "";
}

// What all rows of one file have in common.
struct FileContext {
  TableReader& table;
  std::vector<Group> groups;
  ProfileRow common;
  RowSink& sink;
};

void add_group(const FileContext& file, const Group& group, const OpShape& shape) {
  Profile& profile = file.sink.profile();
  ProfileRow row = file.common;
  row.op_type = profile.intern(shape.op_type);
  row.op_class = shape.op_class;
  row.name = profile.intern(group.op);
  row.inputs = profile.intern(shape.inputs);
  row.outputs = profile.intern(shape.outputs);
  row.attributes = profile.intern(shape.attributes);
  const double ms = parse_number<double>(file.table.cell_at(group.median)).value_or(std::nan(""));
  const double spread_ms =
      group.std_dev == SIZE_MAX
          ? -1
          : parse_number<double>(file.table.cell_at(group.std_dev)).value_or(-1);
  file.sink.add(row, file.table.line_number(), ms * kNsPerMs, spread_ms * kNsPerMs);
}

Status read_compute(const FileContext& file) {
  while (true) {
    DFSIM_ASSIGN_OR_RETURN(const bool more, file.table.next(file.sink));
    if (!more) {
      return ok_status();
    }
    Layer layer;
    std::string problem = read_layer(file.table, &layer);
    if (!problem.empty()) {
      file.sink.drop(file.table.line_number(), DropReason::kMalformed, std::move(problem));
      continue;
    }
    for (const Group& group : file.groups) {
      const OpShape shape = shape_of(group.op, layer);
      if (shape.op_type.empty()) {
        file.sink.drop(file.table.line_number(), DropReason::kUnsupported,
                       fmt::format("unknown op '{}'", printable(group.op)));
      } else {
        add_group(file, group, shape);
      }
    }
  }
}

Status read_network(const FileContext& file) {
  while (true) {
    DFSIM_ASSIGN_OR_RETURN(const bool more, file.table.next(file.sink));
    if (!more) {
      return ok_status();
    }
    const auto workers = file.table.integer(kWorkers);
    const auto size = file.table.integer(kSize);
    if (!workers.has_value() || !size.has_value() || *workers < 1 || *size < 2 ||
        *size > kMaxExtent) {
      file.sink.drop(file.table.line_number(), DropReason::kMalformed, "bad num_workers or size");
      continue;
    }
    const bool reduce = file.table.cell(kCollective) == "all_reduce";
    const TensorList data = {tensor(kType, {*size / 2})};
    const OpShape shape = {reduce ? "AllReduce" : "SendRecv", OpClass::kCollective, data, data,
                           fmt::format("ranks={}", *workers)};
    add_group(file, file.groups[0], shape);
  }
}

Status VidurImporter::import(const std::string& path, const ProfileImportOptions& options,
                             Profile& profile, DropReport* drops) const {
  DFSIM_ASSIGN_OR_RETURN(TableReader table, TableReader::open(path, kNames, {}));
  RowSink sink(profile, drops, path);
  FileContext file{table, find_groups(table), {}, sink};
  const bool network = table.has(kSize) && table.has(kWorkers) && table.has(kCollective);
  if (file.groups.empty() || (!network && !(table.has(kTokens) && table.has(kEmbed)))) {
    return invalid_input(fmt::format(
        "{}: expected columns time_stats.OP.median and either num_tokens and n_embd or size and "
        "num_workers; is this a Vidur profile?",
        path));
  }
  const std::string folder = folder_after(path, network ? "network" : "compute");
  if (folder.empty() && options.device.empty()) {
    return invalid_input(
        fmt::format("{}: the path does not say the device (.../compute/a100/...); "
                    "give it with --device",
                    path));
  }
  set_origin(profile, options, device_name(folder), network ? "nccl" : "vidur", "", &file.common);
  file.common.timing = TimingKind::kKernelOnly;
  file.common.provenance = profile.intern("Vidur profiles (MIT)");
  if (network) {
    file.common.kernel = profile.intern(folder);  // the topology: a100_dgx, a100_pairwise_nvlink...
  }
  return network ? read_network(file) : read_compute(file);
}

}  // namespace
}  // namespace vidur

std::unique_ptr<Importer> make_vidur_importer() { return std::make_unique<vidur::VidurImporter>(); }

}  // namespace dfsim::inline datasets
