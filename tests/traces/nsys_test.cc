// Databases of Nsight Systems, made with SQLite itself.
#include <sqlite3.h>

#include <filesystem>

#include "base/io/file.h"
#include "tests/traces/trace_test_tools.h"

namespace dfsim {
namespace {

class NsysFile {
 public:
  NsysFile() : path_(std::filesystem::temp_directory_path() / "dfsim_nsys_test.sqlite") {
    std::filesystem::remove(path_);
    REQUIRE(sqlite3_open(path_.c_str(), &database_) == SQLITE_OK);
    run("PRAGMA page_size = 512");
    run("CREATE TABLE StringIds (id INTEGER, value TEXT)");
    run("INSERT INTO StringIds VALUES (1, 'gemm'), (2, 'cudaLaunchKernel_v7000'), (3, 'step')");
  }
  ~NsysFile() {
    close();
    std::filesystem::remove(path_);
  }
  NsysFile(const NsysFile&) = delete;
  NsysFile& operator=(const NsysFile&) = delete;

  NsysFile& run(const std::string& sql) {
    INFO(sql);
    REQUIRE(sqlite3_exec(database_, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK);
    return *this;
  }
  void close() {
    sqlite3_close(database_);
    database_ = nullptr;
  }
  StatusOr<Trace> read() {
    close();
    return read_trace(path_.string());
  }
  std::string content() {
    close();
    return read_file(path_.string(), 1 << 20).value();
  }

  NsysFile& fill() {
    // Process 5 of machine 0, thread 9: 5 << 24 | 9.
    run("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, deviceId INT, streamId INT, "
        "correlationId INT, globalPid INT, demangledName INT, shortName INT)");
    run("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (5000, 9000, 0, 7, 1, 83886080, 1, 1), "
        "(0, 9000, 0, 7, 2, 83886080, 1, 1), (6000, 5000, 0, 7, 3, 83886080, 1, 1), "
        "(5000, 6000, 0, 7, 1, 100663296, 1, 1)");
    run("CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INT, end INT, deviceId INT, streamId INT, "
        "correlationId INT, globalPid INT, bytes INT, copyKind INT)");
    run("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (10000, 12000, 0, 7, 4, 83886080, 64, 2)");
    run("CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT, end INT, correlationId INT, "
        "globalTid INT, nameId INT)");
    run("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (2000, 4000, 1, 83886089, 2)");
    return run(
        "CREATE TABLE NVTX_EVENTS (start INT, end INT, eventType INT, globalTid INT, text TEXT, "
        "textId INT); INSERT INTO NVTX_EVENTS VALUES (1000, 13000, 59, 83886089, NULL, 3), "
        "(1500, NULL, 34, 83886089, 'mark', NULL)");
  }

 private:
  std::filesystem::path path_;
  sqlite3* database_ = nullptr;
};

TEST_CASE("Nsight Systems: work, calls and ranges, joined within a process") {
  const auto trace = NsysFile().fill().read();
  REQUIRE(trace.ok());
  CHECK(trace->format == "nsys");
  CHECK(list_spans(*trace) ==
        "step 1-13, cudaLaunchKernel 2-4, gemm 5-9, gemm 5-6, Memcpy DtoH 10-12");
  CHECK(trace->spans[0].kind == SpanKind::kAnnotation);
  CHECK(trace->spans[2].launch == SpanId(1));
  // The same number in another process is another call.
  CHECK_FALSE(trace->spans[3].launch.valid());
  CHECK(trace->spans[4].bytes == 64);
  CHECK(copy_direction(trace->text(trace->spans[4].name)) == CopyDirection::kDeviceToHost);
  CHECK(warnings_of(*trace, "without a start") == 1);
  CHECK(warnings_of(*trace, "negative duration") == 1);
}

TEST_CASE("Nsight Systems: tables and columns may be missing") {
  const auto only_calls =
      NsysFile()
          .run("CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT, end INT, nameId INT)")
          .run("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (2000, 4000, 2)")
          .read();
  REQUIRE(only_calls.ok());
  CHECK(list_spans(*only_calls) == "cudaLaunchKernel 2-4");
  const auto nothing = NsysFile().read();
  REQUIRE_FALSE(nothing.ok());
  CHECK(nothing.status().message().find("without CUDA or NVTX events") != std::string::npos);
  const auto other = NsysFile().run("DROP TABLE StringIds").run("CREATE TABLE x (y INT)").read();
  REQUIRE_FALSE(other.ok());
  CHECK(other.status().message().find("without the tables of Nsight") != std::string::npos);
}

TEST_CASE("Nsight Systems: damaged databases are read as far as possible, or refused") {
  const std::string whole = NsysFile().fill().content();
  const auto read = read_trace_content("t", whole);
  REQUIRE(read.ok());
  CHECK(read->spans.size() == 5);
  for (size_t length = 100; length < whole.size(); length += 512) {
    const auto cut = read_trace_content("t", whole.substr(0, length));
    if (!cut.ok()) {
      CHECK(cut.status().message().find('\n') == std::string::npos);
    }
  }
  for (size_t at = 16; at < whole.size(); at += 97) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 0x55);
    const auto trace = read_trace_content("t", std::move(changed));
    if (!trace.ok()) {
      CHECK(trace.status().message().find('\n') == std::string::npos);
    }
  }
}

TEST_CASE("Nsight Systems: what SQLite quotes of a damaged file stays on one line") {
  const auto trace =
      NsysFile()
          .run("CREATE TABLE \"two\nlines\" (x INT)")
          .run("PRAGMA writable_schema = ON")
          .run("UPDATE sqlite_master SET sql = 'CREATE TABLE (' WHERE name LIKE 'two%'")
          .read();
  REQUIRE_FALSE(trace.ok());
  CHECK(trace.status().message().find("malformed database schema") != std::string::npos);
  CHECK(trace.status().message().find('\n') == std::string::npos);
}

}  // namespace
}  // namespace dfsim
