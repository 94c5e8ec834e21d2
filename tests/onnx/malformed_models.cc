#include "tests/onnx/malformed_models.h"

#include "base/rng.h"
#include "tests/onnx/model_maker.h"

namespace dfsim {
namespace {

constexpr int64_t kHuge = int64_t{1} << 62;

ModelMaker small_model() {
  ModelMaker model;
  model.input("x", {1, 4});
  model.weight("w", {4, 2})->set_raw_data(std::string(32, '\0'));
  model.node("MatMul", {"x", "w"}, {"h"}, "product");
  model.node("Relu", {"h"}, {"y"}, "activation");
  model.output("y");
  return model;
}

std::string with(const std::function<void(ModelMaker&)>& change) {
  ModelMaker model = small_model();
  change(model);
  return model.bytes();
}

// A fresh model of one op on inputs of the given shapes.
std::string one_op(const std::string& type, const std::vector<DeclaredShape>& shapes,
                   const std::function<void(ModelMaker&, onnx::NodeProto*)>& change = {}) {
  ModelMaker model;
  std::vector<std::string> inputs;
  for (size_t i = 0; i < shapes.size(); ++i) {
    inputs.push_back(std::string("x").append(std::to_string(i)));
    model.input(inputs.back(), shapes[i]);
  }
  onnx::NodeProto* node = model.node(type, inputs, {"y"}, "op");
  model.output("y");
  if (change) {
    change(model, node);
  }
  return model.bytes();
}

std::string random_bytes(size_t size) {
  Rng rng(2026);
  std::string bytes;
  for (size_t i = 0; i < size; ++i) {
    bytes += static_cast<char>(rng.below(256));
  }
  return bytes;
}

std::string nested(int levels) {
  ModelMaker model;
  model.input("c", {}, onnx::TensorProto::BOOL);
  onnx::GraphProto* graph = &model.graph();
  for (int i = 0; i < levels; ++i) {
    GraphMaker maker(graph);
    onnx::NodeProto* node = maker.node("I", {}, {"y"});
    maker.output("y");
    graph = set_graph(node, "b");  // short, to keep the file small
  }
  GraphMaker(graph).node("Identity", {"c"}, {"y"});
  return model.bytes();
}

void add_broken_files(std::map<std::string, std::string>* files) {
  const std::string whole = small_model().bytes();
  (*files)["empty.onnx"] = "";
  (*files)["truncated.onnx"] = whole.substr(0, whole.size() / 2);
  (*files)["last_byte_missing.onnx"] = whole.substr(0, whole.size() - 1);
  (*files)["random.onnx"] = random_bytes(1024);
  (*files)["zeros.onnx"] = std::string(512, '\0');
  (*files)["text.onnx"] = "This is not a model.\n";
  (*files)["json.onnx"] = "{\"graph\": {}}\n";
  (*files)["html.onnx"] = "<!DOCTYPE html><title>404 Not Found</title>\n";
  (*files)["zip.onnx"] = std::string("PK\x03\x04\x14\0\0\0\x08\0", 10) + std::string(20, '\0');
  (*files)["hdf5.onnx"] = std::string("\x89HDF\r\n\x1a\n", 8) + std::string(24, '\0');
  (*files)["safetensors.onnx"] =
      std::string("=\0\0\0\0\0\0\0", 8) +
      R"({"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}})" + std::string(8, '\0');
  (*files)["gguf.onnx"] = std::string("GGUF\3\0\0\0", 8) + std::string(16, '\0');
  (*files)["pickle.onnx"] = std::string("\x80\x04\x95\x0a\0\0\0", 7) + std::string(8, '\0');
  (*files)["numpy.onnx"] = std::string("\x93NUMPY\1\0", 8) + std::string(24, '\0');
  (*files)["engine.onnx"] = "ftrt" + std::string(28, '\0');
  (*files)["git_lfs_pointer.onnx"] =
      "version https://git-lfs.github.com/spec/v1\n"
      "oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n";
  (*files)["no_graph.onnx"] = with([](ModelMaker& m) { m.model().clear_graph(); });
  (*files)["empty_graph.onnx"] = with([](ModelMaker& m) { m.graph().Clear(); });
  (*files)["varint_of_11_bytes.onnx"] = std::string("\x08") + std::string(11, '\xFF');
  (*files)["length_past_end.onnx"] = std::string("\x3A\xFF\xFF\xFF\xFF\x7F", 6);
  (*files)["wrong_field_type.onnx"] = std::string("\x38\x01", 2) + whole.substr(0, 8);
}

void add_broken_graphs(std::map<std::string, std::string>* files) {
  (*files)["cycle.onnx"] = with([](ModelMaker& m) {
    m.node("Add", {"y", "b"}, {"a"}, "left");
    m.node("Neg", {"a"}, {"b"}, "right");
  });
  (*files)["self_reference.onnx"] = with([](ModelMaker& m) {
    m.node("Add", {"x", "a"}, {"a"}, "ouroboros");
  });
  (*files)["duplicate_producer.onnx"] =
      with([](ModelMaker& m) { m.node("Exp", {"x"}, {"y"}, "second"); });
  (*files)["duplicate_input.onnx"] = with([](ModelMaker& m) { m.input("x", {1, 4}); });
  (*files)["duplicate_initializer.onnx"] = with([](ModelMaker& m) { m.weight("w", {4, 2}); });
  (*files)["producer_of_input.onnx"] =
      with([](ModelMaker& m) { m.node("Exp", {"h"}, {"x"}, "writes_x"); });
  (*files)["dangling_input.onnx"] = with([](ModelMaker& m) {
    m.node("Add", {"y", "nowhere"}, {"z"}, "sum");
  });
  (*files)["dangling_output.onnx"] = with([](ModelMaker& m) { m.output("nothing"); });
  (*files)["opset_zero.onnx"] =
      with([](ModelMaker& m) { m.model().mutable_opset_import(0)->set_version(0); });
  (*files)["opset_negative.onnx"] =
      with([](ModelMaker& m) { m.model().mutable_opset_import(0)->set_version(-3); });
  (*files)["opset_999999.onnx"] =
      with([](ModelMaker& m) { m.model().mutable_opset_import(0)->set_version(999999); });
  (*files)["missing_operand.onnx"] =
      with([](ModelMaker& m) { m.node("Conv", {"x"}, {"z"}, "lonely"); });
  (*files)["constant_without_value.onnx"] =
      with([](ModelMaker& m) { m.node("Constant", {}, {"k"}, "nothing"); });
  (*files)["recursive_function.onnx"] = with([](ModelMaker& m) {
    m.node("F", {"y"}, {"z"}, "call")->set_domain("mine");
    auto* function = m.model().add_functions();
    function->set_name("F");
    function->set_domain("mine");
    auto* node = function->add_node();
    node->set_op_type("F");
    node->set_domain("mine");
  });
  (*files)["nested_subgraphs.onnx"] = nested(66);
}

void add_huge_numbers(std::map<std::string, std::string>* files) {
  (*files)["negative_initializer_dim.onnx"] = with([](ModelMaker& m) { m.weight("v", {-4}); });
  (*files)["negative_input_dim.onnx"] = with([](ModelMaker& m) {
    m.graph()
        .mutable_input(0)
        ->mutable_type()
        ->mutable_tensor_type()
        ->mutable_shape()
        ->mutable_dim(0)
        ->set_dim_value(-7);
  });
  (*files)["huge_initializer_dim.onnx"] = with([](ModelMaker& m) { m.weight("v", {kHuge}); });
  (*files)["huge_initializer_product.onnx"] = with([](ModelMaker& m) {
    m.weight("v", {int64_t{1} << 40, int64_t{1} << 40});
  });
  (*files)["huge_input_dim.onnx"] = one_op("Relu", {{kHuge}});
  (*files)["huge_rank.onnx"] =
      with([](ModelMaker& m) { m.weight("v", std::vector<int64_t>(200, 1)); });
  (*files)["flops_overflow.onnx"] = one_op("MatMul", {{1 << 30, 1 << 30}, {1 << 30, 1 << 30}});
  (*files)["bytes_overflow.onnx"] = one_op("Relu", {{int64_t{1} << 31, int64_t{1} << 31}});
  (*files)["sum_overflow.onnx"] = [] {
    ModelMaker model;
    model.input("x", {int64_t{1} << 30, int64_t{1} << 29});
    for (int i = 0; i < 20; ++i) {
      model.node("Relu", {"x"}, {std::string("y").append(std::to_string(i))});
    }
    model.output("y0");
    return model.bytes();
  }();
  (*files)["reshape_to_huge.onnx"] = [] {
    ModelMaker model;
    model.input("x", {0});
    model.ints("s", {0, kHuge});
    set_int(model.node("Reshape", {"x", "s"}, {"y"}, "blow_up"), "allowzero", 1);
    model.output("y");
    return model.bytes();
  }();
  (*files)["tile_to_huge.onnx"] = [] {
    ModelMaker model;
    model.input("x", {1 << 20});
    model.ints("r", {kHuge});
    model.node("Tile", {"x", "r"}, {"y"}, "blow_up");
    model.output("y");
    return model.bytes();
  }();
  (*files)["conv_group_huge.onnx"] =
      one_op("Conv", {{1, 4, 8, 8}, {4, 4, 3, 3}},
             [](ModelMaker&, onnx::NodeProto* node) { set_int(node, "group", INT64_MAX); });
  (*files)["axis_out_of_range.onnx"] =
      one_op("Softmax", {{2, 3}},
             [](ModelMaker&, onnx::NodeProto* node) { set_int(node, "axis", INT64_MIN); });
  (*files)["shapes_do_not_match.onnx"] = one_op("MatMul", {{2, 3}, {4, 5}});
}

}  // namespace

std::map<std::string, std::string> malformed_models() {
  std::map<std::string, std::string> files;
  add_broken_files(&files);
  add_broken_graphs(&files);
  add_huge_numbers(&files);
  return files;
}

}  // namespace dfsim
