// SweepJournal: the finished points of a sweep on disk, so that a sweep that was stopped goes on
// and processes that predict parts of one sweep hand over their rows.
//
// A file of JSON lines: a header with the program's version, then a line per point with the key of
// the point and its figures or its error. A line that the end of the program cut off is ignored.
// One sweep at a time writes a journal: the file is locked as long as it is open.
#pragma once

#include <cstdio>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "base/status.h"
#include "study/sweep/sweep_row.h"

namespace dfsim::inline study {

using FinishedPoints = std::unordered_map<std::string, SweepRow>;  // by key

// Reads the points of a journal of the same program, failed points with their error. Errors: no
// such file; a file that is not a journal; one that another version of the program wrote.
StatusOr<FinishedPoints> read_finished_points(const std::string& path, const std::string& program);

class SweepJournal {
 public:
  // Reads what is there and appends to it; starts again when another version of the program wrote
  // it. Errors: a file that is not a journal, one that another sweep has open, and one that cannot
  // be written.
  static StatusOr<std::unique_ptr<SweepJournal>> open(const std::string& path,
                                                      const std::string& program);
  ~SweepJournal();
  SweepJournal(const SweepJournal&) = delete;
  SweepJournal& operator=(const SweepJournal&) = delete;

  // The row of a point that was finished earlier, or null; failed points are not finished. `key`
  // identifies the point and all that its figures depend on.
  const SweepRow* find(const std::string& key) const;
  // Any thread. Error: kFailed when the disk is full and the like.
  Status add(const std::string& key, const SweepRow& row);

 private:
  explicit SweepJournal(std::string path) : path_(std::move(path)) {}
  Status read(const std::string& program);

  std::string path_;
  FinishedPoints rows_;
  std::mutex mutex_;
  std::FILE* file_ = nullptr;
};

}  // namespace dfsim::inline study
