// MCT, minimum completion time (Maheswaran et al. 1999, doi:10.1006/jpdc.1999.1581), and round
// robin: both decide each task the moment it is ready, in the order of ids.
#include <limits>

#include "schedulers/policies/online/online_base.h"

namespace dfsim::inline schedulers::policies {
namespace {

class Mct final : public OnlineBase {
 public:
  Mct() : OnlineBase("mct") {}

  void decide(const OnlineView& view, std::span<const TaskId> newly_ready,
              std::vector<Decision>& decisions) override {
    for (size_t d = 0; d < ahead_.size(); ++d) {
      ahead_[d] = view.available_ns(DeviceId(d));
    }
    for (const TaskId task : newly_ready) {
      look_at(view, task);
      const std::vector<TimeNs>& fetch = fetch_all_ns();
      size_t best = 0;
      TimeNs best_finish = std::numeric_limits<TimeNs>::max();
      for (size_t d = 0; d < ahead_.size(); ++d) {
        const TimeNs time = tasks().time_ns(task, d);
        const TimeNs finish = std::max(ahead_[d], view.now_ns() + fetch[d]) + time;
        if (time >= 0 && finish < best_finish) {
          best = d;
          best_finish = finish;
        }
      }
      ahead_[best] = best_finish;
      decisions.push_back({task, DeviceId(best)});
    }
  }

 private:
  Status prepare() override {
    ahead_.resize(tasks().devices());
    return ok_status();
  }

  std::vector<TimeNs> ahead_;
};

class RoundRobin final : public OnlineBase {
 public:
  RoundRobin() : OnlineBase("round-robin") {}

  void decide(const OnlineView&, std::span<const TaskId> newly_ready,
              std::vector<Decision>& decisions) override {
    for (const TaskId task : newly_ready) {
      while (!tasks().feasible(task, next_)) {
        next_ = (next_ + 1) % tasks().devices();
      }
      decisions.push_back({task, DeviceId(next_)});
      next_ = (next_ + 1) % tasks().devices();
    }
  }

 private:
  Status prepare() override {
    next_ = 0;
    return ok_status();
  }

  size_t next_ = 0;
};

}  // namespace

OnlinePtr make_mct(const PolicyOptions&) { return std::make_unique<Mct>(); }
OnlinePtr make_round_robin(const PolicyOptions&) { return std::make_unique<RoundRobin>(); }

}  // namespace dfsim::inline schedulers::policies
