// Folders of traces for tests: CTF made byte by byte.
#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "base/io/file.h"
#include "tests/traces/trace_test_tools.h"

namespace dfsim {

namespace fs = std::filesystem;

class Folder {
 public:
  explicit Folder(std::string_view name) : path_(fs::temp_directory_path() / name) {
    fs::remove_all(path_);
    fs::create_directories(path_);
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  void write(const std::string& name, std::string_view content) const {
    fs::create_directories((path_ / name).parent_path());
    REQUIRE(write_file((path_ / name).string(), content).ok());
  }
  std::string path() const { return path_.string(); }
  StatusOr<Trace> read() const { return read_trace(path()); }

 private:
  fs::path path_;
};

inline constexpr std::string_view kHeader = R"(/* CTF 1.8 */
trace { major = 1; minor = 8; byte_order = le; };
clock { name = monotonic; freq = 1000000000; offset = 0; };
stream {
  event.header := struct {
    integer { size = 16; align = 8; signed = false; } id;
    integer { size = 64; align = 8; signed = false; map = clock.monotonic.value; } timestamp;
  };
  event.context := struct { integer { size = 32; align = 8; signed = true; } vtid; };
};
)";

// One event after the other: id, time, thread, then fields.
class Stream {
 public:
  Stream& event(uint16_t id, uint64_t time_ns, uint32_t thread = 9) {
    number(id, 2);
    number(time_ns, 8);
    number(thread, 4);
    return *this;
  }
  Stream& text(std::string_view value) {
    bytes_ += value;
    bytes_ += '\0';
    return *this;
  }
  Stream& number(uint64_t value, int size) {
    for (int i = 0; i < size; ++i) {
      bytes_ += static_cast<char>((value >> (8 * i)) & 0xFF);
    }
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

inline std::string event_class(int id, std::string_view name, std::string_view fields) {
  return fmt::format("event {{ name = \"{}\"; id = {}; fields := struct {{ {} }}; }};\n", name, id,
                     fields);
}

inline constexpr std::string_view kInt = "integer { size = 64; align = 8; signed = true; }";

}  // namespace dfsim
