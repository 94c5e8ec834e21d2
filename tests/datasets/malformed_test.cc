// Each file of tests/malformed/profiles gives one message, known in advance, in bounded time.
#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>

#include "datasets/profiles/profile_io.h"

namespace dfsim {
namespace {

namespace fs = std::filesystem;

const std::string kFolder = DFSIM_SOURCE_DIR "/tests/malformed/profiles/";

// Far more than any of them takes on a slow machine with sanitizers, far less than a hang.
constexpr std::chrono::seconds kTimeLimit(20);

// File name -> how its message must begin, the folder left out.
std::map<std::string, std::string> expected_messages() {
  std::map<std::string, std::string> messages;
  std::ifstream stream(kFolder + "expected.txt");
  for (std::string line; std::getline(stream, line);) {
    messages[line.substr(0, line.find(':'))] = line;
  }
  return messages;
}

TEST_CASE("every malformed profile gives its message") {
  std::map<std::string, std::string> expected = expected_messages();
  REQUIRE(expected.size() >= 25);
  for (const fs::directory_entry& entry : fs::directory_iterator(kFolder)) {
    const std::string name = entry.path().filename().string();
    if (name == "expected.txt") {
      continue;
    }
    INFO(name);
    DropReport drops;
    const auto start = std::chrono::steady_clock::now();
    const StatusOr<Profile> profile = read_profile(entry.path().string(), &drops);
    CHECK(std::chrono::steady_clock::now() - start < kTimeLimit);
    REQUIRE_FALSE(profile.ok());
    std::string message = profile.status().message();
    for (size_t at = message.find(kFolder); at != std::string::npos; at = message.find(kFolder)) {
      message.erase(at, kFolder.size());
    }
    const size_t matched = expected.count(name);
    REQUIRE(matched == 1);
    const std::string& start_of_message = expected[name];
    CHECK(message.substr(0, start_of_message.size()) == start_of_message);
    CHECK(message.find('\n') == std::string::npos);
    expected.erase(name);
  }
  INFO("expected.txt names a file that does not exist");
  CHECK(expected.empty());
}

}  // namespace
}  // namespace dfsim
