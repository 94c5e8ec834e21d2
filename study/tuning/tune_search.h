// The search behind `dfsim tune`: which settings of a runtime to measure next, so that few need be.
//
// Each setting has a predicted time. What has been measured corrects the predictions of its
// neighbours: the estimate of a setting is its prediction times the measured-to-predicted ratio of
// the measured setting that differs in fewest knobs. The next one to measure is that with the least
// optimistic estimate, where each differing knob may bring another kOptimism; the search ends when
// no optimistic estimate is below the best measured time, or the budget is used.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dfsim::inline study {

struct TuneSetting {
  int intra = 1;  // threads inside an operator
  int inter = 1;  // operators at once
  bool pinned = false;
  int level = 3;  // of graph optimisation: 0 none, 1 basic, 2 extended, 3 all
  int64_t batch = 1;
  bool operator==(const TuneSetting&) const = default;
};
// "intra 2, inter 1, pinned, extended, batch 8".
std::string tune_setting_text(const TuneSetting& setting);
// Knobs that differ.
int tune_distance(const TuneSetting& a, const TuneSetting& b);

struct TuneCandidate {
  TuneSetting setting;
  double predicted = 0;              // time per sample, any unit
  std::optional<double> measured{};  // the same, in units of the default's measured time
};

class TuneSearch {
 public:
  static constexpr double kOptimism = 0.1;

  // `candidates` holds the default at index 0; `budget` counts measurements, the default's
  // included.
  TuneSearch(std::vector<TuneCandidate> candidates, size_t budget);

  // Index of the next candidate to measure; none when the search is over. The first is the default.
  std::optional<size_t> next() const;
  // Time per sample over the default's; the default's own is 1.
  void add(size_t index, double relative);

  const std::vector<TuneCandidate>& candidates() const { return candidates_; }
  size_t best() const;
  size_t measured() const { return measured_; }
  // Expected time per sample over the default's; the prediction's ratio while nothing is measured.
  double estimate(size_t index) const;

 private:
  double optimistic(size_t index) const;

  std::vector<TuneCandidate> candidates_;
  size_t budget_;
  size_t measured_ = 0;
};

// All settings worth a look: threads 1, 2, 4... up to `cores`, and `cores`; one or two operators at
// once; each batch; every level for the default threads. The first is the default of ONNX Runtime:
// all cores, one operator at a time, not pinned, all optimisations, the first batch.
std::vector<TuneSetting> tune_space(int cores, const std::vector<int64_t>& batches);

}  // namespace dfsim::inline study
