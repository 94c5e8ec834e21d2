#include <array>
#include <catch2/catch.hpp>
#include <cmath>

#include "opmodel/features/features.h"
#include "opmodel/features/op_geometry.h"

namespace dfsim {
namespace {

OpDescriptor op_of(std::string type, OpClass op_class, std::vector<std::vector<int64_t>> inputs,
                   std::vector<std::vector<int64_t>> outputs, std::string attributes = "") {
  OpDescriptor op;
  op.op_type = std::move(type);
  op.op_class = op_class;
  op.dtype = DType::kFloat32;
  op.input_extents = std::move(inputs);
  op.output_extents = std::move(outputs);
  op.input_dtypes.assign(op.input_extents.size(), DType::kFloat32);
  op.output_dtypes.assign(op.output_extents.size(), DType::kFloat32);
  op.attributes = std::move(attributes);
  return op;
}

DeviceSpec toy_device() {
  DeviceSpec device;
  device.model = "toy";
  device.peaks = {{DType::kFloat32, 1e13, 0}};
  device.memory_bytes_per_s = 1e12;
  device.l2_bytes = 1 << 20;
  device.compute_units = 16;
  return device;
}

TEST_CASE("Geometry: a matrix product has the same geometry in every spelling") {
  const OpGeometry matmul =
      geometry_of(op_of("MatMul", OpClass::kMatMul, {{8, 128, 64}, {64, 32}}, {{8, 128, 32}}));
  const OpGeometry gemm = geometry_of(
      op_of("Gemm", OpClass::kMatMul, {{1024, 64}, {32, 64}}, {{1024, 32}}, "transA=0;transB=1"));
  CHECK(matmul.family == Family::kGemm);
  CHECK(matmul.kind == "linear");
  CHECK(matmul.dims == gemm.dims);
  CHECK(matmul.key == gemm.key);
  CHECK(matmul.dims[dim::kM] == 1024);
  CHECK(matmul.dims[dim::kN] == 32);
  CHECK(matmul.dims[dim::kK] == 64);
  CHECK(matmul.flops == 2.0 * 1024 * 32 * 64);
  CHECK(matmul.bytes == 4.0 * (1024 * 64 + 64 * 32 + 1024 * 32));
  // A bias is other work.
  CHECK(geometry_of(op_of("Gemm", OpClass::kMatMul, {{1024, 64}, {32, 64}, {32}}, {{1024, 32}},
                          "transA=0;transB=1"))
            .key != gemm.key);
}

TEST_CASE("Quantised operators: operands follow scales and zero points, and channels may be last") {
  const auto quantised = [](OpDescriptor op) {
    op.dtype = DType::kUInt8;
    op.input_dtypes = {DType::kUInt8, DType::kFloat32, DType::kUInt8, DType::kInt8};
    op.input_dtypes.resize(op.input_extents.size(), DType::kFloat32);
    return geometry_of(op);
  };
  const std::string window = "dilations=1,1;group=1;kernel_shape=3,3;pads=1,1,1,1;strides=1,1";
  const OpGeometry plain = quantised(op_of(
      "QLinearConv", OpClass::kConv, {{1, 16, 8, 9}, {}, {}, {32, 16, 3, 3}, {}, {}, {}, {}, {32}},
      {{1, 32, 8, 9}}, window));
  CHECK(plain.family == Family::kConv);
  CHECK(plain.kind == "dense-8bit");
  CHECK(plain.dims[dim::kC] == 16);
  CHECK(plain.flops == 2.0 * 32 * 8 * 9 * 16 * 9);
  const OpGeometry last = quantised(op_of(
      "com.microsoft.QLinearConv", OpClass::kConv,
      {{1, 8, 9, 16}, {}, {}, {32, 16, 3, 3}, {}, {}, {}, {}, {32}}, {{1, 8, 9, 32}}, window));
  CHECK(last.dims == plain.dims);
  CHECK(last.dtype == DType::kInt8);
  const OpGeometry gemm =
      quantised(op_of("com.microsoft.QGemm", OpClass::kMatMul,
                      {{4, 64}, {}, {}, {32, 64}, {}, {}, {32}}, {{4, 32}}, "transA=0;transB=1"));
  CHECK(gemm.kind == "linear-8bit");
  CHECK(gemm.dims[dim::kN] == 32);
  CHECK(gemm.dims[dim::kBias] == 1);
}

TEST_CASE("Geometry: a lookup reads the rows that it returns, not the table") {
  OpDescriptor op = op_of("Gather", OpClass::kGather, {{30000, 768}, {1, 128}}, {{1, 128, 768}});
  op.input_dtypes[1] = DType::kInt64;
  CHECK(geometry_of(op).bytes == 2.0 * 128 * 768 * 4 + 128 * 8);
}

TEST_CASE("Geometry: a batched product keeps its batch, even when one side is broadcast") {
  const OpGeometry bmm = geometry_of(
      op_of("MatMul", OpClass::kMatMul, {{2, 12, 128, 64}, {2, 12, 64, 128}}, {{2, 12, 128, 128}}));
  CHECK(bmm.kind == "bmm");
  CHECK(bmm.dims[dim::kB] == 24);
  CHECK(bmm.dims[dim::kM] == 128);
  CHECK(bmm.flops == 2.0 * 24 * 128 * 128 * 64);
}

TEST_CASE("Geometry: convolutions may be dense, depthwise, grouped or transposed") {
  const auto conv = [](int64_t group, int64_t per_group) {
    return geometry_of(op_of("Conv", OpClass::kConv, {{2, 32, 56, 56}, {64, per_group, 3, 3}},
                             {{2, 64, 28, 28}},
                             "dilations=1,1;group=" + std::to_string(group) +
                                 ";kernel_shape=3,3;pads=1,1,1,1;strides=2,2"));
  };
  CHECK(conv(1, 32).kind == "dense");
  CHECK(conv(1, 32).flops == 2.0 * 2 * 64 * 28 * 28 * 32 * 9);
  CHECK(conv(1, 32).dims[dim::kStride] == 2);
  CHECK(conv(32, 1).kind == "depthwise");
  CHECK(conv(32, 1).flops == 2.0 * 2 * 64 * 28 * 28 * 9);
  CHECK(conv(4, 8).kind == "grouped");
}

TEST_CASE("Geometry: causal attention counts only the pairs that it computes") {
  const OpGeometry full = geometry_of(
      op_of("Attention", OpClass::kAttention, {{1, 2, 4, 8}, {1, 2, 4, 8}, {1, 2, 4, 8}},
            {{1, 2, 4, 8}}, "causal=0;kind=encoder;kv_heads=2;window=0"));
  const OpGeometry causal = geometry_of(
      op_of("Attention", OpClass::kAttention, {{1, 2, 4, 8}, {1, 2, 4, 8}, {1, 2, 4, 8}},
            {{1, 2, 4, 8}}, "causal=1;kind=context;kv_heads=2;window=0"));
  CHECK(full.flops == 4.0 * 2 * 16 * 8);
  CHECK(causal.flops == 4.0 * 2 * 10 * 8);  // 1 + 2 + 3 + 4 pairs
}

TEST_CASE("Geometry: attention with a window reads only that part of a longer cache") {
  const auto generation = [](int64_t keys, int64_t window) {
    return geometry_of(op_of(
        "Attention", OpClass::kAttention, {{3, 4, 1, 8}, {3, 2, keys, 8}, {3, 2, keys, 8}},
        {{3, 4, 1, 8}}, "causal=1;kind=generation;kv_heads=2;window=" + std::to_string(window)));
  };
  const double query = 3 * 4 * 8 * 4;  // bytes, fp32
  const auto cache = [](double keys) { return 2 * 3 * 2 * keys * 8 * 4; };
  CHECK(generation(1000, 0).bytes == query * 2 + cache(1000));
  CHECK(generation(1000, 128).bytes == Approx(query * 2 + cache(128)));
  CHECK(generation(1000, 128).bytes_in == Approx(query + cache(128)));
  CHECK(generation(100, 128).bytes == query * 2 + cache(100));
  CHECK(generation(1000, 128).flops == 4.0 * 3 * 4 * 128 * 8);
  CHECK(generation(1000, 128).key != generation(1000, 0).key);
  // A prompt's queries look at all of it together.
  const OpGeometry context = geometry_of(
      op_of("Attention", OpClass::kAttention, {{1, 2, 64, 8}, {1, 2, 64, 8}, {1, 2, 64, 8}},
            {{1, 2, 64, 8}}, "causal=1;kind=context;kv_heads=2;window=16"));
  CHECK(context.bytes == 4.0 * 2 * 64 * 8 * 4);
}

TEST_CASE("Geometry: shapes that do not fit the class, or foreign formats, give a generic op") {
  CHECK(geometry_of(op_of("MatMul", OpClass::kMatMul, {{2, 3}, {4, 5}}, {{2, 5}})).family ==
        Family::kGeneric);
  CHECK(geometry_of(op_of("MatMul", OpClass::kMatMul, {{-1}}, {})).family == Family::kGeneric);
  CHECK(geometry_of(op_of("BNTrainingUpdate", OpClass::kOpaque, {}, {})).family ==
        Family::kGeneric);
  const OpGeometry formatted =
      geometry_of(op_of("Conv", OpClass::kConv, {{32, 16, 224, 224}, {64, 16, 7, 7}},
                        {{32, 64, 112, 112}}, "formats=NC1HWC0,FRACTAL_Z>NC1HWC0"));
  CHECK(formatted.family == Family::kGeneric);
  // (32*16*224*224 * 64*16*49 * 32*64*112*112)^0.5: one factor of 7 short of the true count.
  CHECK(formatted.flops == Approx(2.0 * std::sqrt(25690112.0 * 50176.0 * 25690112.0)));
}

TEST_CASE("Geometry: softmax along an inner axis is of another kind where others lie between") {
  const auto kind = [](std::vector<int64_t> extents, const std::string& axis) {
    return geometry_of(op_of("Softmax", OpClass::kSoftmax, {extents}, {extents}, "axis=" + axis))
        .kind;
  };
  CHECK(kind({2, 8, 5, 7}, "3") == "Softmax");
  CHECK(kind({2, 8, 5, 7}, "2") == "Softmax-inner");
  CHECK(kind({2, 8, 1, 7}, "1") == "Softmax-inner");
  CHECK(kind({2, 8, 5, 7}, "1") == "Softmax-across");
  CHECK(kind({2, 8, 1, 1}, "1") == "Softmax");
}

TEST_CASE("Geometry: convolutions without blocks of channels start a product per image and group") {
  const auto effort = [](const std::string& type, int64_t rows) {
    return geometry_of(op_of(type, OpClass::kConv, {{10, 6, rows, rows}, {6, 1, 3, 3}},
                             {{10, 6, rows, rows}}, "group=6;kernel_shape=3,3;strides=1,1"))
        .cpu_effort;
  };
  // Depthwise ones have kernels of their own, and copy nothing.
  CHECK(effort("Conv", 1) == Approx(1 + 18'000 / 18.0));
  CHECK(effort("Conv", 3) == Approx(16.0 / 9 + 18'000 / (18.0 * 9)));
  CHECK(effort("Conv", 4) == Approx(1 + 18'000 / (18.0 * 16)));
  CHECK(effort("com.microsoft.nchwc.Conv", 3) == 1);
}

// 4 results of each of 6 channels, out of 9 elements of each of 8 channels in 2 groups.
TEST_CASE("Geometry: convolutions without blocks of channels copy what each result reads") {
  const auto effort = [](int64_t kernel) {
    return geometry_of(op_of("Conv", OpClass::kConv, {{1, 8, 4, 4}, {6, 4, kernel, kernel}},
                             {{1, 6, 4, 4}},
                             fmt::format("group=2;kernel_shape={0},{0};strides=1,1", kernel)))
        .cpu_effort;
  };
  const double flops = 2.0 * 6 * 16 * 4 * 9;
  CHECK(effort(3) == Approx(1 + 38 * 16 * 8 * 9 / flops + 2 * 18'000 / flops));
  CHECK(effort(1) == Approx(1 + 2 * 18'000 * 9 / flops));
}

TEST_CASE("Geometry: gathers and scatters take the time of their pieces") {
  const auto effort_of_all = [](const std::string& type, std::vector<std::vector<int64_t>> inputs,
                                std::vector<int64_t> output, const std::string& attributes) {
    OpDescriptor op =
        op_of(type, OpClass::kGather, std::move(inputs), {std::move(output)}, attributes);
    op.input_dtypes = {DType::kFloat32, DType::kInt64, DType::kFloat32};
    const OpGeometry geometry = geometry_of(op);
    return geometry.flops * geometry.cpu_effort;
  };
  // 9 x 16 indices for each of 2 rows; a last axis of one element changes nothing.
  CHECK(effort_of_all("Gather", {{2, 20}, {9, 16}}, {2, 9, 16}, "axis=1") == 288 + 700 * 288);
  CHECK(effort_of_all("Gather", {{2, 20, 1}, {9, 16}}, {2, 9, 16, 1}, "axis=1") == 288 + 700 * 288);
  CHECK(effort_of_all("Gather", {{20, 64}, {5}}, {5, 64}, "axis=0") == 320 + 700 * 5);
  CHECK(effort_of_all("ScatterElements", {{4, 8}, {4, 8}, {4, 8}}, {4, 8}, "") == 32 + 300 * 32);
  // 12,000 rows of 64 columns leave the cache when they are walked column by column.
  const std::vector<int64_t> edges = {12'000, 64};
  const double count = 12'000.0 * 64;
  CHECK(effort_of_all("ScatterElements", {{100, 64}, edges, edges}, {100, 64}, "axis=0") ==
        Approx(6400 + 10'000 * count));
  CHECK(effort_of_all("ScatterElements", {{100, 64}, edges, edges}, {100, 64}, "") ==
        Approx(6400 + 300 * count));
}

TEST_CASE("Geometry: resampling of volumes and signals looks each result up") {
  const auto effort = [](std::vector<int64_t> from, std::vector<int64_t> to,
                         const std::string& mode) {
    return geometry_of(op_of("Resize", OpClass::kDataMovement, {std::move(from)}, {std::move(to)},
                             "coordinates=asymmetric;mode=" + mode))
        .cpu_effort;
  };
  CHECK(effort({1, 2, 4, 4}, {1, 2, 8, 8}, "nearest") == 1);
  CHECK(effort({1, 2, 4, 4, 4}, {1, 2, 8, 8, 8}, "nearest") == 400);
  CHECK(effort({1, 2, 4}, {1, 2, 8}, "nearest") == 1);
  CHECK(effort({1, 2, 4}, {1, 2, 8}, "linear") == 80);
  CHECK(effort({1, 2, 4, 4}, {1, 2, 8, 8}, "linear") == 1);
}

// 2 directions, 8 gates, 3 inputs and 2 elements of state: in FLOPs of a large product.
TEST_CASE("Geometry: recurrent layers take the time of more arithmetic than they do") {
  const auto layer = [](int64_t batch) {
    return geometry_of(
        op_of("LSTM", OpClass::kRnn, {{5, batch, 3}, {2, 8, 3}, {2, 8, 2}}, {{5, 2, batch, 2}}));
  };
  CHECK(layer(1).flops == 2 * 5 * 16 * (3 + 2));
  // Inputs and gates of each step, and the state's products next to reading its 16 weights.
  CHECK(layer(1).flops * layer(1).cpu_effort ==
        Approx(10 * (8 * (2 * 3 + 200) + 16 * (2 * 1.25 + 5.5))));
  CHECK(layer(4).flops * layer(4).cpu_effort ==
        Approx(10 * (4 * 8 * (2 * 3 + 200) + 16 * (8 * 1.25 + 5.5))));
  // 4 MiB of weights, 16 times those that are read fast, take 16^0.4 times as long to read.
  const OpGeometry wide = geometry_of(
      op_of("LSTM", OpClass::kRnn, {{1, 1, 1}, {1, 2048, 1}, {1, 2048, 512}}, {{1, 1, 1, 512}}));
  CHECK(wide.flops * wide.cpu_effort ==
        Approx(2048 * 202.0 + 2048 * 512 * (2.5 + 5.5 * std::pow(16, 0.4))));
  DeviceSpec cpu = toy_device();
  cpu.type = DeviceType::kCpu;
  CHECK(roofline_of(layer(4), cpu, 0).compute_us ==
        Approx(layer(4).flops * layer(4).cpu_effort / 1e13 * 1e6));
  CHECK(roofline_of(layer(4), toy_device(), 0).compute_us == Approx(layer(4).flops / 1e13 * 1e6));
  const OpDescriptor quantised = op_of("com.microsoft.DynamicQuantizeLSTM", OpClass::kRnn,
                                       {{5, 1, 3}, {2, 3, 8}, {2, 2, 8}}, {{5, 2, 1, 2}});
  CHECK(geometry_of(quantised).flops == layer(1).flops);
  CHECK(geometry_of(quantised).cpu_effort == Approx(layer(1).cpu_effort));
  const OpDescriptor odd = op_of("LSTM", OpClass::kRnn, {{5, 1, 3}}, {{5, 2, 1, 2}});
  CHECK(geometry_of(odd).flops == 0);
}

TEST_CASE("Features: are finite, with the advertised number and unique names") {
  const std::array ops = {
      op_of("MatMul", OpClass::kMatMul, {{8, 128, 64}, {64, 32}}, {{8, 128, 32}}),
      op_of("Conv", OpClass::kConv, {{2, 32, 56, 56}, {64, 32, 3, 3}}, {{2, 64, 28, 28}},
            "group=1;strides=2,2"),
      op_of("Attention", OpClass::kAttention, {{1, 2, 1, 8}, {1, 2, 400, 8}, {1, 2, 400, 8}},
            {{1, 2, 1, 8}}, "causal=1;kind=generation;kv_heads=2;window=0"),
      op_of("Add", OpClass::kElementwise, {{3, 5}, {3, 5}}, {{3, 5}}),
      op_of("Unknown", OpClass::kOpaque, {{3, 0}, {-1}}, {{}})};
  for (const OpDescriptor& op : ops) {
    const OpGeometry geometry = geometry_of(op);
    for (const FeatureSet set : {FeatureSet::kOfCpus, FeatureSet::kOfGpus}) {
      const auto& names = feature_names(geometry.family, set);
      std::vector<float> values(names.size(), -777.0F);
      const DeviceSpec device = toy_device();
      fill_features(op, geometry, device, roofline_of(geometry, device, 3), set, values);
      for (size_t i = 0; i < values.size(); ++i) {
        INFO(op.op_type << " " << names[i]);
        CHECK(std::isfinite(values[i]));
        CHECK(values[i] != -777.0F);
        CHECK(std::count(names.begin(), names.end(), names[i]) == 1);
      }
    }
  }
}

TEST_CASE("Geometry: a group normalisation has a row per image and group") {
  const auto norm = [](std::string groups) {
    return geometry_of(op_of("GroupNormalization", OpClass::kNorm, {{2, 8, 4, 4}, {8}, {8}},
                             {{2, 8, 4, 4}}, std::move(groups)));
  };
  CHECK(norm("num_groups=4").dims[0] == 8);       // 2 images of 4 groups
  CHECK(norm("num_groups=4").dims[1] == 2 * 16);  // of 2 channels of 16 pixels each
  CHECK(norm("num_groups=1").dims[0] == 2);
  CHECK(norm("num_groups=1").dims[1] == 8 * 16);
  CHECK(norm("num_groups=1").key != norm("num_groups=4").key);
}

TEST_CASE("Features: a matrix product has the values computed by hand") {
  const OpDescriptor op = op_of("MatMul", OpClass::kMatMul, {{300, 64}, {64, 200}}, {{300, 200}});
  const OpGeometry geometry = geometry_of(op);
  const DeviceSpec device = toy_device();
  const Roofline roofline = roofline_of(geometry, device, 3);
  CHECK(roofline.compute_us == Approx(2.0 * 300 * 64 * 200 / 1e7));
  CHECK(roofline.memory_us == Approx(4.0 * (300 * 64 + 64 * 200 + 300 * 200) / 1e6));
  const auto& names = feature_names(Family::kGemm, FeatureSet::kOfGpus);
  std::vector<float> values(names.size());
  fill_features(op, geometry, device, roofline, FeatureSet::kOfGpus, values);
  const auto value = [&](std::string_view name) {
    return values[static_cast<size_t>(std::find(names.begin(), names.end(), name) - names.begin())];
  };
  CHECK(value("M") == Approx(std::log(300.0)));
  CHECK(value("align_M") == 2);  // 300 = 4 * 75
  CHECK(value("align_K") == 6);
  // 128x128: ceil(300/128) * ceil(200/128) = 6 tiles on 16 units.
  CHECK(value("w128x128") == Approx(std::log(6.0 / 16)));
  CHECK(value("cw128x128") == 1);
  CHECK(value("tail128x128") == Approx(6.0 / 16));
  CHECK(value("pad128x128") == Approx(std::log(6.0 * 128 * 128 / (300 * 200))));
}

}  // namespace
}  // namespace dfsim
