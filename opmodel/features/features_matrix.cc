// Features of matrix products, convolutions and attention: tiles, waves, splits.
#include <array>

#include "opmodel/features/feature_family.h"

namespace dfsim::inline opmodel {

namespace {

// Tiles of the usual library kernels, largest first (CUTLASS 3.x profiler list, abridged).
struct Tile {
  int rows;
  int columns;
};
constexpr std::array<Tile, 14> kTiles = {{{256, 128},
                                          {128, 256},
                                          {128, 128},
                                          {128, 64},
                                          {64, 128},
                                          {64, 64},
                                          {64, 256},
                                          {256, 64},
                                          {128, 32},
                                          {32, 128},
                                          {32, 64},
                                          {64, 32},
                                          {16, 128},
                                          {32, 32}}};
constexpr double kMostWaves = 200;

struct Gemm {
  double batch;
  double m;
  double n;
  double k;
  double element_bytes;
};

// How `work / units` divides: ln waves, whole waves, and how full the last one is.
struct Waves {
  double waves;
  double whole;
  Waves(double blocks, double units) : waves(blocks / units), whole(std::ceil(waves)) {}
  double tail() const { return whole > 0 ? waves / whole : 0; }
};

void add_tile_features(const Gemm& g, const DeviceFacts& facts, FeatureWriter& writer) {
  for (const Tile& tile : kTiles) {
    const double rows = std::ceil(g.m / tile.rows);
    const double columns = std::ceil(g.n / tile.columns);
    const Waves waves(rows * columns * g.batch, facts.units);
    const double area = static_cast<double>(tile.rows) * tile.columns;
    writer.add_tile("w", tile.rows, tile.columns, log_of(waves.waves));
    writer.add_tile("cw", tile.rows, tile.columns, std::min(waves.whole, kMostWaves));
    writer.add_tile("tail", tile.rows, tile.columns, waves.tail());
    writer.add_tile("pad", tile.rows, tile.columns, log_of(rows * columns * area / (g.m * g.n)));
    writer.add_tile("ineff", tile.rows, tile.columns,
                    log_of(waves.whole * facts.units * area / (g.batch * g.m * g.n)));
  }
}

}  // namespace

void gemm_features(const OpGeometry& geometry, const DeviceFacts& facts, FeatureWriter& writer) {
  const auto& d = geometry.dims;
  const Gemm g = {d[dim::kB], d[dim::kM], d[dim::kN], d[dim::kK],
                  static_cast<double>(dtype_bits(geometry.dtype)) / 8};
  writer.add_log("B", g.batch);
  writer.add_log("M", g.m);
  writer.add_log("N", g.n);
  writer.add_log("K", g.k);
  writer.add("bias", d[dim::kBias]);
  writer.add("M_small", std::min(g.m, 600.0));
  const double per_l2 = g.element_bytes * g.batch / facts.l2_bytes;
  writer.add_log("A/l2", per_l2 * g.m * g.k);
  writer.add_log("W/l2", per_l2 * g.k * g.n);
  writer.add_log("O/l2", per_l2 * g.m * g.n);
  writer.add_log("M/N", g.m / std::max(g.n, 1.0));
  writer.add_log("BMN", g.batch * g.m * g.n);
  writer.add_log("min(M,N)", std::min(g.m, g.n));
  writer.add_log("KK/MN", g.k * g.k / std::max(g.m * g.n, 1.0));
  writer.add("align_M", alignment(g.m));
  writer.add("align_N", alignment(g.n));
  writer.add("align_K", alignment(g.k));
  writer.add("K%8", remainder_of(g.k, 8));
  writer.add("K%32", remainder_of(g.k, 32));
  for (const int split : {2, 4, 8}) {
    const Waves waves(std::ceil(g.m / 128) * std::ceil(g.n / 128) * g.batch * split, facts.units);
    writer.add_tile("tail_split", split, 1, waves.tail());
  }
  add_tile_features(g, facts, writer);
}

namespace {

// One way to turn a convolution into a matrix product.
void add_lowering(std::string_view name, const Gemm& g, const OpGeometry& geometry,
                  const DeviceFacts& facts, const Roofline& roofline, bool all_tiles,
                  FeatureWriter& writer) {
  constexpr std::array<std::array<int, 2>, 5> kConvTiles = {
      {{128, 128}, {128, 64}, {64, 64}, {128, 32}, {32, 32}}};
  const std::string prefix(writer.naming() ? name : "");
  const double workspace = g.element_bytes * g.batch * (g.m * g.k + g.m * g.n);
  writer.add_log(prefix + "_flops", 2 * g.batch * g.m * g.n * g.k / std::max(geometry.flops, 1.0));
  writer.add_log(prefix + "_workspace/l2", workspace / facts.l2_bytes);
  writer.add_log(prefix + "_memory",
                 (workspace * 2 + geometry.bytes) / facts.bandwidth_per_us / roofline.base_us());
  for (size_t i = 0; i < (all_tiles ? kConvTiles.size() : 1); ++i) {
    const auto [a, b] = kConvTiles[i];
    const double rows = std::ceil(g.m / a);
    const double columns = std::ceil(g.n / b);
    const Waves waves(rows * columns * g.batch, facts.units);
    writer.add_tile(prefix + "_w", a, b, log_of(waves.waves));
    writer.add_tile(prefix + "_tail", a, b, waves.tail());
    writer.add_tile(prefix + "_cw", a, b, std::min(waves.whole, kMostWaves));
    writer.add_tile(prefix + "_pad", a, b, log_of(rows * a * columns * b / (g.m * g.n)));
    writer.add_tile(prefix + "_t", a, b,
                    log_of(waves.whole * facts.units * 2 * a * b * (g.k + 32) / facts.peak_per_us /
                           roofline.base_us()));
  }
}

}  // namespace

void conv_features(const OpGeometry& geometry, const DeviceFacts& facts, const Roofline& roofline,
                   FeatureWriter& writer) {
  const auto& d = geometry.dims;
  const double batch = d[dim::kBatch];
  const double group = std::max(d[dim::kGroup], 1.0);
  const double c = d[dim::kC] / group;
  const double o = d[dim::kO] / group;
  const double oh = d[dim::kOH];
  const double pixels = oh * d[dim::kOW];
  const double taps = d[dim::kKH] * d[dim::kKW];
  const double bytes = static_cast<double>(dtype_bits(geometry.dtype)) / 8;
  writer.add_log("B", batch);
  writer.add_log("C", c);
  writer.add_log("O", o);
  writer.add_log("H", d[dim::kH]);
  writer.add_log("W", d[dim::kW]);
  writer.add_log("OH", oh);
  writer.add_log("taps", taps);
  writer.add("KH", d[dim::kKH]);
  writer.add("KW", d[dim::kKW]);
  writer.add("stride", d[dim::kStride]);
  writer.add_log("group", group);
  writer.add_log("in", batch * d[dim::kC] * d[dim::kH] * d[dim::kW]);
  writer.add_log("out", batch * d[dim::kO] * pixels);
  writer.add_log("weights", d[dim::kO] * c * taps);
  writer.add_log("weights/l2", bytes * d[dim::kO] * c * taps / facts.l2_bytes);
  writer.add_log("pixels", batch * pixels);
  writer.add_log("C/O", c / std::max(o, 1.0));
  writer.add("B_raw", batch);
  writer.add("OH_raw", oh);
  writer.add("C_raw", c);
  writer.add("O_raw", o);
  writer.add("align_C", alignment(c));
  writer.add("align_O", alignment(o));
  writer.add("align_OH", alignment(oh));
  writer.add("align_BHW", alignment(batch * pixels));
  writer.add("align_HW", alignment(pixels));
  writer.add("align_B", alignment(batch));
  writer.add("C%8", remainder_of(c, 8));
  writer.add("C%4", remainder_of(c, 4));
  writer.add("O%32", remainder_of(o, 32));
  const double half = std::ceil(oh / 2) * std::ceil(d[dim::kOW] / 2);
  const double quarter = std::ceil(oh / 4) * std::ceil(d[dim::kOW] / 4);
  const auto lower = [&](std::string_view name, const Gemm& g, bool all) {
    add_lowering(name, g, geometry, facts, roofline, all, writer);
  };
  lower("implicit", {group, batch * pixels, o, c * taps, bytes}, true);
  lower("winograd2", {16 * group, batch * half, o, c, bytes}, false);
  lower("winograd4", {36 * group, batch * quarter, o, c, bytes}, false);
  lower("per_image", {batch * group, pixels, o, c * taps, bytes}, false);
  for (const int size : {16, 32}) {  // FFT over tiles
    const double step = std::max(size - d[dim::kKH] + 1, 1.0);
    const double tiles = std::ceil(oh / step) * std::ceil(d[dim::kOW] / step);
    writer.add_tile("fft", size, size,
                    log_of(size * (size / 2.0 + 1) * 8 * batch * tiles * c * d[dim::kO] /
                           std::max(geometry.flops, 1.0)));
    writer.add_tile("fft_pad", size, size, log_of(tiles * step * step / std::max(pixels, 1.0)));
  }
  writer.add_log("winograd2_pad", half * 4 / std::max(pixels, 1.0));
  writer.add_log("winograd4_pad", quarter * 16 / std::max(pixels, 1.0));
}

namespace {

// Kernels that a convolution on a GPU launches besides its own: PyTorch adds a bias in a kernel of
// its own, and cuDNN changes the layout of 16-bit operands and results.
void gpu_conv_features(const FeatureInput& input, FeatureWriter& writer) {
  const OpGeometry& geometry = input.geometry;
  const OpDescriptor& op = input.op;
  const bool bias = op.input_extents.size() > 2 && op.input_extents[2].size() == 1;
  const auto pass = [&](double bytes) {  // read and written
    return 1 + 2 * bytes / input.facts.bandwidth_per_us / input.roofline.base_us();
  };
  const auto& d = geometry.dims;
  const double bytes = static_cast<double>(dtype_bits(geometry.dtype)) / 8;
  const double image = bytes * d[dim::kBatch] * d[dim::kC] * d[dim::kH] * d[dim::kW];
  const double result = bytes * d[dim::kBatch] * d[dim::kO] * d[dim::kOH] * d[dim::kOW];
  writer.add("last", runs_on_channels_last(op, geometry) ? 1 : 0);
  writer.add("bias", bias ? 1 : 0);
  writer.add_log("bias_pass", bias ? pass(result) : 1);
  writer.add_log("image_pass", pass(image));
  writer.add_log("result_pass", pass(result));
  // Windows that do not overlap, and how far an image is padded.
  writer.add_log("KH/stride", d[dim::kKH] / std::max(d[dim::kStride], 1.0));
  writer.add("padding", (d[dim::kOH] - 1) * d[dim::kStride] + d[dim::kKH] - d[dim::kH]);
}

}  // namespace

FeatureFamily gemm_family() {
  return {
      .name = "gemm",
      .geometry = gemm_geometry,
      .features = [](const FeatureInput& input,
                     FeatureWriter& writer) { gemm_features(input.geometry, input.facts, writer); },
      .cpu_features =
          [](const FeatureInput& input, FeatureWriter& writer) {
            cpu_gemm_features(input.op, input.geometry, writer);
          },
      .recipe = {.depth = 6,
                 .eta = 0.04,
                 .columns = 0.5,
                 .least_weight = 3,
                 .rounds = 1800,
                 .floor_quantile = 0.002}};
}

FeatureFamily conv_family() {
  return {.name = "conv",
          .geometry = conv_geometry,
          .features =
              [](const FeatureInput& input, FeatureWriter& writer) {
                conv_features(input.geometry, input.facts, input.roofline, writer);
              },
          .cpu_features =
              [](const FeatureInput& input, FeatureWriter& writer) {
                cpu_conv_features(input.op, input.geometry, writer);
              },
          .gpu_features = gpu_conv_features,
          .recipe = {.depth = 6,
                     .eta = 0.05,
                     .columns = 0.5,
                     .least_weight = 2,
                     .rounds = 1000,
                     .floor_quantile = 0.002}};
}

}  // namespace dfsim::inline opmodel
