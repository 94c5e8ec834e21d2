// SweepJournal: the finished points of a sweep on disk, so that a sweep that was stopped goes on.
//
// A file of JSON lines: a header, then a line per point with the key of the point and its figures.
// A line that the end of the program cut off is ignored. One sweep at a time writes a journal: the
// file is locked as long as it is open.
#pragma once

#include <cstdio>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "base/status.h"
#include "study/sweep/sweep_row.h"

namespace dfsim::inline study {

class SweepJournal {
 public:
  // Reads what is there and appends to it. Errors: a file that is not a journal, one that another
  // sweep has open, and one that cannot be written.
  static StatusOr<std::unique_ptr<SweepJournal>> open(const std::string& path);
  ~SweepJournal();
  SweepJournal(const SweepJournal&) = delete;
  SweepJournal& operator=(const SweepJournal&) = delete;

  // The row of a point that was finished earlier, or null. `key` identifies the point and all that
  // its figures depend on.
  const SweepRow* find(const std::string& key) const;
  // Any thread. Error: kFailed when the disk is full and the like.
  Status add(const std::string& key, const SweepRow& row);

 private:
  explicit SweepJournal(std::string path) : path_(std::move(path)) {}
  Status read();

  std::string path_;
  std::unordered_map<std::string, SweepRow> rows_;
  std::mutex mutex_;
  std::FILE* file_ = nullptr;
};

}  // namespace dfsim::inline study
