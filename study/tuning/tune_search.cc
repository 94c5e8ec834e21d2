// Starts with what predictions like best and corrects them by the ratio of measured to predicted
// times of near settings.
#include "study/tuning/tune_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "base/check.h"

namespace dfsim::inline study {
namespace {

int nearest_distance(const std::vector<TuneCandidate>& candidates, size_t index, size_t* nearest) {
  int least = 100;
  for (size_t i = 0; i < candidates.size(); ++i) {
    const int distance = tune_distance(candidates[i].setting, candidates[index].setting);
    if (candidates[i].measured.has_value() && distance < least) {
      least = distance;
      *nearest = i;
    }
  }
  return least;
}

}  // namespace

std::string tune_setting_text(const TuneSetting& setting) {
  constexpr std::array<std::string_view, 4> kLevels = {"no", "basic", "extended", "all"};
  return fmt::format("intra {}, inter {}{}, {} optimisations, batch {}", setting.intra,
                     setting.inter, setting.pinned ? ", pinned" : "",
                     kLevels[static_cast<size_t>(setting.level)], setting.batch);
}

int tune_distance(const TuneSetting& a, const TuneSetting& b) {
  return (a.intra != b.intra ? 1 : 0) + (a.inter != b.inter ? 1 : 0) +
         (a.pinned != b.pinned ? 1 : 0) + (a.level != b.level ? 1 : 0) +
         (a.batch != b.batch ? 1 : 0);
}

TuneSearch::TuneSearch(std::vector<TuneCandidate> candidates, size_t budget)
    : candidates_(std::move(candidates)), budget_(budget) {
  DFSIM_CHECK(!candidates_.empty());
}

double TuneSearch::estimate(size_t index) const {
  const TuneCandidate& candidate = candidates_[index];
  if (candidate.measured.has_value()) {
    return *candidate.measured;
  }
  size_t nearest = 0;
  if (nearest_distance(candidates_, index, &nearest) == 100) {
    return candidate.predicted / candidates_[0].predicted;
  }
  return *candidates_[nearest].measured * candidate.predicted / candidates_[nearest].predicted;
}

double TuneSearch::optimistic(size_t index) const {
  size_t nearest = 0;
  const int distance = nearest_distance(candidates_, index, &nearest);
  return estimate(index) * std::pow(1 - kOptimism, distance);
}

std::optional<size_t> TuneSearch::next() const {
  if (measured_ >= budget_) {
    return std::nullopt;
  }
  if (!candidates_[0].measured.has_value()) {
    return 0;
  }
  std::optional<size_t> found;
  double least = estimate(best());
  for (size_t i = 0; i < candidates_.size(); ++i) {
    if (!candidates_[i].measured.has_value() && optimistic(i) < least) {
      least = optimistic(i);
      found = i;
    }
  }
  return found;
}

void TuneSearch::add(size_t index, double relative) {
  measured_ += candidates_[index].measured.has_value() ? 0 : 1;
  candidates_[index].measured = relative;
}

size_t TuneSearch::best() const {
  size_t best = 0;
  for (size_t i = 1; i < candidates_.size(); ++i) {
    if (candidates_[i].measured.has_value() &&
        *candidates_[i].measured < candidates_[best].measured.value_or(1)) {
      best = i;
    }
  }
  return best;
}

std::vector<TuneSetting> tune_space(int cores, const std::vector<int64_t>& batches) {
  std::vector<int> threads;
  for (int count = 1; count < cores; count *= 2) {
    threads.push_back(count);
  }
  threads.push_back(cores);
  std::vector<TuneSetting> space;
  const auto add = [&space](const TuneSetting& setting) {
    if (std::find(space.begin(), space.end(), setting) == space.end()) {
      space.push_back(setting);
    }
  };
  add({cores, 1, false, 3, batches.front()});
  for (const int64_t batch : batches) {
    for (const int intra : threads) {
      add({intra, 1, false, 3, batch});
      add({intra, 2, false, 3, batch});
      if (intra > 1) {
        add({intra, 1, true, 3, batch});
      }
    }
    for (const int level : {0, 1, 2}) {
      add({cores, 1, false, level, batch});
    }
  }
  return space;
}

}  // namespace dfsim::inline study
