// A part is a run of consecutive points in an order by import: the graph of a model is imported by
// as few parts as possible, and the sizes of parts are even.
#include "study/sweep/sweep_parts.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/text.h"

namespace dfsim::inline study {
namespace {

bool read_count(std::string_view text, size_t* count) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *count);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

std::vector<size_t> points_of_part(const std::vector<SweepPoint>& plan, SweepPart part) {
  std::vector<size_t> order(plan.size());
  std::iota(order.begin(), order.end(), size_t{0});
  if (part.count > 1) {
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return std::tie(plan[a].model, plan[a].batch, plan[a].param) <
             std::tie(plan[b].model, plan[b].batch, plan[b].param);
    });
    const size_t begin = plan.size() * part.index / part.count;
    const size_t end = plan.size() * (part.index + 1) / part.count;
    order = std::vector<size_t>(order.begin() + static_cast<ptrdiff_t>(begin),
                                order.begin() + static_cast<ptrdiff_t>(end));
    std::sort(order.begin(), order.end());
  }
  return order;
}

std::vector<SweepPoint> points_at(const std::vector<SweepPoint>& plan,
                                  const std::vector<size_t>& indices) {
  std::vector<SweepPoint> points;
  points.reserve(indices.size());
  for (const size_t p : indices) {
    points.push_back(plan[p]);
  }
  return points;
}

StatusOr<SweepPart> parse_sweep_part(std::string_view text, std::string_view option) {
  const size_t slash = text.find('/');
  size_t index = 0;
  size_t count = 0;
  if (slash == std::string_view::npos || !read_count(text.substr(0, slash), &index) ||
      !read_count(text.substr(slash + 1), &count) || index < 1 || index > count ||
      count > kMostSweepParts) {
    return invalid_input(fmt::format(
        "{}: found '{}', expected a part and the number of parts, such as 2/8 (at most {} parts)",
        option, printable(text), kMostSweepParts));
  }
  return SweepPart{index - 1, count};
}

std::string sweep_part_file(const std::string& output, SweepPart part) {
  return fmt::format("{}.part-{}-of-{}", output, part.index + 1, part.count);
}

std::vector<std::string> sweep_part_files(const std::string& output, size_t count) {
  std::vector<std::string> files;
  for (size_t part = 0; part < count; ++part) {
    files.push_back(sweep_part_file(output, {part, count}));
  }
  return files;
}

StatusOr<SweepLock> SweepLock::wait(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  int result = -1;
  while (file >= 0 && (result = ::flock(file, LOCK_EX)) != 0 && errno == EINTR) {
  }
  if (result != 0) {
    const int reason = errno;
    if (file >= 0) {
      ::close(file);
    }
    return failed(fmt::format("{}: cannot be locked: {}; check the directory and its permissions",
                              path, std::strerror(reason)));
  }
  return SweepLock(path, file);
}

SweepLock::SweepLock(SweepLock&& other) noexcept
    : path_(std::move(other.path_)), file_(std::exchange(other.file_, -1)) {}

SweepLock::~SweepLock() {
  if (file_ >= 0) {
    ::close(file_);
  }
}

void SweepLock::remove() { ::unlink(path_.c_str()); }

}  // namespace dfsim::inline study
