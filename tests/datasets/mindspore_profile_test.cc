// Whole profiles of MindSpore: shifted types, blocked formats, gradients, and names of files.
#include <catch2/catch.hpp>
#include <map>

#include "datasets/importers/importer.h"
#include "datasets/importers/mindspore/mindspore_files.h"
#include "datasets/importers/mindspore/mindspore_layouts.h"
#include "datasets/importers/mindspore/mindspore_types.h"
#include "tests/datasets/mindspore_generator.h"

namespace dfsim {
namespace {

struct Imported {
  Profile profile;
  DropReport drops;
};

Imported import_all(const ScratchFolder& scratch, const std::string& folder = "") {
  const std::string path = scratch.file(folder);
  Imported imported;
  auto profile = import_profiles("mindspore", std::span(&path, 1), {}, &imported.drops);
  if (!profile.ok()) {
    FAIL(profile.status().message());
  }
  imported.profile = std::move(*profile);
  return imported;
}

Imported import_made(const MindsporeGenerator& generator, const std::string& folder = "net_bs4") {
  const ScratchFolder scratch;
  generator.write(scratch, folder);
  return import_all(scratch);
}

// Everything of the rows but where they come from.
std::vector<std::string> texts_of(const Profile& p) {
  std::vector<std::string> texts;
  for (const ProfileRow& row : p.rows()) {
    texts.push_back(fmt::format("{} {} {} > {} [{}] {}", p.text(row.name), p.text(row.op_type),
                                format_tensors(p.tensors(row.inputs)),
                                format_tensors(p.tensors(row.outputs)), p.text(row.attributes),
                                row.time_ns));
  }
  return texts;
}

std::string row_with(const Profile& p, std::string_view part) {
  for (const std::string& text : texts_of(p)) {
    if (text.find(part) != std::string::npos) {
      return text;
    }
  }
  return "";
}

TEST_CASE("MindSpore: blocked formats become the operands of ONNX operators") {
  const Imported made = import_made({});
  CHECK(made.drops.total() == 0);
  CHECK(made.drops.notes().empty());
  const Profile& p = made.profile;
  // The image has 3 channels, as the TransData says, though 16 are stored.
  CHECK(row_with(p, "conv1/Conv2D") ==
        "Default/network-TrainOneStepCell/network-WithLossCell/_backbone-Net/conv1/Conv2D-op4 Conv "
        "float16[4x3x64x64];float16[32x3x7x7] > float16[4x32x32x32] "
        "[dilations=1,1;group=1;kernel_shape=7,7;pads=3,3,3,3;strides=2,2] " +
            std::to_string(p.row(3).time_ns));
  const std::string pointwise = row_with(p, "conv2/Conv2D");
  CHECK(pointwise.find("float16[4x32x32x32];float16[64x32x1x1] > float16[4x64x32x32]") !=
        std::string::npos);
  CHECK(row_with(p, "conv3/Conv2D").find("float16[64x64x3x3]") != std::string::npos);
  // 1001 columns, not the 1008 of full blocks.
  CHECK(
      row_with(p, "fc/MatMul")
          .find(
              "MatMul float16[4x4096];float16[1001x4096] > float16[4x1001] [transA=0;transB=1]") !=
      std::string::npos);
  CHECK(row_with(p, "BNTrainingReduce").find("float16[4x32x32x32] > float32[1x32x1x1]") !=
        std::string::npos);
}

TEST_CASE("MindSpore: without a TransData blocks count as full") {
  MindsporeGenerator generator;
  generator.transdata = false;
  const Imported made = import_made(generator);
  CHECK(row_with(made.profile, "conv1/Conv2D")
            .find("float16[4x16x64x64];float16[32x16x7x7] > float16[4x32x32x32]") !=
        std::string::npos);
}

TEST_CASE("MindSpore: gradients have the names and operands of training steps") {
  const Profile p = import_made({}).profile;
  CHECK(row_with(p, "conv3/gradConv2D/Conv2DBackpropFilter")
            .find("tensorflow.ConvFilterGrad float16[4x64x32x32];float16[4x64x16x16] > "
                  "float32[64x64x3x3]") != std::string::npos);
  CHECK(row_with(p, "conv3/gradConv2D/Conv2DBackpropInput")
            .find("ConvTranspose float16[4x64x16x16];float16[64x64x3x3] > float16[4x64x32x32] "
                  "[dilations=1,1;group=1;kernel_shape=3,3;output_padding=0,0;pads=") !=
        std::string::npos);
  CHECK(row_with(p, "gradMaxPool")
            .find("tensorflow.MaxPoolGrad float16[4x64x8x8];"
                  "float16[4x64x16x16];float16[4x64x8x8] > "
                  "float16[4x64x16x16]") != std::string::npos);
  CHECK(row_with(p, "gradReLU").find("dfsim.training.ElementwiseGrad") != std::string::npos);
}

TEST_CASE("MindSpore: types that a version of the profiler shifts are corrected with a note") {
  const std::vector<std::string> right = texts_of(import_made({}).profile);
  for (const int shift : {-1, 1, 2, 3}) {
    CAPTURE(shift);
    MindsporeGenerator generator;
    generator.type_shift = shift;
    const Imported made = import_made(generator);
    CHECK(texts_of(made.profile) == right);
    REQUIRE(made.drops.notes().size() == 1);
    CHECK(made.drops.notes()[0].find("shifted by " + std::to_string(std::abs(shift))) !=
          std::string::npos);
  }
}

TEST_CASE("MindSpore: a float32 product faster than float32 can be is float16") {
  // Only products, so that nothing but their speed tells: 60 TFLOP/s, where float32 reaches 4.
  const auto products = [](int shift) {
    MindsporeGenerator generator;
    generator.type_shift = shift;
    generator.batch = 64;
    generator.logical_not = false;
    const ScratchFolder scratch;
    generator.write(scratch, "net_bs64");
    return import_all(scratch);
  };
  const Imported shifted = products(1);
  CHECK(shifted.drops.notes().size() == 1);
  CHECK(texts_of(shifted.profile) == texts_of(products(0).profile));
}

TEST_CASE("find_type_shift: leaves alone what is right or what nothing explains") {
  const TypedOp right = {"MatMul", OpClass::kMatMul, {{13, 13}, {13}}, false};
  const TypedOp fp32 = {"MatMul", OpClass::kMatMul, {{14, 14}, {14}}, false};
  const TypedOp without_width = {"Conv2D", OpClass::kConv, {{12, 12}, {12}}, false};
  const std::vector<TypedOp> sound = {right, fp32, without_width};
  CHECK(find_type_shift(sound).shift == 0);
  CHECK(find_type_shift(sound).impossible == 0);
  // FLOAT that is faster than float32: one place further on is float16.
  const std::vector<TypedOp> fast = {{"Conv2D", OpClass::kConv, {{12, 12}, {12}}, true}};
  CHECK(find_type_shift(fast).shift == -1);
  // One odd operator among many right ones does not make a shift.
  std::vector<TypedOp> odd(20, fp32);
  odd.push_back({"LogicalNot", OpClass::kElementwise, {{0}, {0}}, false});
  CHECK(find_type_shift(odd).shift == 0);
  CHECK(find_type_shift(odd).impossible == 1);
}

TEST_CASE("mindspore_type_place: knows MindSpore's order and no other names") {
  CHECK(mindspore_type_place("NUMBER_TYPE_BEGIN") == 0);
  CHECK(mindspore_type_place("kNumberTypeFloat16") == 13);
  CHECK(mindspore_type_place("Float32") == 14);
  CHECK(mindspore_type_place("NUMBER_TYPE_END") == kTypeEnd);
  CHECK(mindspore_type_place("UNKNOWN") == kTypeUnknown);
  CHECK(mindspore_type_place("DT_FLOAT16") == -1);
  CHECK(mindspore_type_at(13, 0) == DType::kFloat16);
  CHECK(mindspore_type_at(0, -1) == DType::kBool);
  CHECK(mindspore_type_at(kTypeEnd, 3) == DType::kFloat16);
  CHECK(mindspore_type_at(kTypeUnknown, 3) == DType::kFloat32);
  CHECK(mindspore_type_at(kTypeUnknown, 0) == DType::kUnknown);
}

TEST_CASE("MindSpore: every version of the files gives the same rows") {
  const std::vector<std::string> right = texts_of(import_made({}).profile);
  for (const MsFiles files : {MsFiles::kKernelPair, MsFiles::kJoined, MsFiles::kSummary}) {
    CAPTURE(static_cast<int>(files));
    MindsporeGenerator generator;
    generator.files = files;
    CHECK(texts_of(import_made(generator).profile) == right);
  }
}

TEST_CASE("MindSpore: files named after the network are found") {
  const ScratchFolder scratch;
  MindsporeGenerator generator;
  generator.files = MsFiles::kJoined;
  generator.write(scratch, "all", "resnet50_bs32");
  generator.write(scratch, "bs16", "bert");
  generator.files = MsFiles::kPair;
  generator.write(scratch, "vgg/profiler", "0");
  generator.write(scratch, "more", "lenet_bs8");
  const Profile p = import_all(scratch).profile;
  std::map<std::string, int32_t> networks;
  for (const ProfileRow& row : p.rows()) {
    networks[p.text(row.network)] = row.batch;
  }
  CHECK(networks ==
        std::map<std::string, int32_t>{{"bert", 16}, {"lenet", 8}, {"resnet50", 32}, {"vgg", 0}});
}

TEST_CASE("mindspore_file_kind: tells files by name or by columns") {
  using enum MindsporeFileKind;
  CHECK(mindspore_file_kind("framework_raw_0.csv", "") == kFramework);
  CHECK(mindspore_file_kind("aicore_intermediate_0_detail.csv.gz", "") == kDetail);
  CHECK(mindspore_file_kind("aicore_intermediate_0_type.csv", "") == kNone);
  CHECK(mindspore_file_kind("op_summary_0_1.csv", "") == kSummary);
  CHECK(mindspore_file_kind("resnet.csv", "full_op_name,execution_time") == kDetail);
  CHECK(mindspore_file_kind("resnet.csv", "full_op_name,op_type,op_info") == kFramework);
  CHECK(mindspore_file_kind("resnet.csv", "full_op_name,op_type,op_info,execution_time(us)") ==
        kJoined);
  CHECK(mindspore_file_kind("a.csv", "Name,Type,Duration(us),Input Shapes") == kSummary);
  CHECK(mindspore_file_kind("a.csv", "a,b,c") == kNone);
  CHECK(mindspore_file_kind("resnet.txt", "full_op_name,execution_time") == kNone);
  CHECK(mindspore_file_label("aicore_intermediate_resnet50_bs32_detail.csv.gz") == "resnet50_bs32");
  CHECK(mindspore_file_label("framework_raw_0.csv") == "0");
}

TEST_CASE("LogicalShapes: inverts each of Ascend's formats") {
  const auto spec = [](std::vector<int64_t> extents, std::string format) {
    return TensorSpec{DType::kFloat16, std::move(extents), std::move(format)};
  };
  const LogicalShapes shapes;
  const auto logical = [&](std::vector<int64_t> extents, const char* format) {
    return format_tensors({shapes.logical(spec(std::move(extents), format))});
  };
  CHECK(logical({2, 4, 7, 5, 16}, "NC1HWC0") == "float16[2x64x7x5]");
  CHECK(logical({2, 3, 4, 7, 5, 16}, "NDC1HWC0") == "float16[2x64x3x7x5]");
  CHECK(logical({2, 12, 63, 2, 16, 16}, "FRACTAL_NZ") == "float16[2x12x32x1008]");
  CHECK(logical({9, 4, 16, 16}, "FRACTAL_Z") == "float16[64x144]");
  CHECK(logical({4, 3, 3, 1, 16, 16}, "C1HWNCoC0") == "float16[64x1x3x3]");
  CHECK(logical({32, 64}, "FRACTAL_NZ") == "float16[32x64]@FRACTAL_NZ");  // logical already
  CHECK(logical({1, 1 << 30, 1, 1, 1 << 30}, "NC1HWC0").find("@NC1HWC0") != std::string::npos);

  LogicalShapes told;
  told.learn(spec({32, 1001}, ""), spec({63, 2, 16, 16}, "FRACTAL_NZ"));
  told.learn(spec({2, 4, 7, 7, 16}, "NC1HWC0"), spec({2, 60, 7, 7}, ""));
  CHECK(format_tensors({told.logical(spec({63, 2, 16, 16}, "FRACTAL_NZ"))}) == "float16[32x1001]");
  CHECK(format_tensors({told.logical(spec({2, 4, 7, 7, 16}, "NC1HWC0"))}) == "float16[2x60x7x7]");
  // Two TransDatas that disagree say nothing.
  told.learn(spec({2, 4, 7, 7, 16}, "NC1HWC0"), spec({2, 62, 7, 7}, ""));
  CHECK(format_tensors({told.logical(spec({2, 4, 7, 7, 16}, "NC1HWC0"))}) == "float16[2x64x7x7]");
}

TEST_CASE("LogicalShapes: finds the kernel of a convolution") {
  const auto blocked = [](std::vector<int64_t> extents) {
    return TensorSpec{DType::kFloat16, std::move(extents), "NC1HWC0"};
  };
  const auto filter = [](std::vector<int64_t> extents) {
    return TensorSpec{DType::kFloat16, std::move(extents), "FRACTAL_Z"};
  };
  const LogicalShapes shapes;
  // 1 x 7: seven taps cannot be a square.
  const auto flat = shapes.convolution(blocked({1, 8, 17, 17, 16}), filter({8 * 7, 8, 16, 16}),
                                       blocked({1, 8, 17, 17, 16}), false);
  CHECK(format_tensors({flat.weight}) == "float16[128x128x1x7]");
  const auto depthwise = shapes.convolution(blocked({1, 2, 14, 14, 16}), filter({2 * 9, 1, 16, 16}),
                                            blocked({1, 2, 14, 14, 16}), true);
  CHECK(format_tensors({depthwise.weight}) == "float16[32x1x3x3]");
}

}  // namespace
}  // namespace dfsim
