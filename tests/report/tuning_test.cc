// The search for settings on made-up machines, where every time is known.
#include "study/tuning/tune_search.h"

#include <catch2/catch.hpp>
#include <functional>

namespace dfsim {
namespace {

using Machine = std::function<double(const TuneSetting&)>;

TuneSearch search_of(int cores, const std::vector<int64_t>& batches, const Machine& predicted,
                     size_t budget = 100) {
  std::vector<TuneCandidate> candidates;
  for (const TuneSetting& setting : tune_space(cores, batches)) {
    TuneCandidate candidate;
    candidate.setting = setting;
    candidate.predicted = predicted(setting);
    candidates.push_back(candidate);
  }
  return TuneSearch(std::move(candidates), budget);
}

void run_on(const Machine& machine, TuneSearch* search) {
  const double usual = machine(search->candidates()[0].setting);
  for (auto next = search->next(); next.has_value(); next = search->next()) {
    search->add(*next, machine(search->candidates()[*next].setting) / usual);
  }
}

TEST_CASE("the space begins with the default") {
  const auto space = tune_space(8, {1, 4});
  CHECK(space.front() == TuneSetting{8, 1, false, 3, 1});
  for (size_t i = 0; i < space.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      CHECK_FALSE(space[i] == space[j]);
    }
  }
  const auto single = tune_space(1, {1});
  CHECK(single.front() == TuneSetting{1, 1, false, 3, 1});
  CHECK(single.size() == 5);  // two numbers of operators at once, three more levels
}

TEST_CASE("a right prediction is confirmed with few measurements") {
  const Machine machine = [](const TuneSetting& s) {
    return (1.0 + 8.0 / s.intra + (s.inter > 1 ? 4.0 : 0.0) + (3 - s.level)) /
           static_cast<double>(s.batch);
  };
  TuneSearch search = search_of(8, {1, 8}, machine);
  run_on(machine, &search);
  CHECK(search.candidates()[search.best()].setting == TuneSetting{8, 1, false, 3, 8});
  CHECK(search.measured() < search.candidates().size() / 3);
}

TEST_CASE("a wrong prediction is corrected by what was measured") {
  // Predicted: the more threads the better. In fact two are best and more are far worse.
  const Machine predicted = [](const TuneSetting& s) { return 8.0 / s.intra; };
  const Machine machine = [](const TuneSetting& s) {
    return s.intra == 2 ? 1.0 : s.intra == 1 ? 1.5 : 2.0 * s.intra;
  };
  TuneSearch search = search_of(8, {1}, predicted);
  run_on(machine, &search);
  CHECK(search.candidates()[0].measured == 1);
  CHECK(search.measured() <= search.candidates().size());
}

TEST_CASE("the budget is kept and the default comes first") {
  const Machine flat = [](const TuneSetting&) { return 1.0; };
  TuneSearch search = search_of(16, {1, 2, 4}, flat, 3);
  CHECK(search.next() == std::optional<size_t>(0));
  run_on(flat, &search);
  CHECK(search.measured() == 3);
  CHECK_FALSE(search.next().has_value());
}

TEST_CASE("distances count knobs") {
  CHECK(tune_distance({1, 1, false, 3, 1}, {1, 1, false, 3, 1}) == 0);
  CHECK(tune_distance({1, 1, false, 3, 1}, {2, 2, true, 0, 8}) == 5);
  CHECK(tune_setting_text({2, 1, true, 2, 8}) ==
        "intra 2, inter 1, pinned, extended optimisations, batch 8");
}

}  // namespace
}  // namespace dfsim
