// Each file of tests/malformed/onnx gives one message, known in advance, in bounded time: inside
// the process and through the program.
#include <fmt/format.h>
#include <sys/wait.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "graphs/ops/totals.h"
#include "graphs/passes/cleanup/prune.h"
#include "opmodel/workload.h"
#include "tests/onnx/malformed_models.h"
#include "tests/onnx/model_maker.h"

namespace dfsim {
namespace {

namespace fs = std::filesystem;

const std::string kFolder = DFSIM_SOURCE_DIR "/tests/malformed/onnx/";
constexpr std::chrono::seconds kMalformedTimeLimit(20);
constexpr size_t kMaxFileBytes = 2048;

std::string read(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream content;
  content << stream.rdbuf();
  return content.str();
}

// Everything that `dfsim predict` does with a model before it looks at hardware.
Status whole_line(const std::string& path) {
  DFSIM_ASSIGN_OR_RETURN(const ImportedModel model, import_onnx(path, {}));
  DFSIM_RETURN_IF_ERROR(graph_totals(model.graph).status().with_place(path));
  DFSIM_ASSIGN_OR_RETURN(const PruneResult pruned, prune(model.graph));
  return make_workload(pruned.graph).status();
}

std::string without_folder(std::string message) {
  for (size_t at = message.find(kFolder); at != std::string::npos; at = message.find(kFolder)) {
    message.erase(at, kFolder.size());
  }
  return message;
}

// File name -> its message, after the folder: "name.onnx: what is wrong".
std::map<std::string, std::string> expected_messages() {
  std::map<std::string, std::string> messages;
  std::ifstream stream(kFolder + "expected.txt");
  for (std::string line; std::getline(stream, line);) {
    messages[line.substr(0, line.find(':'))] = line;
  }
  return messages;
}

TEST_CASE("write tests/malformed/onnx anew", "[.][generate]") {
  std::ofstream expected(kFolder + "expected.txt");
  for (const auto& [name, bytes] : malformed_models()) {
    std::ofstream(kFolder + name, std::ios::binary) << bytes;
  }
  for (const auto& [name, bytes] : malformed_models()) {
    expected << without_folder(whole_line(kFolder + name).message()) << '\n';
  }
}

TEST_CASE("the malformed files are what their generator makes") {
  size_t files = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(kFolder)) {
    files += entry.path().extension() == ".onnx" ? 1 : 0;
  }
  const auto models = malformed_models();
  CHECK(files == models.size());
  CHECK(models.size() >= 40);
  for (const auto& [name, bytes] : models) {
    INFO(name);
    CHECK(bytes.size() < kMaxFileBytes);
    CHECK(read(kFolder + name) == bytes);
  }
}

TEST_CASE("every malformed model gives its message") {
  const auto expected = expected_messages();
  for (const auto& [name, bytes] : malformed_models()) {
    INFO(name);
    const auto start = std::chrono::steady_clock::now();
    const Status status = whole_line(kFolder + name);
    CHECK(std::chrono::steady_clock::now() - start < kMalformedTimeLimit);
    REQUIRE_FALSE(status.ok());
    CHECK(status.code() == StatusCode::kInvalidInput);
    REQUIRE(expected.count(name) == 1);
    CHECK(without_folder(status.message()) == expected.at(name));
  }
}

TEST_CASE("the program ends with exit code 2, one line on stderr and nothing on stdout") {
  const auto expected = expected_messages();
  const fs::path out = fs::temp_directory_path() / "dfsim_malformed_stdout";
  const fs::path err = fs::temp_directory_path() / "dfsim_malformed_stderr";
  for (const auto& [name, message] : expected) {
    INFO(name);
    const std::string command = fmt::format("{} predict {}{} --hw a100 >{} 2>{}", DFSIM_PROGRAM,
                                            kFolder, name, out.string(), err.string());
    const int code = std::system(command.c_str());  // NOLINT: paths of this test only
    CHECK(WIFEXITED(code));
    CHECK(WEXITSTATUS(code) == 2);
    CHECK(read(out.string()).empty());
    const std::string text = read(err.string());
    CHECK(std::count(text.begin(), text.end(), '\n') == 1);
    CHECK(without_folder(text).find(message) != std::string::npos);
  }
  fs::remove(out);
  fs::remove(err);
}

TEST_CASE("a name of a million characters and one that is not UTF-8 are cut and cleaned") {
  for (const std::string& name : {std::string(1'000'000, 'z'), std::string("\xC3\x28\xFF\n")}) {
    ModelMaker model;
    model.input("x", {2});
    model.node("Add", {"x", name}, {"y"}, name);
    model.output("y");
    const auto imported = model.import();
    REQUIRE_FALSE(imported.ok());
    CHECK(imported.status().message().size() < 400);
    CHECK(imported.status().message().find('\n') == std::string::npos);
    CHECK(imported.status().message().find('\xFF') == std::string::npos);
  }
}

}  // namespace
}  // namespace dfsim
