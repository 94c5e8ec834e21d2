// SQLite databases: closed when they go out of scope, queries row by row. Internal to
// datasets/traces.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/text.h"

namespace dfsim::inline datasets {

struct DatabaseCloser {
  void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
};
using SqliteDatabase = std::unique_ptr<sqlite3, DatabaseCloser>;

// SQLite quotes what it refuses, line breaks included.
inline std::string sqlite_message(sqlite3* database) {
  constexpr size_t kMaxChars = 200;
  return printable(sqlite3_errmsg(database), kMaxChars);
}

// One query, row by row.
class SqliteQuery {
 public:
  SqliteQuery(sqlite3* database, const std::string& sql) {
    if (sqlite3_prepare_v2(database, sql.c_str(), -1, &statement_, nullptr) != SQLITE_OK) {
      error_ = sqlite_message(database);
    }
  }
  ~SqliteQuery() { sqlite3_finalize(statement_); }
  SqliteQuery(const SqliteQuery&) = delete;
  SqliteQuery& operator=(const SqliteQuery&) = delete;

  bool next() {
    if (statement_ == nullptr) {
      return false;
    }
    const int code = sqlite3_step(statement_);
    if (code != SQLITE_ROW && code != SQLITE_DONE) {
      error_ = sqlite_message(sqlite3_db_handle(statement_));
    }
    return code == SQLITE_ROW;
  }
  bool is_null(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }
  int64_t integer(int column, int64_t otherwise = -1) const {
    return is_null(column) ? otherwise : sqlite3_column_int64(statement_, column);
  }
  std::string_view text(int column) const {
    const auto* const bytes =
        static_cast<const char*>(static_cast<const void*>(sqlite3_column_text(statement_, column)));
    const int size = sqlite3_column_bytes(statement_, column);
    return bytes == nullptr ? "" : std::string_view(bytes, static_cast<size_t>(size));
  }
  // "" while all is well.
  const std::string& error() const { return error_; }

 private:
  sqlite3_stmt* statement_ = nullptr;
  std::string error_;
};

}  // namespace dfsim::inline datasets
