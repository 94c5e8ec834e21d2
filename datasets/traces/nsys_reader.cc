// Nsight Systems, `nsys export --type sqlite` (schemas 2.9 to 3.13): times in ns.
//
// CUPTI_ACTIVITY_KIND_{KERNEL, MEMCPY, MEMSET} are device work on (device, stream), RUNTIME and
// DRIVER calls on host threads, SYNCHRONIZATION waits, NVTX_EVENTS ranges that the program names.
// They are joined by correlationId within a process: globalTid >> 24 equals globalPid >> 24. Names
// are numbers of StringIds. Any table and most columns may be absent: what was not recorded.
#include <fmt/format.h>

#include <array>
#include <memory>
#include <set>
#include <unordered_map>

#include "base/text.h"
#include "datasets/traces/sqlite_internal.h"
#include "datasets/traces/trace_readers.h"

namespace dfsim::inline datasets {
namespace {

constexpr double kNsysNsPerUs = 1000;
constexpr int64_t kMaxNsysNs = int64_t{1} << 62;
// Numbers of ENUM_NSYS_EVENT_TYPE.
constexpr int64_t kPushPopRange = 59;
constexpr int64_t kStartEndRange = 60;
// Of CUpti_ActivitySynchronizationType, and the stream of what waits for all.
constexpr int64_t kContextSync = 4;
constexpr int64_t kNoStream = 0xFFFFFFFF;

// As CUPTI numbers them; the words are those that copy_direction() knows.
std::string_view copy_name(int64_t kind) {
  switch (kind) {
    case 1:
    case 3:
      return "Memcpy HtoD";
    case 2:
    case 4:
      return "Memcpy DtoH";
    case 5:
    case 6:
    case 7:
    case 8:
      return "Memcpy DtoD";
    case 9:
      return "Memcpy HtoH";
    case 10:
      return "Memcpy PtoP";
    default:
      return "Memcpy";
  }
}

// As Kineto names them, which the critical path goes by.
std::string_view sync_name(int64_t type) {
  constexpr std::array<std::string_view, 5> kNames = {"Sync", "Event Sync", "Stream Wait Event",
                                                      "Stream Sync", "Context Sync"};
  return type > 0 && type < static_cast<int64_t>(kNames.size()) ? kNames[static_cast<size_t>(type)]
                                                                : kNames[0];
}

class NsysReader {
 public:
  NsysReader(const std::string& path, sqlite3* database) : database_(database) {
    trace_.path = path;
    trace_.format = "nsys";
  }

  StatusOr<Trace> read() {
    find_tables();
    if (!has_table("META_DATA_EXPORT") && !has_table("EXPORT_META_DATA") &&
        !has_table("StringIds")) {
      return invalid_input(fmt::format(
          "{}: a database{} without the tables of Nsight Systems (StringIds, CUPTI_ACTIVITY_...); "
          "export one with nsys export --type sqlite",
          trace_.path, damage_.empty() ? "" : " (" + damage_ + ")"));
    }
    read_strings();
    read_device_name();
    read_work("CUPTI_ACTIVITY_KIND_KERNEL", SpanKind::kKernel);
    read_work("CUPTI_ACTIVITY_KIND_MEMCPY", SpanKind::kCopy);
    read_work("CUPTI_ACTIVITY_KIND_MEMSET", SpanKind::kMemset);
    read_calls("CUPTI_ACTIVITY_KIND_RUNTIME");
    read_calls("CUPTI_ACTIVITY_KIND_DRIVER");
    read_records();
    read_syncs();
    read_ranges();
    read_memory();
    if (!damage_.empty()) {
      trace_.warn_of_file("the database is damaged: " + damage_);
    }
    if (trace_.spans.empty()) {
      return no_events();
    }
    finish_trace(&trace_);
    return std::move(trace_);
  }

 private:
  void find_tables() {
    SqliteQuery query(database_, "SELECT name FROM sqlite_master WHERE type = 'table'");
    while (query.next()) {
      tables_.emplace(query.text(0));
    }
    note(query);
  }

  bool has_table(const std::string& name) const { return tables_.contains(name); }

  void note(const SqliteQuery& query) {
    if (!query.error().empty() && damage_.empty()) {
      damage_ = query.error();
    }
  }

  // "SELECT a, NULL, c FROM table": columns that the table lacks are NULL.
  std::string select(const std::string& table, const std::vector<std::string>& columns) {
    std::set<std::string, std::less<>> present;
    SqliteQuery info(database_, fmt::format("PRAGMA table_info({})", table));
    while (info.next()) {
      present.emplace(info.text(1));
    }
    note(info);
    std::vector<std::string> parts;
    parts.reserve(columns.size());
    for (const std::string& column : columns) {
      parts.push_back(present.contains(column) ? "\"" + column + "\"" : "NULL");
    }
    return fmt::format("SELECT {} FROM {}", join(parts, ", "), table);
  }

  void read_strings() {
    if (!has_table("StringIds")) {
      trace_.warn_of_file("the table of names (StringIds) is missing");
      return;
    }
    SqliteQuery query(database_, "SELECT id, value FROM StringIds");
    while (query.next()) {
      names_[query.integer(0)] = trace_.intern(printable(query.text(1), 1000));
    }
    note(query);
  }

  NameId name_of(int64_t id, std::string_view otherwise) {
    const auto it = names_.find(id);
    return it == names_.end() ? trace_.intern(otherwise) : it->second;
  }

  void read_device_name() {
    if (has_table("TARGET_INFO_GPU")) {
      SqliteQuery query(database_, select("TARGET_INFO_GPU", {"name"}) + " LIMIT 1");
      if (query.next()) {
        trace_.device_name = printable(query.text(0));
      }
    }
  }

  // The process of a globalTid or globalPid, which correlation numbers are unique in.
  int64_t correlation(int64_t global_id, int64_t number) {
    const int64_t process = global_id >> 24;
    const auto it = processes_.try_emplace(process, static_cast<int64_t>(processes_.size())).first;
    return number < 0 || number >= (int64_t{1} << 40) ? -1 : (it->second << 40) | number;
  }

  bool times_of(const SqliteQuery& query, std::string_view what, Span* span) {
    ++trace_.events;
    const int64_t start_ns = query.integer(0, 0);
    const int64_t end_ns = query.integer(1, -1);
    if (start_ns <= 0 || start_ns > kMaxNsysNs) {
      trace_.warn(fmt::format("{} without a start, left out", what), trace_.events);
      return false;
    }
    if (end_ns < start_ns || end_ns > kMaxNsysNs) {
      trace_.warn(fmt::format("{} without an end or with a negative duration, left out", what),
                  trace_.events);
      return false;
    }
    span->start_us = static_cast<double>(start_ns) / kNsysNsPerUs;
    span->end_us = static_cast<double>(end_ns) / kNsysNsPerUs;
    return true;
  }

  TrackId queue(int64_t device, int64_t stream) {
    const TrackId id = trace_.track_of(fmt::format("device {}", device), fmt::format("{}", stream));
    Track& track = trace_.tracks[id.index()];
    track.kind = TrackKind::kDevice;
    track.device = device;
    return id;
  }

  TrackId thread(int64_t global_tid) {
    return trace_.track_of(fmt::format("process {}", (global_tid >> 24) & 0xFFFFFF),
                           fmt::format("{}", global_tid & 0xFFFFFF));
  }

  void read_work(const std::string& table, SpanKind kind) {
    if (!has_table(table)) {
      return;
    }
    SqliteQuery query(
        database_,
        select(table, {"start", "end", "deviceId", "streamId", "correlationId", "globalPid",
                       "shortName", "demangledName", "bytes", "copyKind", "graphNodeId"}));
    while (query.next()) {
      Span span;
      if (!times_of(query, "device work", &span)) {
        continue;
      }
      span.kind = kind;
      span.track = queue(query.integer(2, 0), query.integer(3, 0));
      span.correlation = correlation(query.integer(5, 0), query.integer(4));
      if (kind == SpanKind::kKernel) {
        span.name = name_of(query.integer(7), "");
        span.name = trace_.text(span.name).empty() ? name_of(query.integer(6), "?") : span.name;
      } else {
        span.name = trace_.intern(kind == SpanKind::kCopy ? copy_name(query.integer(9)) : "Memset");
        span.bytes = query.integer(8);
      }
      trace_.spans.push_back(span);
    }
    note(query);
  }

  void read_calls(const std::string& table) {
    if (!has_table(table)) {
      return;
    }
    SqliteQuery query(database_,
                      select(table, {"start", "end", "correlationId", "globalTid", "nameId"}));
    while (query.next()) {
      Span span;
      if (!times_of(query, "calls", &span)) {
        continue;
      }
      span.kind = SpanKind::kRuntime;
      span.name = plain_call(name_of(query.integer(4), "?"));
      span.track = thread(query.integer(3, 0));
      span.correlation = correlation(query.integer(3, 0), query.integer(2));
      trace_.spans.push_back(span);
    }
    note(query);
  }

  // "cudaLaunchKernel_v7000" is cudaLaunchKernel.
  NameId plain_call(NameId name) {
    const std::string& text = trace_.text(name);
    const size_t at = text.rfind("_v");
    const bool version = at != std::string::npos && at + 2 < text.size() &&
                         text.find_first_not_of("0123456789", at + 2) == std::string::npos;
    return version ? trace_.intern(text.substr(0, at)) : name;
  }

  // Which call recorded an event on which stream.
  void read_records() {
    const std::string table = "CUPTI_ACTIVITY_KIND_CUDA_EVENT";
    if (!has_table(table)) {
      return;
    }
    SqliteQuery query(database_,
                      select(table, {"eventId", "correlationId", "globalPid", "streamId"}));
    while (query.next()) {
      records_[query.integer(0)] = {query.integer(3),
                                    correlation(query.integer(2, 0), query.integer(1))};
    }
    note(query);
  }

  void read_syncs() {
    const std::string table = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION";
    if (!has_table(table)) {
      return;
    }
    SqliteQuery query(database_,
                      select(table, {"start", "end", "deviceId", "streamId", "correlationId",
                                     "globalPid", "syncType", "eventId"}));
    while (query.next()) {
      Span span;
      if (!times_of(query, "waits", &span)) {
        continue;
      }
      span.kind = SpanKind::kSync;
      // Waits for all streams name none, whatever type they are given.
      const int64_t stream = query.integer(3, 0) & kNoStream;
      const bool all = stream == kNoStream;
      span.name = trace_.intern(sync_name(all ? kContextSync : query.integer(6)));
      span.track = queue(query.integer(2, 0), all ? 0 : stream);
      span.correlation = correlation(query.integer(5, 0), query.integer(4));
      const auto record = records_.find(query.integer(7));
      if (record != records_.end()) {
        trace_.syncs.push_back(
            {SpanId(trace_.spans.size()), record->second.first, record->second.second});
      }
      trace_.spans.push_back(span);
    }
    note(query);
  }

  void read_ranges() {
    if (!has_table("NVTX_EVENTS")) {
      return;
    }
    SqliteQuery query(database_, select("NVTX_EVENTS", {"start", "end", "eventType", "globalTid",
                                                        "text", "textId"}));
    while (query.next()) {
      const int64_t type = query.integer(2);
      Span span;
      if ((type != kPushPopRange && type != kStartEndRange) || !times_of(query, "ranges", &span)) {
        continue;
      }
      span.kind = SpanKind::kAnnotation;
      span.name = query.is_null(4) ? name_of(query.integer(5), "?")
                                   : trace_.intern(printable(query.text(4), 1000));
      // Ranges that need not nest are no part of their thread's calls.
      span.track = type == kPushPopRange ? thread(query.integer(3, 0))
                                         : trace_.track_of("ranges", fmt::format("{}", type));
      trace_.spans.push_back(span);
    }
    note(query);
  }

  void read_memory() {
    const std::string table = "CUDA_GPU_MEMORY_USAGE_EVENTS";
    if (!has_table(table)) {
      return;
    }
    SqliteQuery query(database_, select(table, {"start", "deviceId", "address", "bytes",
                                                "memoryOperationType", "globalTid"}));
    while (query.next()) {
      ++trace_.events;
      MemoryRecord record;
      record.time_us = static_cast<double>(query.integer(0, 0)) / kNsysNsPerUs;
      record.device = query.integer(1, 0);
      record.address = static_cast<uint64_t>(query.integer(2, 0));
      const int64_t bytes = std::max<int64_t>(query.integer(3, 0), 0);
      record.bytes = query.integer(4, 0) == 0 ? bytes : -bytes;
      record.track = thread(query.integer(5, 0));
      trace_.memory.push_back(record);
    }
    note(query);
  }

  Status no_events() const {
    if (trace_.events > 0 || !damage_.empty()) {
      return nothing_usable(trace_, "rows");
    }
    return invalid_input(
        fmt::format("{}: an Nsight Systems export without CUDA or NVTX events; record with nsys "
                    "profile --trace=cuda,nvtx",
                    trace_.path));
  }

  sqlite3* database_;
  Trace trace_;
  std::set<std::string, std::less<>> tables_;
  std::unordered_map<int64_t, NameId> names_;
  std::unordered_map<int64_t, int64_t> processes_;
  std::unordered_map<int64_t, std::pair<int64_t, int64_t>> records_;  // event: stream, correlation
  std::string damage_;
};

// What a query may cost: a damaged file must not keep us for ever.
StatusOr<Trace> read_database(const std::string& path, sqlite3* database) {
  sqlite3_exec(database, "PRAGMA cell_size_check = ON; PRAGMA trusted_schema = OFF", nullptr,
               nullptr, nullptr);
  return NsysReader(path, database).read();
}

StatusOr<Trace> read_nsys_file(const std::string& path) {
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &handle, SQLITE_OPEN_READONLY, nullptr);
  const SqliteDatabase database(handle);
  if (code != SQLITE_OK) {
    return invalid_input(fmt::format("{}: cannot be read: {}", path,
                                     handle == nullptr ? "out of memory" : sqlite_message(handle)));
  }
  return read_database(path, database.get());
}

StatusOr<Trace> read_nsys_content(const std::string& path, std::string content) {
  sqlite3* handle = nullptr;
  const int code =
      sqlite3_open_v2(":memory:", &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY, nullptr);
  const SqliteDatabase database(handle);
  const auto size = static_cast<sqlite3_int64>(content.size());
  if (code != SQLITE_OK ||
      sqlite3_deserialize(handle, "main",
                          static_cast<unsigned char*>(static_cast<void*>(content.data())), size,
                          size, SQLITE_DESERIALIZE_READONLY) != SQLITE_OK) {
    return invalid_input(fmt::format("{}: the database cannot be read", path));
  }
  return read_database(path, database.get());
}

Sniff sniff_nsys(const TraceInput& input) {
  constexpr std::string_view kSqlite("SQLite format 3\0", 16);
  return input.head().starts_with(kSqlite) ? Sniff::kYes : Sniff::kNo;
}

StatusOr<Trace> read_nsys(TraceInput input) {
  return input.is_plain_file() ? read_nsys_file(input.path())
                               : read_nsys_content(input.path(), input.take_content());
}

}  // namespace

TraceReader nsys_trace_reader() {
  return {.name = "nsys",
          .description = "Nsight Systems, nsys export --type sqlite",
          .sniff = sniff_nsys,
          .read = read_nsys};
}

}  // namespace dfsim::inline datasets
