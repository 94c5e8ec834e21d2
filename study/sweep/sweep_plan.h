// The points of a sweep: series are written out, patterns become files, settings are combined.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "study/sweep/index_iterator.h"
#include "study/sweep/sweep_options.h"

namespace dfsim::inline study {

inline constexpr size_t kMaxSweepPoints = 2'000'000;

// Numbers of at least 1: "8" is 8, "1:4" is 1 2 3 4, "2:8:3" is 2 5 8, "1:256:x2" is 1 2 4 ... 256.
// The end is included when a step meets it. `option` names the place in messages. Error: anything
// else, and series of more than kMaxSweepPoints numbers.
StatusOr<std::vector<int64_t>> parse_series(std::string_view text, std::string_view option);

// One setting of a sweep: the number of its values, and what writes one of them into a point.
struct SweepAxis {
  std::string option;
  size_t size = 0;
  std::function<void(size_t value, SweepPoint* point)> set;
};

// The points of a sweep in order. Those that axes combine to are made when they are asked for, so
// that a plan of a million points needs no more memory than its axes; copies share them.
class SweepPlan {
 public:
  SweepPlan() : SweepPlan({}, false, {}) {}
  // The points of the axes, of which the first changes slowest; zipped, their first values, their
  // second ones and so on, an axis of one value going with all. Then `listed`.
  SweepPlan(std::vector<SweepAxis> axes, bool zip, std::vector<SweepPoint> listed);

  size_t size() const { return is_part_ ? part_.size() : axes_->points + axes_->listed.size(); }
  bool empty() const { return size() == 0; }
  // O(axes).
  SweepPoint operator[](size_t point) const;
  SweepPoint front() const { return (*this)[0]; }
  // The points at `points`, numbers of this plan.
  SweepPlan part(const std::vector<uint32_t>& points) const;

  IndexIterator<SweepPlan> begin() const { return {*this, 0}; }
  IndexIterator<SweepPlan> end() const { return {*this, size()}; }

 private:
  struct Axes {
    std::vector<SweepAxis> axes;
    bool zip = false;
    size_t points = 0;  // that the axes combine to
    std::vector<SweepPoint> listed;
  };

  std::shared_ptr<const Axes> axes_;
  bool is_part_ = false;
  std::vector<uint32_t> part_;  // numbers of points
};

// All points in order: of the product, the first axis (models) changes slowest and the batch
// fastest. Errors: a malformed value, a pattern that no file matches, lists of different lengths
// under zip, no point, and more points than kMaxSweepPoints. O(points).
StatusOr<SweepPlan> plan_sweep(const SweepOptions& options);

// Errors: unknown, with the valid ones.
Status check_combine(const std::string& combine);
Status check_mode(const std::string& mode);

// The values of "a,b". A text that is the path of a file as a whole is one value, whatever commas
// its name has.
std::vector<std::string> listed_values(const std::string& text);

}  // namespace dfsim::inline study
