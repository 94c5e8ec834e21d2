// A part is a run of consecutive points in an order by import: as few parts as possible import the
// graph of a model, and the sizes of parts are even.
#include "study/sweep/sweep_parts.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <map>
#include <numeric>
#include <utility>

#include "base/text.h"
#include "graphs/llm/llm_import.h"

namespace dfsim::inline study {
namespace {

bool read_count(std::string_view text, size_t* count) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *count);
  return error == std::errc() && end == text.data() + text.size();
}

// The place of each point's import in the order of imports.
std::vector<uint32_t> import_ranks(const SweepPlan& plan) {
  std::vector<uint32_t> ranks(plan.size());
  std::map<SweepImport, uint32_t> imports;
  for (size_t p = 0; p < ranks.size(); ++p) {
    const auto number = static_cast<uint32_t>(imports.size());
    ranks[p] = imports.try_emplace(import_of(plan[p]), number).first->second;
  }
  // By number in order of the plan so far; a map has its keys in order.
  std::vector<uint32_t> rank_of(imports.size());
  uint32_t rank = 0;
  for (const auto& [import, number] : imports) {
    rank_of[number] = rank++;
  }
  for (uint32_t& value : ranks) {
    value = rank_of[value];
  }
  return ranks;
}

}  // namespace

SweepImport import_of(const SweepPoint& point) {
  // Sweeps may have millions of points: only few of them need a look at the file system.
  const bool by_precision =
      !point.precision.empty() && !point.model.ends_with(".onnx") && is_llm_config(point.model);
  return {point.model, point.batch, point.param, by_precision ? point.precision : std::string()};
}

SweepParts::SweepParts(const SweepPlan& plan, size_t count) : count_(count), order_(plan.size()) {
  std::iota(order_.begin(), order_.end(), 0U);
  if (count > 1) {
    const std::vector<uint32_t> ranks = import_ranks(plan);
    std::stable_sort(order_.begin(), order_.end(),
                     [&](uint32_t a, uint32_t b) { return ranks[a] < ranks[b]; });
  }
}

std::vector<uint32_t> SweepParts::points(size_t index) const {
  const auto begin = static_cast<ptrdiff_t>(order_.size() * index / count_);
  const auto end = static_cast<ptrdiff_t>(order_.size() * (index + 1) / count_);
  std::vector<uint32_t> points(order_.begin() + begin, order_.begin() + end);
  std::sort(points.begin(), points.end());
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
