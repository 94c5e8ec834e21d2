// Forms of operators, and what a model does with those that it was not trained on.
#include "opmodel/features/op_form.h"

#include <catch2/catch.hpp>

#include "opmodel/model/model_manifest.h"
#include "opmodel/samples/form_folds.h"

namespace dfsim {
namespace {

using Tensors = std::vector<std::vector<int64_t>>;

OpDescriptor described(std::string type, OpClass op_class, Tensors inputs, Tensors outputs,
                       std::string attributes = "", DType dtype = DType::kFloat32) {
  OpDescriptor op;
  op.op_type = std::move(type);
  op.op_class = op_class;
  op.dtype = dtype;
  op.input_extents = std::move(inputs);
  op.output_extents = std::move(outputs);
  op.input_dtypes.assign(op.input_extents.size(), dtype);
  op.output_dtypes.assign(op.output_extents.size(), dtype);
  op.attributes = std::move(attributes);
  return op;
}

std::string form_of(const OpDescriptor& op) { return op_form(op, geometry_of(op)); }

TEST_CASE("Forms: Softmax over an inner axis is another form than over the last one") {
  const auto softmax = [](Tensors shape, const char* axis) {
    return form_of(described("Softmax", OpClass::kSoftmax, shape, shape, axis));
  };
  CHECK(softmax({{1, 8, 196, 64}}, "axis=3") == "Softmax last axis");
  CHECK(softmax({{1, 8, 196, 64}}, "axis=2") == "Softmax inner axis");
  CHECK(softmax({{1, 8, 196, 64}}, "axis=1") == "Softmax inner axis across others");
  CHECK(softmax({{1, 8, 196, 1}}, "axis=2") == "Softmax last axis");  // nothing follows
}

TEST_CASE("Forms: modes of Resize, dilation, groups, strips, dtypes and transposed operands") {
  CHECK(form_of(described("Resize", OpClass::kDataMovement, {{1, 3, 8, 8}, {-1}, {4}},
                          {{1, 3, 16, 16}}, "coordinates=half_pixel;mode=cubic")) ==
        "Resize cubic half_pixel");
  const Tensors x = {{1, 16, 8, 8}, {16, 1, 3, 3}};
  CHECK(form_of(described("Conv", OpClass::kConv, x, {{1, 16, 4, 4}},
                          "dilations=2,2;group=16;kernel_shape=3,3;pads=0,0,0,0;strides=1,1")) ==
        "Conv depthwise dilated");
  CHECK(form_of(described("com.microsoft.nchwc.Conv", OpClass::kConv,
                          {{1, 16, 8, 8}, {8, 16, 1, 7}}, {{1, 8, 8, 8}},
                          "dilations=1,1;group=1;kernel_shape=1,7;pads=0,3,0,3;strides=1,1")) ==
        "nchwc.Conv dense strip");
  const auto fused = [&](const std::string& activation) {
    return form_of(described("com.microsoft.FusedConv", OpClass::kConv, x, {{1, 16, 4, 4}},
                             "activation=" + activation + ";group=16;kernel_shape=3,3"));
  };
  CHECK(fused("Relu") == "FusedConv depthwise");  // in the kernel itself
  CHECK(fused("Clip") == "FusedConv depthwise Clip");
  CHECK(form_of(described("Add", OpClass::kElementwise, {{4, 4}, {4}}, {{4, 4}}, "",
                          DType::kInt64)) == "Add broadcast int64");
  CHECK(form_of(described("com.microsoft.FusedMatMul", OpClass::kMatMul, {{2, 8, 16}, {2, 4, 16}},
                          {{2, 8, 4}}, "transA=0;transB=1;transBatchA=0;transBatchB=0")) ==
        "FusedMatMul bmm transB");
  CHECK(form_of(described("ReduceMean", OpClass::kReduce, {{1, 8, 4, 4}}, {{1, 8, 1, 1}},
                          "axes=2,3;keepdims=1")) == "ReduceMean last axes");
  CHECK(form_of(described("ReduceMean", OpClass::kReduce, {{1, 8, 4, 4}}, {{1, 1, 4, 4}},
                          "axes=1;keepdims=1")) == "ReduceMean inner axes");
}

TEST_CASE("Forms: measured times of a power or a dilated convolution are not those of another") {
  const auto key = [](const char* type, OpClass op_class, Tensors in, Tensors out,
                      const char* attributes) {
    return geometry_of(described(type, op_class, std::move(in), std::move(out), attributes)).key;
  };
  const auto power = [&](const char* attributes) {
    return key("Pow", OpClass::kElementwise, {{4, 8}, {}}, {{4, 8}}, attributes);
  };
  CHECK(power("exponent=2") != power(""));
  CHECK(power("exponent=2") != power("exponent=3"));
  const auto activated = [&](const char* attributes) {
    return key("com.microsoft.nchwc.Conv", OpClass::kConv, {{1, 16, 9, 9}, {16, 16, 1, 1}},
               {{1, 16, 9, 9}}, attributes);
  };
  CHECK(activated("activation=Clip") != activated(""));
  CHECK(activated("activation=Clip") != activated("activation=Tanh"));
  CHECK(activated("activation=Relu") == activated(""));
  const auto conv = [&](const char* attributes) {
    return key("Conv", OpClass::kConv, {{1, 8, 9, 9}, {8, 8, 3, 3}}, {{1, 8, 5, 5}}, attributes);
  };
  CHECK(conv("dilations=2,2;group=1") != conv("dilations=1,1;group=1"));
  CHECK(conv("dilations=1,1;group=1") == conv("group=1"));
}

TEST_CASE("Forms: a part knows those with enough shapes, and all when it has no list") {
  ModelPart part;
  CHECK(part.knows_form("Softmax inner axis"));
  part.forms = {{"Softmax inner axis", kLeastShapesOfForm - 1},
                {"Softmax last axis", kLeastShapesOfForm}};
  CHECK(part.knows_form("Softmax last axis"));
  CHECK_FALSE(part.knows_form("Softmax inner axis"));
  CHECK_FALSE(part.knows_form("Softmax"));
}

TEST_CASE("Forms: on GPUs products are alike whatever their names and layouts") {
  CHECK(alike_on_gpus("MatMul linear float16", "Gemm linear transA transB float16"));
  CHECK(alike_on_gpus("aten.linear linear", "Gemm linear transB"));
  CHECK_FALSE(alike_on_gpus("MatMul bmm", "MatMul linear"));
  CHECK_FALSE(alike_on_gpus("MatMul linear", "MatMul linear float16"));
}

TEST_CASE("Forms: folds leave whole forms out, neither rare nor prevailing ones") {
  TrainingData data;
  std::vector<uint32_t> ops;
  const auto add = [&](const char* type, int count) {
    for (int i = 0; i < count; ++i) {
      data.ops.push_back(described(type, OpClass::kElementwise, {{i + 1}}, {{i + 1}}));
      data.geometries.push_back(geometry_of(data.ops.back()));
      ops.push_back(static_cast<uint32_t>(ops.size()));
    }
  };
  add("Relu", 30);
  add("Tanh", 10);
  add("Erf", 8);
  add("Elu", 2);
  const FormFolds folds = form_folds(data, ops);
  CHECK(folds.fold[0] == kAlwaysTrained);   // Relu: over half of the points
  CHECK(folds.fold[49] == kAlwaysTrained);  // Elu: too few
  CHECK(folds.fold[30] != kAlwaysTrained);
  CHECK(folds.fold[30] == folds.fold[39]);
  CHECK(folds.fold[40] != folds.fold[30]);
  CHECK(folds.counts[30]);
  std::vector<std::pair<std::string, int64_t>> forms;
  count_forms(data, ops, &forms);
  CHECK(forms == std::vector<std::pair<std::string, int64_t>>{
                     {"Elu", 2}, {"Erf", 8}, {"Relu", 30}, {"Tanh", 10}});
}

}  // namespace
}  // namespace dfsim
