// SweepRows: the rows of a sweep, in memory that does not grow with the sweep.
//
// Up to kMostRowsInMemory rows are kept in memory, those of a larger sweep in a temporary file
// without a name, in the directory that TMPDIR names or in /tmp. Texts (runtimes, errors) are kept
// once each.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"
#include "study/sweep/index_iterator.h"
#include "study/sweep/sweep_row.h"

namespace dfsim::inline study {

inline constexpr size_t kMostRowsInMemory = 65'536;

class SweepRows {
 public:
  SweepRows();
  // `size` rows without figures. Error (kFailed): the temporary file cannot be made.
  static StatusOr<SweepRows> make(size_t size, size_t most_in_memory = kMostRowsInMemory);
  SweepRows(SweepRows&&) noexcept;
  SweepRows& operator=(SweepRows&&) noexcept;
  ~SweepRows();

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  // Any thread may call this while no other sets or reads the same row. Error (kFailed): the disk
  // is full and the like.
  Status set(size_t row, const SweepRow& value);
  // A copy. Any thread may ask once all rows are set. O(1), and one read of a file.
  SweepRow operator[](size_t row) const;
  SweepRow front() const { return (*this)[0]; }

  IndexIterator<SweepRows> begin() const { return {*this, 0}; }
  IndexIterator<SweepRows> end() const { return {*this, size_}; }

 private:
  struct State;

  size_t size_ = 0;
  std::unique_ptr<State> state_;
};

}  // namespace dfsim::inline study
