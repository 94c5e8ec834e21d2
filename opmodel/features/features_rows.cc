// Features of attention, of row-wise ops, and of ops nothing more is known of than their tensors.
#include <array>

#include "opmodel/features/attention_waves.h"
#include "opmodel/features/feature_family.h"

namespace dfsim::inline opmodel {

namespace {

constexpr double kMostRowWaves = 100;

void add_waves(FeatureWriter& writer, std::string_view name, int size, double blocks,
               const DeviceFacts& facts) {
  const double waves = blocks / facts.units;
  const double whole = std::ceil(waves);
  const std::string prefix(writer.naming() ? name : "");
  writer.add_tile(prefix + "_w", size, 1, log_of(waves));
  writer.add_tile(prefix + "_tail", size, 1, whole > 0 ? waves / whole : 0);
  writer.add_tile(prefix + "_cw", size, 1, std::min(whole, kMostRowWaves));
}

}  // namespace

void attention_features(const OpGeometry& geometry, const DeviceFacts& facts,
                        const Roofline& roofline, FeatureWriter& writer) {
  const auto& v = geometry.dims;
  const double batch = v[dim::kAB];
  const double heads = std::max(v[dim::kHeads], 1.0);
  const double kv_heads = std::max(v[dim::kKvHeads], 1.0);
  const double queries = v[dim::kQuery];
  const double window = v[dim::kWindow];
  const double keys = v[dim::kKeys];
  const double seen = window > 0 ? std::min(keys, window) : keys;
  const double size = v[dim::kSize];
  const double share = heads / kv_heads;
  const double base = roofline.base_us();
  writer.add_log("B", batch);
  writer.add_log("heads", heads);
  writer.add_log("kv_heads", kv_heads);
  writer.add_log("queries", queries);
  writer.add_log("keys", keys);
  writer.add_log("keys_seen", seen);
  writer.add("head_size", size);
  writer.add("heads_per_kv", share);
  writer.add("heads_raw", heads);
  writer.add("kv_heads_raw", kv_heads);
  writer.add("window", window);
  writer.add("causal", v[dim::kCausal]);
  writer.add("align_keys", alignment(keys));
  writer.add_log("B*heads", batch * heads);
  writer.add_log("B*kv", batch * kv_heads);
  writer.add_log("B*keys", batch * keys);
  writer.add_log("B*keys*heads", batch * keys * heads);
  writer.add_log("B*heads*size", batch * heads * size);
  const double kv_bytes =
      2 * batch * seen * kv_heads * size * dtype_bits(geometry.weight_dtype) / 8;
  writer.add_log("kv/l2", kv_bytes / facts.l2_bytes);
  add_waves(writer, "B*heads", 1, batch * heads, facts);
  add_waves(writer, "B*kv", 1, batch * kv_heads, facts);
  for (const int tile : {64, 128, 192}) {  // query tiles of prefill kernels
    const double blocks = std::ceil(queries / tile) * batch * heads;
    add_waves(writer, "q", tile, blocks, facts);
    writer.add_tile("q_pad", tile, 1, std::ceil(queries / tile) * tile / std::max(queries, 1.0));
    const double longest = tile * seen * size * 4 / (facts.peak_per_us / facts.units);
    writer.add_tile("q_longest", tile, 1, log_of(longest / base));
    writer.add_tile("q_waves", tile, 1, log_of(std::ceil(blocks / facts.units) * longest / base));
    writer.add_tile("q_group", tile, 1,
                    log_of(std::ceil(queries * share / tile) * batch * kv_heads / facts.units));
  }
  for (const int tile : {64, 256}) {  // key tiles of decoding kernels
    add_waves(writer, "k", tile, std::ceil(seen / tile) * batch * kv_heads, facts);
  }
  const double blocks = batch * kv_heads * std::ceil(queries * share / 64);
  const double key_blocks = std::ceil(seen / 128);
  const double splits = writer.naming() ? 1 : key_splits(blocks, key_blocks, facts.units);
  writer.add("splits", splits);
  writer.add_log("blocks/split", std::ceil(key_blocks / splits));
  add_waves(writer, "split", 1, blocks * splits, facts);
  writer.add_log("serial", std::ceil(blocks * splits / facts.units) *
                               std::ceil(key_blocks / splits) * 128 * size *
                               dtype_bits(geometry.weight_dtype) / 8 * 2 /
                               (facts.bandwidth_per_us / facts.units) / base);
}

void rows_features(const OpGeometry& geometry, const DeviceFacts& facts, FeatureWriter& writer) {
  const double rows = geometry.dims[dim::kRowCount];
  const double columns = std::max(geometry.dims[dim::kColumns], 1.0);
  const double count = geometry.dims[dim::kOut];
  writer.add_log("rows", rows);
  writer.add_log("columns", columns);
  writer.add_log("elements", count);
  writer.add_log("in/out", geometry.dims[dim::kIn] / std::max(count, 1.0));
  writer.add_log("bytes/element", geometry.bytes / std::max(count, 1.0));
  writer.add("columns_raw", columns);
  writer.add("align_columns", alignment(columns));
  writer.add("align_rows", alignment(rows));
  writer.add("align_elements", alignment(count));
  writer.add("columns%4", remainder_of(columns, 4));
  writer.add("elements%4", remainder_of(count, 4));
  writer.add_log("rows/units", rows / facts.units);
  for (const int block : {512, 1024, 2048, 4096}) {
    writer.add_tile("w", block, 1, log_of(std::ceil(count / block) / facts.units));
  }
  for (const auto& [per_block, resident] : {std::pair{1, 16}, std::pair{4, 8}}) {
    const double waves = std::ceil(rows / per_block) / (facts.units * resident);
    writer.add_tile("row_tail", per_block, resident, waves / std::max(std::ceil(waves), 1.0));
    writer.add_tile("row_cw", per_block, resident, std::min(std::ceil(waves), kMostRowWaves));
  }
  writer.add("next_pow2", std::exp2(std::ceil(std::log2(columns))) / columns);
  writer.add("warps", std::ceil(columns / 32));
  writer.add("pad1024", std::ceil(columns / 1024) * 1024 / columns);
}

// Kernels of normalisations and softmax read a row two or three times, and the later passes find it
// in the last-level cache where all rows that are being worked on fit there: on a T4 (4 MB) from
// 1,600 columns on they do not, on an L4 (48 MB) up to 8,192 they do.
void row_cache_features(const OpGeometry& geometry, const DeviceFacts& facts,
                        const Roofline& roofline, FeatureWriter& writer) {
  constexpr double kRowsPerUnit = 16;  // 2,048 threads of a unit, 128 of a row
  const double rows = geometry.dims[dim::kRowCount];
  const double columns = std::max(geometry.dims[dim::kColumns], 1.0);
  const double row_bytes = columns * dtype_bits(geometry.dtype) / 8.0;
  const double at_once = std::min(rows, facts.units * kRowsPerUnit);
  writer.add_log("rows/l2", at_once * row_bytes / facts.l2_bytes);
  writer.add_log("row_cycles", rows / facts.units / facts.clock_per_us / roofline.base_us());
}

double element_count(const std::vector<int64_t>& extents) {
  double product = 1;
  for (const int64_t extent : extents) {
    product *= static_cast<double>(std::max<int64_t>(extent, 0));
  }
  return product;
}

namespace {

// Extents of the first tensors, last axis first, so that layouts of different rank line up.
void add_shape(FeatureWriter& writer, std::string_view name,
               const std::vector<std::vector<int64_t>>& tensors, size_t count) {
  constexpr size_t kAxes = 5;
  for (size_t t = 0; t < count; ++t) {
    const std::string prefix =
        writer.naming() ? std::string(name) + std::to_string(t) : std::string();
    const bool there = t < tensors.size();
    for (size_t axis = 0; axis < kAxes; ++axis) {
      const bool has = there && axis < tensors[t].size();
      const double extent = has ? static_cast<double>(tensors[t][tensors[t].size() - 1 - axis]) : 0;
      writer.add_tile(prefix + "_d", static_cast<int>(axis), 0, has ? log_of(extent) : -1);
    }
    writer.add_log(prefix + "_elements", there ? element_count(tensors[t]) : 0);
    writer.add(prefix + "_rank", there ? static_cast<double>(tensors[t].size()) : -1);
    writer.add(prefix + "_align", there && !tensors[t].empty()
                                      ? alignment(static_cast<double>(tensors[t].back()))
                                      : -1);
  }
}

// How an op walks through memory: what Transpose moves in one piece and how many axes it moves,
// the extents behind the axis of others, the window of a pool.
void add_access(const OpDescriptor& op, FeatureWriter& writer) {
  const std::vector<int64_t> none;
  const std::vector<int64_t>& x = op.input_extents.empty() ? none : op.input_extents[0];
  const std::vector<size_t> perm = index_list(op, "perm");
  size_t kept = 0;  // last axes that stay where they are
  double moved = -1;
  if (!perm.empty() && perm.size() == x.size()) {
    moved = 0;
    for (size_t i = 0; i < perm.size(); ++i) {
      moved += perm[i] != i ? 1 : 0;
      kept = perm[i] == i ? kept + 1 : 0;
    }
  } else if (const auto axis = index_list(op, "axis"); axis.size() == 1 && axis[0] < x.size()) {
    kept = x.size() - axis[0];
  }
  const std::vector<int64_t> piece(x.end() - static_cast<ptrdiff_t>(kept), x.end());
  writer.add_log("piece", element_count(piece));
  writer.add("axes_moved", moved);
  double window = 1;
  for (const size_t extent : index_list(op, "kernel_shape")) {
    window *= static_cast<double>(extent);
  }
  writer.add_log("window", window);
}

}  // namespace

void generic_features(const OpDescriptor& op, const OpGeometry& geometry, FeatureWriter& writer) {
  writer.add("tensors_in", geometry.dims[dim::kTensorsIn]);
  writer.add("tensors_out", geometry.dims[dim::kTensorsOut]);
  writer.add_log("in", geometry.dims[dim::kElementsIn]);
  writer.add_log("out", geometry.dims[dim::kElementsOut]);
  writer.add_log("bytes_in", geometry.bytes_in);
  writer.add_log("bytes_out", geometry.bytes_out);
  writer.add_log("in/out", geometry.bytes_in / std::max(geometry.bytes_out, 1.0));
  const double product = op.input_extents.size() > 1 && !op.output_extents.empty()
                             ? element_count(op.input_extents[0]) *
                                   element_count(op.input_extents[1]) *
                                   element_count(op.output_extents[0])
                             : 0;
  writer.add_log("product", std::sqrt(product));  // MNK of a matrix product in any layout
  add_shape(writer, "in", op.input_extents, 3);
  add_shape(writer, "out", op.output_extents, 1);
  add_access(op, writer);
  const DType in = op.input_dtypes.empty() ? DType::kUnknown : op.input_dtypes[0];
  const DType out = op.output_dtypes.empty() ? DType::kUnknown : op.output_dtypes[0];
  writer.add("in_bits", dtype_bits(in));
  writer.add("out_bits", dtype_bits(out));
}

FeatureFamily attention_family() {
  return {.name = "attention",
          .geometry = attention_geometry,
          .features =
              [](const FeatureInput& input, FeatureWriter& writer) {
                attention_features(input.geometry, input.facts, input.roofline, writer);
              },
          .recipe = {.depth = 7,
                     .eta = 0.1,
                     .columns = 0.6,
                     .least_weight = 3,
                     .rounds = 600,
                     .floor_quantile = 0.002}};
}

FeatureFamily rows_family() {
  return {
      .name = "rows",
      .geometry = rows_geometry,
      .features = [](const FeatureInput& input,
                     FeatureWriter& writer) { rows_features(input.geometry, input.facts, writer); },
      .walk_features = walk_features,
      .cache_features =
          [](const FeatureInput& input, FeatureWriter& writer) {
            row_cache_features(input.geometry, input.facts, input.roofline, writer);
          },
      .cpu_features = [](const FeatureInput& input,
                         FeatureWriter& writer) { cpu_rows_features(input.op, writer); },
      .recipe = {.depth = 5,
                 .eta = 0.08,
                 .columns = 0.6,
                 .least_weight = 2,
                 .rounds = 400,
                 .floor_quantile = 0.02}};
}

FeatureFamily generic_family() {
  return {
      .name = "generic",
      .geometry = generic_geometry,
      .features = [](const FeatureInput& input,
                     FeatureWriter& writer) { generic_features(input.op, input.geometry, writer); },
      .walk_features = walk_features,
      .cpu_features =
          [](const FeatureInput& input, FeatureWriter& writer) {
            cpu_generic_features(input.op, input.facts, writer);
          },
      .recipe = {.depth = 6,
                 .eta = 0.06,
                 .columns = 0.5,
                 .least_weight = 2,
                 .rounds = 400,
                 .floor_quantile = 0.01}};
}

}  // namespace dfsim::inline opmodel
