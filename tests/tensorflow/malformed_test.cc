// Files that are no graphs, or contradict themselves: one clear line, no crash, no hang.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/rng.h"
#include "graphs/passes/cleanup/prune.h"
#include "graphs/tensorflow/slim.h"
#include "opmodel/workload.h"
#include "tests/tensorflow/text_graph.h"

namespace dfsim {
namespace {

std::string message_of(const std::string& text) { return import_text(text).status().message(); }

bool says(const std::string& text, const std::string& part) {
  const std::string message = message_of(text);
  INFO(message);
  CHECK(message.find('\n') == std::string::npos);
  return message.find(part) != std::string::npos;
}

TEST_CASE("what contradicts itself is refused with the node's name") {
  const std::string x = placeholder("x", {2, 3});
  CHECK(says("", "the graph has no nodes"));
  CHECK(says("node {", "not a valid graph in text format"));
  CHECK(says(x + node("y", "Relu", {"z"}), "Relu 'y': reads 'z', which no node produces"));
  CHECK(says(x + node("y", "Relu", {"x"}) + node("y", "Relu", {"x"}),
             "another node has the same name"));
  CHECK(says(node("a", "Relu", {"b"}) + node("b", "Relu", {"a"}) + node("c", "Abs", {"a"}),
             "is part of a cycle"));
  CHECK(says(x + weight("w", {4, 5}) + node("y", "MatMul", {"x", "w"}), "do not match"));
  CHECK(says(x + node("y", "Relu", {}), "input 0 is missing"));
  CHECK(says(
      placeholder("x", {1, 8, 8, 3}) + weight("w", {3, 3, 2, 8}) + node("y", "Conv2D", {"x", "w"}),
      "has 3 channels"));
  CHECK(says(placeholder("x", {1, 8, 8, 3}) + weight("w", {3, 3, 3, 8}) +
                 node("y", "Conv2D", {"x", "w"}, attr("padding", "s: \"SOME\"")),
             "did you mean 'SAME'?"));
  CHECK(says(x + node("y", "PartitionedCall", {"x"}, attr("f", "func { name: \"f\" }")),
             "calls function 'f', which the file does not define"));
  CHECK(says(weight("w", {1LL << 39, 1LL << 39}) + node("y", "Relu", {"w"}),
             "no shape of a constant"));
  CHECK(says(placeholder("x", {1LL << 41}) + node("y", "Relu", {"x"}), "unknown shape") == false);
}

TEST_CASE("bytes that are no graph, cut off or claim too much") {
  const auto binary = [](const std::string& bytes) {
    return import_tensorflow_bytes(bytes, TensorFlowFormat::kGraphDef, {}).status().message();
  };
  CHECK(binary("").find("no nodes") != std::string::npos);
  CHECK(binary("\x0a\x7f").find("runs past the end") != std::string::npos);
  CHECK(binary(std::string("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 10))
            .find("runs past the end") != std::string::npos);
  CHECK(binary("\x00").find("no nodes") != std::string::npos);
  CHECK(binary(std::string("\x00\x01", 2)).find("field number 0") != std::string::npos);
}

TEST_CASE("payloads of large constants never reach the parser") {
  // GraphDef.node.attr["value"].tensor.tensor_content of 1 MiB
  const auto field = [](int number, const std::string& content) {
    std::string bytes(1, static_cast<char>(number << 3 | 2));
    for (size_t size = content.size();; size >>= 7) {
      bytes += static_cast<char>((size & 0x7F) | (size >= 0x80 ? 0x80 : 0));
      if (size < 0x80) {
        break;
      }
    }
    return bytes + content;
  };
  const std::string tensor = field(8, field(4, std::string(1 << 20, 'x')));
  const std::string file =
      field(1, field(1, "w") + field(2, "Const") + field(5, field(1, "value") + field(2, tensor)));
  const auto slim = slim_graph(file, TensorFlowFile::kGraphDef);
  REQUIRE(slim.ok());
  CHECK(slim->size() < 64);
  for (size_t length = 0; length < 40; ++length) {
    (void)slim_graph(file.substr(0, length), TensorFlowFile::kGraphDef);
  }
}

// All that a changed file may do is import or give one line.
void check_any(const std::string& bytes, TensorFlowFormat format) {
  const auto model = import_tensorflow_bytes(bytes, format, {});
  if (!model.ok()) {
    CHECK_FALSE(model.status().message().empty());
    CHECK(model.status().message().find('\n') == std::string::npos);
    return;
  }
  if (graph_totals(model->graph).ok()) {
    const auto pruned = prune(model->graph);
    REQUIRE(pruned.ok());
    (void)make_workload(pruned->graph);
  }
}

TEST_CASE("files with changed bytes import or are refused") {
  namespace fs = std::filesystem;
  constexpr int kChangedFiles = 150;
  Rng random(7);
  const auto below = [&](size_t limit) { return static_cast<size_t>(random.below(limit)); };
  const std::string corpus = DFSIM_SOURCE_DIR "/tests/fuzz/corpus/";
  for (const auto& [folder, format] : {std::pair("graphdef", TensorFlowFormat::kGraphDef),
                                       {"saved_model", TensorFlowFormat::kSavedModel},
                                       {"pbtxt", TensorFlowFormat::kGraphDefText}}) {
    std::vector<fs::path> files;
    for (const fs::directory_entry& entry : fs::directory_iterator(corpus + folder)) {
      files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    CHECK(files.size() >= 4);
    for (const fs::path& file : files) {
      std::ifstream stream(file, std::ios::binary);
      std::ostringstream content;
      content << stream.rdbuf();
      const std::string whole = content.str();
      INFO(file);
      CHECK(import_tensorflow_bytes(whole, format, {}).ok());
      for (int i = 0; i < kChangedFiles; ++i) {
        std::string bytes = whole;
        for (size_t change = below(4) + 1; change-- > 0;) {
          bytes[below(bytes.size())] = static_cast<char>(random.next());
        }
        if (i % 5 == 0) {
          bytes.resize(below(bytes.size()) + 1);
        }
        check_any(bytes, format);
      }
    }
  }
}

}  // namespace
}  // namespace dfsim
