// Operators of language models on CPUs: times by hand.
#include "opmodel/model/laws/cpu/decoder_kernels.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace dfsim {
namespace {

// The machine that was measured, with that many cores.
DeviceSpec measured_cpu(int cores) {
  DeviceSpec device;
  device.type = DeviceType::kCpu;
  device.compute_units = cores;
  device.peaks = {{DType::kFloat32, 91.9e9 * cores}, {DType::kInt8, 183.8e9 * cores}};
  return device;
}

OpDescriptor decoder_op(const std::string& type, std::vector<std::vector<int64_t>> inputs,
                        std::vector<std::vector<int64_t>> outputs,
                        const std::string& attributes = "") {
  OpDescriptor op;
  op.op_type = "com.microsoft." + type;
  op.dtype = DType::kFloat32;
  op.input_dtypes.assign(inputs.size(), DType::kFloat32);
  op.input_extents = std::move(inputs);
  op.output_dtypes.assign(outputs.size(), DType::kFloat32);
  op.output_extents = std::move(outputs);
  op.attributes = attributes;
  return op;
}

double packed_us(int64_t rows, const std::string& attributes, int cores) {
  const OpDescriptor op = decoder_op("MatMulNBits", {{rows, 1000}, {2000, 32, 16}, {2000, 32}},
                                     {{rows, 2000}}, attributes);
  return decoder_kernel_us(op, measured_cpu(cores));
}

TEST_CASE("Decoder kernels: packed weights are unpacked once, then multiplied per row") {
  // 2 million weights.
  CHECK(packed_us(1, "accuracy_level=4;bits=4", 1) == Approx(2000 * 0.041));
  CHECK(packed_us(10, "accuracy_level=4;bits=4", 1) == Approx(2000 * (0.017 + 10 * 0.0232)));
  CHECK(packed_us(1, "accuracy_level=0;bits=4", 1) == Approx(2000 * 0.15));
  CHECK(packed_us(10, "accuracy_level=0;bits=4", 1) == Approx(2000 * (0.275 + 10 * 0.0229)));
  CHECK(packed_us(10, "accuracy_level=0;bits=8", 1) == Approx(2000 * (2.5 + 10 * 0.0229)));
  CHECK(packed_us(10, "accuracy_level=4;bits=8", 2) ==
        Approx(2000 * (0.026 + 10 * 0.0353) * (0.02 + 0.98 / 2)));
}

TEST_CASE("Decoder kernels: 2 bits are written out in fp32 below level 4, in a wide interval") {
  CHECK(packed_us(1, "accuracy_level=0;bits=2", 1) == Approx(2000 * 2.5));
  CHECK(packed_us(10, "accuracy_level=1;bits=2", 1) == Approx(2000 * (2.5 + 10 * 0.0229)));
  CHECK(packed_us(10, "accuracy_level=4;bits=2", 1) == Approx(2000 * (0.017 + 10 * 0.0232)));
  CHECK(decoder_kernel_spread(decoder_op("MatMulNBits", {}, {}, "bits=2")) == 2);
  CHECK(decoder_kernel_spread(decoder_op("MatMulNBits", {}, {}, "bits=4")) == 1.3);
}

TEST_CASE("Decoder kernels: rows of 8 bits go by the rate of 8 bits, and never beat the memory") {
  const OpDescriptor op = decoder_op("MatMulNBits", {{100, 1000}, {2000, 32, 16}, {2000, 32}},
                                     {{100, 2000}}, "accuracy_level=4;bits=8");
  DeviceSpec vnni = measured_cpu(1);
  vnni.peaks[1].flops_per_s *= 2;
  CHECK(decoder_kernel_us(op, vnni) == Approx(2000 * (0.026 + 100 * 0.0353 / 2)));
  const OpDescriptor packed = decoder_op("MatMulNBits", {{100, 1000}, {2000, 32, 16}, {2000, 32}},
                                         {{100, 2000}}, "accuracy_level=4;bits=4");
  CHECK(decoder_kernel_us(packed, vnni) == Approx(2000 * (0.017 + 100 * 0.0232)));
  DeviceSpec amd = vnni;
  amd.model = "AMD EPYC";
  CHECK(decoder_kernel_us(packed, amd) == Approx(2000 * (0.017 + 100 * 0.0353 / 2)));
  OpDescriptor one = decoder_op("MatMulNBits", {{1, 1000}, {2000, 32, 16}, {2000, 32}}, {{1, 2000}},
                                "accuracy_level=4;bits=4");
  one.work.weight_bytes = 20'000'000;
  CHECK(decoder_kernel_us(one, measured_cpu(1)) == Approx(1000));  // 20 GB/s
  DeviceSpec slow = measured_cpu(1);
  slow.memory_bytes_per_s = 10e9;
  CHECK(decoder_kernel_us(one, slow) == Approx(20'000 / 6.5));  // 65 % of its bandwidth
  DeviceSpec unknown = measured_cpu(1);
  unknown.peaks.clear();
  CHECK(decoder_kernel_us(one, unknown) == 0);
}

TEST_CASE("Decoder kernels: attention takes its scores, and copies a cache that grows") {
  OpDescriptor op =
      decoder_op("GroupQueryAttention", {{1, 1, 128}, {-1}, {-1}, {1, 2, 99, 16}, {1, 2, 99, 16}},
                 {{1, 1, 64}, {1, 2, 100, 16}, {1, 2, 100, 16}});
  op.work.macs = 4 * 100 * 32;
  op.work.flops = 2 * op.work.macs + 7 * 400;
  const double scores_ns = 12'800 * (0.0229 + 0.092) + 400 * 1.6 + 128 * 0.9;
  const double copied_ns = 2 * 3200 * 4 / 17.0;
  CHECK(decoder_kernel_us(op, measured_cpu(1)) == Approx((10'000 + scores_ns + copied_ns) / 1e3));
  op.input_extents[3] = op.input_extents[4] = {1, 2, 100, 16};
  CHECK(decoder_kernel_us(op, measured_cpu(1)) == Approx((10'000 + scores_ns) / 1e3));
}

TEST_CASE("Decoder kernels: attention of heads lays out keys and values; an embedding is a row") {
  OpDescriptor op =
      decoder_op("MultiHeadAttention", {{1, 10, 64}, {1, 20, 64}, {1, 20, 64}}, {{1, 10, 64}});
  op.work.macs = 4 * 200 * 32;
  op.work.flops = 2 * op.work.macs + 7 * 800;
  CHECK(decoder_kernel_us(op, measured_cpu(1)) ==
        Approx((25'600 * (0.0229 + 0.0092) + 800 * 0.9 + 2560 * 0.27) / 1e3));
  CHECK(decoder_kernel_us(decoder_op("EmbedLayerNormalization", {{1, 128}}, {{1, 128, 100}}),
                          measured_cpu(1)) == Approx(12'800 * 2.53 / 1e3));
  CHECK(decoder_kernel_us(decoder_op("QEmbedLayerNormalization", {{1, 128}}, {{1, 128, 100}}),
                          measured_cpu(1)) == Approx(12'800 * 4.5 / 1e3));
  CHECK(decoder_kernel_us(decoder_op("Gelu", {{1, 128}}, {{1, 128}}), measured_cpu(1)) == 0);
}

TEST_CASE("Decoder kernels: attention with its projection copies the cache that it returns") {
  OpDescriptor op = decoder_op("Attention", {{1, 1, 64}, {64, 192}, {192}, {-1}, {2, 1, 4, 99, 16}},
                               {{1, 1, 64}, {2, 1, 4, 100, 16}});
  const double projected = 64 * 192;
  op.work.macs = static_cast<int64_t>(projected) + 2 * 100 * 64;
  op.work.flops = 2 * op.work.macs + 7 * 400;
  const double scores_ns = 12'800 * (0.0229 + 0.092) + 400 * 0.9;
  const double copied_ns = 2 * 6400 * 4 / 17.0;
  CHECK(decoder_kernel_us(op, measured_cpu(1)) ==
        Approx((projected * 0.0229 + scores_ns + copied_ns) / 1e3));
  op.work.weight_bytes = 20'000'000;  // which take longer than the product
  CHECK(decoder_kernel_us(op, measured_cpu(1)) == Approx((1e6 + scores_ns + copied_ns) / 1e3));
}

TEST_CASE("Decoder kernels: ONNX's attention has a law for operands of three axes") {
  OpDescriptor op = decoder_op("Attention", {{1, 10, 64}, {1, 20, 64}, {1, 20, 64}}, {{1, 10, 64}});
  op.op_type = "Attention";
  op.work.macs = 4 * 200 * 32;
  op.work.flops = 2 * op.work.macs + 7 * 800;
  CHECK(decoder_kernel_us(op, measured_cpu(1)) ==
        Approx((25'600 * (0.0229 + 0.0092) + 800 * 0.9 + 2560 * 0.27) / 1e3));
  CHECK(decoder_kernel_spread(op) == 2.5);
  op.input_extents[0] = {1, 4, 10, 16};
  CHECK(decoder_kernel_us(op, measured_cpu(1)) == 0);
}

TEST_CASE("Decoder kernels: keys of an encoder lie by heads, a cache that grows is copied") {
  OpDescriptor op = decoder_op("MultiHeadAttention", {{1, 1, 64}, {1, 4, 100, 16}, {1, 4, 100, 16}},
                               {{1, 1, 64}});
  op.work.macs = 2 * 400 * 16;
  op.work.flops = 2 * op.work.macs + 7 * 400;
  const double scores_ns = 12'800 * (0.0229 + 0.092) + 400 * 0.9;
  CHECK(decoder_kernel_us(op, measured_cpu(1)) == Approx(scores_ns / 1e3));
  DeviceSpec small = measured_cpu(1);
  small.l2_bytes = 40'000;  // a quarter of it holds 10,000 of 51,200 bytes
  CHECK(decoder_kernel_us(op, small) == Approx((scores_ns + 41'200 / 20.0) / 1e3));
  op = decoder_op(
      "MultiHeadAttention",
      {{1, 1, 64}, {1, 1, 64}, {1, 1, 64}, {-1}, {-1}, {-1}, {1, 4, 99, 16}, {1, 4, 99, 16}},
      {{1, 1, 64}, {1, 4, 100, 16}, {1, 4, 100, 16}});
  op.work.macs = 2 * 400 * 16;
  op.work.flops = 2 * op.work.macs + 7 * 400;
  const double laid_ns = 128 * 0.27;
  const double copied = 2 * 6400 * 4;
  CHECK(decoder_kernel_us(op, measured_cpu(1)) ==
        Approx((scores_ns + laid_ns + copied / 30) / 1e3));
  small.l2_bytes = 80'000;  // an eighth of it holds 10,000 bytes of the cache
  CHECK(decoder_kernel_us(op, small) ==
        Approx((scores_ns + laid_ns + copied / 30 + (copied - 10'000) / 9) / 1e3));
}

TEST_CASE("Decoder kernels: one masked token reads its cache in place") {
  OpDescriptor op =
      decoder_op("DecoderMaskedMultiHeadAttention",
                 {{1, 1, 64}, {1, 1, 64}, {1, 1, 64}, {-1}, {-1}, {1, 4, 100, 16}, {1, 4, 100, 16}},
                 {{1, 1, 64}, {1, 4, 100, 16}, {1, 4, 100, 16}});
  op.work.macs = 2 * 400 * 16;
  op.work.flops = 2 * op.work.macs + 7 * 400;
  const double in_place_ns = 5000 + 12'800 * (0.0229 + 0.092) + 400 * 0.9;
  CHECK(decoder_kernel_us(op, measured_cpu(1)) == Approx(in_place_ns / 1e3));
  CHECK(decoder_kernel_us(op, measured_cpu(4)) ==
        Approx((5000 + (in_place_ns - 5000) * (0.02 + 0.98 / 4)) / 1e3));
  CHECK(decoder_kernel_spread(op) == 2);
  DeviceSpec small = measured_cpu(1);
  small.l2_bytes = 40'000;
  CHECK(decoder_kernel_us(op, small) == Approx((in_place_ns + (51'200 - 10'000) / 20.0) / 1e3));
  op.output_extents[1] = op.output_extents[2] = {1, 4, 101, 16};  // no room: copied
  CHECK(decoder_kernel_us(op, measured_cpu(1)) ==
        Approx((in_place_ns + 2 * 6464 * 4 / 17.0) / 1e3));
}

TEST_CASE("Decoder kernels: a softcap takes a hyperbolic tangent per score") {
  OpDescriptor op = decoder_op("GroupQueryAttention", {{1, 1, 128}}, {{1, 1, 64}});
  op.work.macs = 4 * 100 * 32;
  op.work.flops = 2 * op.work.macs + 7 * 400;
  const double plain_us = decoder_kernel_us(op, measured_cpu(1));
  op.attributes = "softcap=1";
  CHECK(decoder_kernel_us(op, measured_cpu(1)) == Approx(plain_us + 400 * 9.2 / 1e3));
}

TEST_CASE("Decoder kernels: quantised attention projects in 8 bits") {
  OpDescriptor op = decoder_op("QAttention", {{1, 10, 64}, {64, 192}}, {{1, 10, 64}});
  const double projected = 10 * 64 * 192;
  op.work.macs = static_cast<int64_t>(projected) + 4 * 100 * 32;
  op.work.flops = 2 * op.work.macs + 7 * 400;
  const double scores_ns = 12'800 * (0.0229 + 0.0092) + 400 * 0.9;
  CHECK(decoder_kernel_us(op, measured_cpu(1)) == Approx((projected * 0.0116 + scores_ns) / 1e3));
}

}  // namespace
}  // namespace dfsim
