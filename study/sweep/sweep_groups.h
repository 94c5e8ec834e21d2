// The points of a sweep that import one graph, with what they share.
#pragma once

#include <atomic>
#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "graphs/passes/precision/precision.h"
#include "study/chain/model_run.h"
#include "study/sweep/sweep_costs.h"

namespace dfsim::inline study {

// Something that the first thread that needs it makes.
template <typename T>
class MadeOnce {
 public:
  template <typename Make>
  const StatusOr<T>& get(const Make& make) {
    std::call_once(once_, [&] { value_.emplace(make()); });
    return *value_;
  }

 private:
  std::once_flag once_;
  std::optional<StatusOr<T>> value_;
};

// All that the rewriting of an import depends on. The precision is the plan that the machine
// resolved: what the point asks for, but NPUs convert fp32 models, and units decide whether
// published weights are unpacked.
struct RewritingKey {
  std::string mode;
  PrecisionPlan precision;
  std::string runtime;  // its file
  bool runs_on_cpu = false;

  auto operator<=>(const RewritingKey&) const = default;  // NOLINT(modernize-use-nullptr)
};

// Graphs and costs that the points of one import share. Freed when the last of them is done.
struct SharedGraphs {
  MadeOnce<ImportedModel> imported;
  std::mutex mutex;  // of `rewritten`
  std::map<RewritingKey, MadeOnce<LoadedModel>> rewritten;
  SweepCosts costs;
};

struct SweepGroup {
  std::vector<uint32_t> points;
  std::atomic<size_t> next = 0;
  std::atomic<size_t> done = 0;
  std::mutex mutex;  // of `graphs`
  std::shared_ptr<SharedGraphs> graphs;

  std::shared_ptr<SharedGraphs> shared() {
    const std::lock_guard lock(mutex);
    if (graphs == nullptr) {
      graphs = std::make_shared<SharedGraphs>();
    }
    return graphs;
  }
  void finish_one() {
    if (done.fetch_add(1) + 1 == points.size()) {
      const std::lock_guard lock(mutex);
      graphs.reset();
    }
  }
};

}  // namespace dfsim::inline study
