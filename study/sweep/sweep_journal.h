// SweepJournal: the finished points of a sweep on disk, so that a sweep that was stopped goes on
// and processes that predict parts of one sweep hand over their rows.
//
// A file of JSON lines: a header with the program's version, then a line per point with the key of
// the point and its figures or its error. A line that the end of the program cut off is ignored.
// One sweep at a time writes a journal: the file is locked as long as it is open.
#pragma once

#include <cstdio>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "base/status.h"
#include "study/sweep/sweep_row.h"

namespace dfsim::inline study {

// Takes a finished point of a journal: its key, and its row, which of a failed point has the error.
// A point that ran again comes again, and its last row counts. An error ends the reading.
using TakeFinishedPoint = std::function<Status(const std::string& key, const SweepRow& row)>;

// Reads the points of a journal of the same program, one at a time. Errors: no such file; a file
// that is not a journal; one that another version of the program wrote; those of `take`.
Status read_finished_points(const std::string& path, const std::string& program,
                            const TakeFinishedPoint& take);

class SweepJournal {
 public:
  // Reads what is there and appends to it; starts again when another version of the program wrote
  // it. Errors: a file that is not a journal, one that another sweep has open, and one that cannot
  // be written; those of `take`.
  static StatusOr<std::unique_ptr<SweepJournal>> open(const std::string& path,
                                                      const std::string& program,
                                                      const TakeFinishedPoint& take);
  ~SweepJournal();
  SweepJournal(const SweepJournal&) = delete;
  SweepJournal& operator=(const SweepJournal&) = delete;

  // `key` identifies the point and all that its figures depend on. Any thread. Error: kFailed when
  // the disk is full and the like.
  Status add(const std::string& key, const SweepRow& row);

 private:
  explicit SweepJournal(std::string path) : path_(std::move(path)) {}
  Status read(const std::string& program, const TakeFinishedPoint& take);

  std::string path_;
  std::mutex mutex_;
  std::FILE* file_ = nullptr;
};

}  // namespace dfsim::inline study
