// Parts of a sweep for several processes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "study/sweep/sweep_options.h"
#include "study/sweep/sweep_plan.h"

namespace dfsim::inline study {

inline constexpr size_t kMostSweepParts = 100'000;

// Cuts a sweep into parts. Parts differ by at most one point, and each point is in exactly one
// part; points that import the same graph are next to each other, so that few parts import it. The
// same plan gives the same parts everywhere.
class SweepParts {
 public:
  // O(points log points).
  SweepParts(const SweepPlan& plan, size_t count);
  // The points of one part, in order of the plan. `index` < count.
  std::vector<uint32_t> points(size_t index) const;

 private:
  size_t count_;
  std::vector<uint32_t> order_;  // points by import; each part is a run of them
};

// "2/8" is the second of eight parts. `option` begins the message. Error: anything else.
StatusOr<SweepPart> parse_sweep_part(std::string_view text, std::string_view option);

// The journal of a part of the sweep whose table is `output`: "points.csv.part-2-of-8".
std::string sweep_part_file(const std::string& output, SweepPart part);
std::vector<std::string> sweep_part_files(const std::string& output, size_t count);

// A file that one process at a time holds, on this machine or on others that share its directory.
class SweepLock {
 public:
  // Waits until no other process holds it. Error: kFailed when it cannot be written.
  static StatusOr<SweepLock> wait(const std::string& path);
  SweepLock(SweepLock&& other) noexcept;
  SweepLock& operator=(SweepLock&&) = delete;
  ~SweepLock();

  // Removes the file, which no process needs any more.
  void remove();

 private:
  SweepLock(std::string path, int file) : path_(std::move(path)), file_(file) {}

  std::string path_;
  int file_ = -1;
};

}  // namespace dfsim::inline study
