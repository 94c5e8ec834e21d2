// FairShare: max-min fair rates of flows over shared channels, kept up to date as flows come and
// go.
//
// Definition: rates grow together from zero; a flow stops growing when one of its channels is full
// or its own cap is reached (progressive filling; Bertsekas, Gallager 1992, section 6.5). A change
// only touches the flows that are joined to it through shared channels.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace dfsim::inline sim {

class FairShare {
 public:
  // Channel capacities, > 0, in any unit of rate.
  explicit FairShare(std::vector<double> capacities);

  // `flow` is an id of the caller's choice, small and dense; `channels` are distinct and stay valid
  // until remove(). `cap` bounds the rate; infinity = none. With no channels the rate is the cap.
  void add(uint32_t flow, std::span<const uint32_t> channels, double cap);
  void remove(uint32_t flow);
  // Recomputes what the calls since the last solve() have touched. `changed` receives the flows
  // whose rate is new, each once. O(component channels^2 + component hops) in the worst case.
  void solve(std::vector<uint32_t>& changed);
  bool settled() const { return touched_.empty(); }
  double rate(uint32_t flow) const { return flows_[flow].rate; }

 private:
  struct Flow {
    std::span<const uint32_t> channels;
    double cap = 0;
    double rate = 0;
    double new_rate = 0;
    uint64_t stamp = 0;
    bool fixed = false;
  };
  struct Channel {
    double capacity = 0;
    double left = 0;    // not yet given away in this solve
    uint32_t open = 0;  // flows without a rate in this solve
    uint64_t stamp = 0;
    bool touched = false;
    std::vector<uint32_t> flows;
  };

  void touch(uint32_t channel);
  void collect();
  void fill();
  void fix(uint32_t flow, double rate);

  std::vector<Flow> flows_;
  std::vector<Channel> channels_;
  std::vector<uint32_t> touched_;
  uint64_t stamp_ = 0;
  std::vector<uint32_t> part_channels_;  // of the component being solved
  std::vector<uint32_t> part_flows_;
  std::vector<uint32_t> by_cap_;
};

}  // namespace dfsim::inline sim
