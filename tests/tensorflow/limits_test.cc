// Files at the limits: over 2 GB, names of a million characters or of bytes that are not UTF-8,
// deep nesting, and constants that claim an impossible number of elements.
#include <catch2/catch.hpp>
#include <chrono>

#include "tests/sparse_message.h"
#include "tests/tensorflow/text_graph.h"

namespace dfsim {
namespace {

constexpr std::chrono::seconds kTimeLimit(5);
constexpr size_t kMostMessage = 400;
constexpr size_t kSmallFile = 1024;

// One printable line of bounded length.
void check_line(const std::string& message) {
  INFO(message);
  CHECK(message.size() < kMostMessage);
  for (const char c : message) {
    CHECK(static_cast<unsigned char>(c) >= 0x20);
    CHECK(static_cast<unsigned char>(c) < 0x7F);
  }
}

TEST_CASE("TensorFlow import: a frozen graph of over 2 GB costs what its graph costs") {
  // x + w, where w's values are a hole.
  const std::string shape = wire_field(2, wire_field(2, "\x08" + wire_number(64)));
  const std::string content = std::string("\x08\x01", 2) + shape + wire_field(4, "", kHoleBytes);
  const std::string value = wire_field(8, content, kHoleBytes);
  const std::string entry = wire_field(1, "value") + wire_field(2, value, kHoleBytes);
  const std::string constant =
      wire_field(1, "w") + wire_field(2, "Const") + wire_field(5, entry, kHoleBytes);
  const std::string extent = wire_field(7, wire_field(2, "\x08" + wire_number(64)));
  const std::string input =
      wire_field(1, "x") + wire_field(2, "Placeholder") +
      wire_field(5, wire_field(1, "dtype") + wire_field(2, std::string("\x30\x01", 2))) +
      wire_field(5, wire_field(1, "shape") + wire_field(2, extent));
  const std::string sum =
      wire_field(1, "y") + wire_field(2, "AddV2") + wire_field(3, "x") + wire_field(3, "w");
  const SparseFile file("dfsim_sparse_graph.pb", wire_field(1, input) + wire_field(1, sum) +
                                                     wire_field(1, constant, kHoleBytes));
  const auto start = std::chrono::steady_clock::now();
  const auto model = import_tensorflow(file.path(), {});
  CHECK(std::chrono::steady_clock::now() - start < kTimeLimit);
  INFO(model.status().message());
  REQUIRE(model.ok());
  CHECK(output_shape(model->graph) == "64");
  CHECK(graph_totals(model->graph)->parameters == 64);
}

TEST_CASE("TensorFlow import: over 1 GiB of text is refused before it is read") {
  const SparseFile file("dfsim_sparse_graph.pbtxt", placeholder("x", {2}));
  const auto start = std::chrono::steady_clock::now();
  const auto model = import_tensorflow(file.path(), {});
  CHECK(std::chrono::steady_clock::now() - start < kTimeLimit);
  REQUIRE_FALSE(model.ok());
  CHECK(model.status().message().find("expected at most 1 GiB") != std::string::npos);
}

TEST_CASE("TensorFlow import: accepts names of a million characters and names that are not UTF-8") {
  for (const std::string& name : {std::string(1'000'000, 'z'), std::string("\\303(\\377\\n")}) {
    const std::string known = placeholder(name, {2, 3}) + node("y", "Relu", {name});
    const auto model = import_text(known);
    INFO(model.status().message());
    REQUIRE(model.ok());
    CHECK(output_shape(model->graph) == "2x3");
    for (const std::string& broken :
         {node(name, "Relu", {"nowhere"}), placeholder("x", {2}) + node("y", "Relu", {name}),
          placeholder("x", {2}) + node("y", name, {"x", "^nobody"}),
          known + node("call", "PartitionedCall", {name},
                       attr("f", "func { name: \"" + name + "\" }"))}) {
      const auto refused = import_text(broken);
      REQUIRE_FALSE(refused.ok());
      check_line(refused.status().message());
    }
    // An unknown operator is listed under its name; the program shortens the name in its output.
    const auto unknown = import_text(placeholder("x", {2}) + node("y", name, {"x"}));
    REQUIRE(unknown.ok());
    REQUIRE(unknown->report.unresolved.size() == 1);
    check_line(unknown->report.unresolved[0].reason);
  }
}

// Function 0 calls 1 calls 2...; the last one is a Relu.
std::string nested_calls(int levels) {
  std::string library = "library { ";
  for (int i = 0; i < levels; ++i) {
    const std::string body = i + 1 < levels ? node("r", "PartitionedCall", {"x"},
                                                   attr("f", func(fmt::format("f{}", i + 1))))
                                            : node("r", "Relu", {"x"});
    library += function(fmt::format("f{}", i), {"x"}, {"y"}, body,
                        ret("y", i + 1 < levels ? "r:output:0" : "r:activations:0"));
  }
  return placeholder("x", {2}) + node("y", "PartitionedCall", {"x"}, attr("f", func("f0"))) +
         library + "}\n";
}

// The same with Ifs whose condition is unknown.
std::string nested_branches(int levels) {
  std::string library = "library { ";
  for (int i = 0; i < levels; ++i) {
    const std::string next = func(fmt::format("f{}", i + 1));
    const std::string body =
        i + 1 < levels ? node("r", "StatelessIf", {"c", "c", "x"},
                              attr("then_branch", next) + attr("else_branch", func("leaf")))
                       : node("r", "Relu", {"x"});
    library += function(fmt::format("f{}", i), {"c", "x"}, {"y"}, body,
                        ret("y", i + 1 < levels ? "r:output:0" : "r:activations:0"));
  }
  library +=
      function("leaf", {"c", "x"}, {"y"}, node("r", "Relu", {"x"}), ret("y", "r:activations:0"));
  return placeholder("c", {}, "DT_BOOL") + placeholder("x", {2}) +
         node("y", "StatelessIf", {"c", "c", "x"},
              attr("then_branch", func("f0")) + attr("else_branch", func("leaf"))) +
         library + "}\n";
}

TEST_CASE("TensorFlow import: reads 64 levels of nesting and refuses more") {
  CHECK(import_text(nested_calls(60)).ok());
  const auto calls = import_text(nested_calls(70));
  REQUIRE_FALSE(calls.ok());
  CHECK(calls.status().message().find("nest over 64 deep") != std::string::npos);
  check_line(calls.status().message());
  const auto start = std::chrono::steady_clock::now();
  const auto shallow = import_text(nested_branches(12));
  INFO(shallow.status().message());
  CHECK(shallow.ok());
  const auto branches = import_text(nested_branches(70));
  CHECK(std::chrono::steady_clock::now() - start < kTimeLimit);
  REQUIRE_FALSE(branches.ok());
  CHECK(branches.status().message().find("nests over 64 deep") != std::string::npos);
  check_line(branches.status().message());
}

TEST_CASE("TensorFlow import: refuses attributes of a binary file that nest over 64 deep") {
  std::string inner;
  for (int i = 0; i < 70; ++i) {  // NameAttrList -> attr entry -> AttrValue -> func
    inner = wire_field(2, wire_field(1, "f") + wire_field(2, wire_field(10, inner)));
  }
  const std::string file =
      wire_field(1, wire_field(1, "x") + wire_field(2, "NoOp") +
                        wire_field(5, wire_field(1, "f") + wire_field(2, wire_field(10, inner))));
  const auto model = import_tensorflow_bytes(file, TensorFlowFormat::kGraphDef, {});
  REQUIRE_FALSE(model.ok());
  CHECK(model.status().message().find("nested over 64 deep") != std::string::npos);
}

TEST_CASE("TensorFlow import: a small file that claims 2^60 elements costs nothing") {
  constexpr int64_t kHalf = int64_t{1} << 30;
  const auto constant = [](const std::string& type, const std::string& value) {
    return node("w", "Const", {},
                attr("value", fmt::format("tensor {{ dtype: {} tensor_shape {{ {} }} {} }}", type,
                                          shape_text({kHalf, kHalf}), value)));
  };
  const std::string dims = ints("dims", {kHalf, kHalf});
  const std::string zero = integer("zero", 0);
  for (const std::string& text :
       {placeholder("x", {kHalf, kHalf}) + node("y", "Relu", {"x"}),
        constant("DT_INT32", "int_val: 7") + placeholder("x", {1, 1}, "DT_INT32") +
            node("y", "AddV2", {"x", "w"}),
        constant("DT_BOOL", "bool_val: true") + node("y", "LogicalNot", {"w"}),
        constant("DT_FLOAT", "float_val: 1") + node("y", "Relu", {"w"}),
        dims + zero + node("y", "Fill", {"dims", "zero"}),
        dims + zero + node("f", "Fill", {"dims", "zero"}) + node("y", "Shape", {"f"}),
        zero + integer("one", 1) + integer("end", kHalf) +
            node("r", "Range", {"zero", "end", "one"}) + node("y", "Shape", {"r"}),
        dims + placeholder("x", {1, 1}) + node("y", "BroadcastTo", {"x", "dims"}),
        dims + placeholder("x", {1, 1}) + node("y", "Tile", {"x", "dims"})}) {
    INFO(text);
    CHECK(text.size() < kSmallFile);
    const auto start = std::chrono::steady_clock::now();
    const auto model = import_text(text);
    if (model.ok()) {
      (void)graph_totals(model->graph);
    } else {
      check_line(model.status().message());
    }
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(1));
  }
}

}  // namespace
}  // namespace dfsim
