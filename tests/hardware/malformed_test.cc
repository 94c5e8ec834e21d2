// Each file of tests/malformed/hardware gives one message, known in advance, in bounded time.
#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>

#include "base/text.h"
#include "hardware/platform_loader.h"
#include "hardware/yaml/yaml_tree.h"

namespace dfsim {
namespace {

namespace fs = std::filesystem;

const std::string kFolder = DFSIM_SOURCE_DIR "/tests/malformed/hardware/";

// Far more than any of them takes on a slow machine with sanitizers, far less than a hang.
constexpr std::chrono::seconds kTimeLimit(20);

// File name -> how its message must begin, after "FOLDER/": "name.yaml:1:2: found ...".
std::map<std::string, std::string> expected_messages() {
  std::map<std::string, std::string> messages;
  std::ifstream stream(kFolder + "expected.txt");
  for (std::string line; std::getline(stream, line);) {
    messages[line.substr(0, line.find(':'))] = line;
  }
  return messages;
}

std::string without_folder(std::string message) {
  for (const std::string& folder : {kFolder, std::string(DFSIM_SOURCE_DIR "/")}) {
    for (size_t at = message.find(folder); at != std::string::npos; at = message.find(folder)) {
      message.erase(at, folder.size());
    }
  }
  return message;
}

TEST_CASE("every malformed hardware file gives its message") {
  std::map<std::string, std::string> expected = expected_messages();
  REQUIRE(expected.size() >= 25);
  for (const fs::directory_entry& entry : fs::directory_iterator(kFolder)) {
    const std::string name = entry.path().filename().string();
    if (entry.path().extension() != ".yaml") {
      continue;
    }
    INFO(name);
    const auto start = std::chrono::steady_clock::now();
    const StatusOr<Platform> platform = load_platform(entry.path().string());
    CHECK(std::chrono::steady_clock::now() - start < kTimeLimit);
    REQUIRE_FALSE(platform.ok());
    const std::string message = without_folder(platform.status().message());
    REQUIRE(expected.count(name) == 1);
    CHECK(message.substr(0, expected[name].size()) == expected[name]);
    CHECK(message.find('\n') == std::string::npos);
    expected.erase(name);
  }
  INFO("expected.txt names a file that does not exist");
  CHECK(expected.empty());
}

TEST_CASE("a file over the size limit, a folder and a missing file are refused") {
  const fs::path path = fs::temp_directory_path() / "dfsim_large_hardware.yaml";
  std::ofstream(path) << std::string(kMaxYamlBytes + 1, '#');
  const Status large = load_platform(path.string()).status();
  fs::remove(path);
  CHECK(large.code() == StatusCode::kInvalidInput);
  CHECK(large.message().find("is 1.05 MB, at most 1.05 MB") != std::string::npos);
  CHECK(load_platform(kFolder).status().message().find("is not a regular file") !=
        std::string::npos);
  CHECK(load_platform("/nowhere/box.yaml").status().code() == StatusCode::kNotFound);
  CHECK(load_platform("").status().code() == StatusCode::kNotFound);
}

TEST_CASE("hostile text of full size is refused in bounded time") {
  // Each of these is slow or deep in a careless reader.
  const std::vector<std::string> units = {
      "[",   "{",  "[],", "- -\n", "? ",  ": ",  "a: b: ", "a, ", "&a ", "*a ",  "! ",
      "'\n", "\"", "|\n", "---\n", "#\n", "a b", ",",      "%",   "@",   "\xC3", "a:\n - ",
  };
  for (const std::string& unit : units) {
    std::string text;
    while (text.size() + unit.size() < static_cast<size_t>(kMaxYamlBytes)) {
      text += unit;
    }
    INFO(printable(unit));
    const auto start = std::chrono::steady_clock::now();
    const StatusOr<Platform> platform = parse_platform(text, "hostile.yaml");
    CHECK(std::chrono::steady_clock::now() - start < kTimeLimit);
    REQUIRE_FALSE(platform.ok());
    CHECK(platform.status().message().size() < 2000);
  }
}

}  // namespace
}  // namespace dfsim
