// The readers of framework traces: ONNX Runtime's profile and the PyTorch profiler's.
#include <catch2/catch.hpp>

#include "datasets/events/json_text.h"
#include "datasets/importers/importer.h"
#include "datasets/importers/tensor_lists.h"
#include "datasets/importers/torch/torch_ops.h"
#include "tests/datasets/test_files.h"

namespace dfsim {
namespace {

Profile import_file(std::string_view format, const std::string& path, DropReport* drops) {
  auto profile = import_profiles(format, std::span(&path, 1), {}, drops);
  if (!profile.ok()) {
    FAIL(profile.status().message());
  }
  return std::move(profile).value();
}

std::string trace_inputs(const Profile& profile, size_t i) {
  return format_tensors(profile.tensors(profile.row(i).inputs));
}

TEST_CASE("ONNX Runtime: warm runs, shapes, guessed attributes, device kernels") {
  DropReport drops;
  const Profile p = import_file("ort", fixture("ort/conv.json"), &drops);
  REQUIRE(p.size() == 3);
  CHECK(p.text(p.row(0).op_type) == "Conv");
  CHECK(p.row(0).time_ns == 22000);  // of 20 and 24 us; the cold run's 60 do not count
  CHECK(p.row(0).samples == 2);
  CHECK(p.row(0).timing == TimingKind::kInNetwork);
  CHECK(trace_inputs(p, 0) == "float32[1x3x32x32];float32[8x3x3x3];float32[8]");
  CHECK(p.text(p.row(0).attributes) ==
        "dilations=1,1;group=1;kernel_shape=3,3;pads=1,1,1,1;strides=2,2");
  CHECK(p.text(p.row(0).device) == "CPU");
  CHECK(p.text(p.row(0).network) == "conv");
  CHECK(p.row(1).time_ns == 3000);
  CHECK(p.row(1).timing == TimingKind::kKernelOnly);
  CHECK(trace_inputs(p, 1) == "float16[4]");
  CHECK(trace_inputs(p, 2) == "uint8[100]@BYTES");
  CHECK(p.dtype(p.row(2)) == DType::kUnknown);
  CHECK(drops.count(DropReason::kNoTime) == 1);  // Mul: only its launch was recorded
}

TEST_CASE("PyTorch: kernels are summed per call and linked to the innermost operator") {
  DropReport drops;
  const Profile p = import_file("kineto", fixture("kineto/linear.json"), &drops);
  REQUIRE(p.size() == 2);
  CHECK(p.text(p.row(0).op_type) == "Gemm");
  CHECK(p.row(0).time_ns == 7000);  // calls of 5.5 + 0.5 and 8 us
  CHECK(p.row(0).samples == 2);
  CHECK(p.row(0).count == 1);  // two calls in two steps
  CHECK(trace_inputs(p, 0) == "float32[4x8];float32[16x8];float32[16]");
  CHECK(format_tensors(p.tensors(p.row(0).outputs)) == "float32[4x16]");
  CHECK(p.text(p.row(0).attributes) == "transA=0;transB=1");
  CHECK(p.text(p.row(0).device) == "Test GPU");
  CHECK(p.text(p.row(0).kernel) == "gemm");
  CHECK(p.text(p.row(1).op_type) == "Relu");  // linked by its launch's time
  CHECK(p.row(1).time_ns == 2000);
  CHECK(drops.count(DropReason::kUnsupported) == 2);  // no shapes; stray kernel
}

TorchArgument operand(std::vector<int64_t> extents, std::vector<int64_t> strides = {}) {
  return {true, tensor(DType::kFloat16, std::move(extents)), std::move(strides), ""};
}
TorchArgument text(std::string value) { return {false, {}, {}, std::move(value)}; }

TEST_CASE("PyTorch operators become ONNX's") {
  const TorchOp conv = describe_torch_op(
      "aten::cudnn_convolution", {operand({2, 8, 14, 14}), operand({16, 4, 3, 3}), text("[1, 1]"),
                                  text("[2, 2]"), text("[1, 1]"), text("2")});
  CHECK(conv.op_type == "Conv");
  CHECK(conv.attributes == "dilations=1,1;group=2;kernel_shape=3,3;pads=1,1,1,1;strides=2,2");
  CHECK(format_tensors(conv.outputs) == "float16[2x16x7x7]");

  const TorchOp flash = describe_torch_op(
      "aten::_flash_attention_forward",
      {operand({1, 141, 8, 64}), operand({1, 150, 2, 64}), operand({1, 150, 2, 64}), text("True")});
  CHECK(format_tensors(flash.inputs) ==
        "float16[1x8x141x64];float16[1x2x150x64];float16[1x2x150x64]");
  CHECK(flash.attributes == "causal=1;kind=context;kv_heads=2;window=0");

  const TorchOp add = describe_torch_op("aten::add_", {operand({4, 1, 3}), operand({5, 1})});
  CHECK(add.op_type == "Add");
  CHECK(format_tensors(add.outputs) == "float16[4x5x3]");

  const TorchOp norm = describe_torch_op(
      "aten::native_layer_norm", {operand({2, 5, 8}), text("[8]"), operand({8}), operand({8})});
  CHECK(norm.attributes == "axis=2");
  CHECK(format_tensors(norm.inputs) == "float16[2x5x8];float16[8];float16[8]");

  const TorchOp softmax =
      describe_torch_op("aten::_softmax", {operand({2, 5, 8}), text("-1"), text("False")});
  CHECK(softmax.attributes == "axis=2");

  const TorchOp unknown = describe_torch_op("my::op", {operand({7}), text("3")});
  CHECK(unknown.op_type == "my::op");
  CHECK(unknown.op_class == OpClass::kOpaque);
  CHECK(format_tensors(unknown.inputs) == "float16[7]");
}

TEST_CASE("too few or odd arguments never break an operator") {
  const std::vector<TorchArgument> odd[] = {
      {},
      {text("x")},
      {operand({})},
      {operand({}), operand({})},
      {operand({3}), operand({0, 0, 0, 0}), operand({})},
      {operand({1, 2, 3, 4}), operand({1, 0, 1, 1}), text("[a]"), text("[0, 0]"), text("[0, 0]")}};
  for (const char* name :
       {"aten::addmm", "aten::mm", "aten::bmm", "aten::baddbmm", "aten::cudnn_convolution",
        "aten::native_layer_norm", "aten::_softmax", "aten::embedding", "aten::index_select",
        "aten::max_pool2d_with_indices", "aten::_flash_attention_forward", "aten::add", "aten::"}) {
    for (const auto& arguments : odd) {
      CAPTURE(name, arguments.size());
      CHECK_FALSE(describe_torch_op(name, arguments).op_type.empty());
    }
  }
}

TEST_CASE("JSON pieces of events") {
  CHECK(split_json_array("[[1, 2], \"a,]\\\"b\", {\"x\": [3]}, 4]").size() == 4);
  CHECK(split_json_array("[]").empty());
  CHECK(split_json_array("3").empty());
  std::vector<int64_t> extents;
  CHECK(parse_json_extents("[1,\n 20]", &extents));
  CHECK(extents == std::vector<int64_t>{1, 20});
  CHECK_FALSE(parse_json_extents("[1, [2]]", &extents));
  CHECK(unquote_json("\"a\"") == "a");
  CHECK(unquote_json("7") == "7");
}

TEST_CASE("what is no trace gives one clear error") {
  const ScratchFolder folder;
  for (const char* content :
       {"", "[", "{}", "3", "[3]", "{\"traceEvents\":3}", "{\"traceEvents\":[{\"ph\":\"X\"", "[{}]",
        "{\"traceEvents\":[]}", "\"text\"", "[[[[[[[[", "not json"}) {
    for (const char* format : {"ort", "kineto"}) {
      CAPTURE(content, format);
      const std::string path = folder.write("t.json", content);
      DropReport drops;
      const auto profile = import_profiles(format, std::span(&path, 1), {}, &drops);
      REQUIRE_FALSE(profile.ok());
      CHECK(profile.status().message().find("t.json") != std::string::npos);
    }
  }
}

struct RealTrace {
  const char* format;
  const char* path;
  const char* device;
  size_t rows;
};

TEST_CASE("real traces") {
  if (shared_file("").empty()) {
    WARN("skipped: DFSIM_SHARED is not set");
    return;
  }
  constexpr RealTrace kTraces[] = {
      {"ort", "traces/ort_profile/ucb-bar__resnet_inference_gemmini.json", "CPU", 77},
      {"kineto",
       "traces/pytorch_kineto_tracelens/h100__gaunernst_bert-small-uncased__1016001.json.gz",
       "NVIDIA H100 80GB HBM3", 16},
      {"kineto", "traces/pytorch_kineto_tracelens/mi300__resnet_act_checkpoint.json.gz",
       "AMD Instinct MI300X", 105},
      {"kineto", "traces/pytorch_kineto/trace_diff__control__control.json.gz",
       "NVIDIA A100-PG509-200", 544},
  };
  for (const RealTrace& trace : kTraces) {
    CAPTURE(trace.path);
    DropReport drops;
    const Profile p = import_file(trace.format, shared_file(trace.path), &drops);
    CHECK(p.size() == trace.rows);
    CHECK(p.text(p.row(0).device) == trace.device);
  }
}

TEST_CASE("device time of a real trace is whole") {
  if (shared_file("").empty()) {
    WARN("skipped: DFSIM_SHARED is not set");
    return;
  }
  // All 60 kernels of this trace belong to an operator with shapes: 26 addmm, 10 layer norms, 9
  // adds, 5 gelu, 4 attention... Their number shows that none was lost.
  DropReport drops;
  const Profile p = import_file(
      "kineto",
      shared_file(
          "traces/pytorch_kineto_tracelens/h100__gaunernst_bert-small-uncased__1016001.json.gz"),
      &drops);
  int64_t addmm_calls = 0;
  int64_t norm_calls = 0;
  for (const ProfileRow& row : p.rows()) {
    addmm_calls += p.text(row.op_type) == "Gemm" ? row.samples : 0;
    norm_calls += p.text(row.op_type) == "LayerNormalization" ? row.samples : 0;
  }
  CHECK(addmm_calls == 26);
  CHECK(norm_calls == 10);
}

}  // namespace
}  // namespace dfsim
