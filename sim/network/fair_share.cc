// Progressive filling on the part of the network that a change touches: collect() finds the
// flows that are joined to it through shared channels, fill() raises their rates together and
// freezes those whose channel is full. Flows elsewhere keep their rates, which is what makes a
// change cheap on large networks.
#include "sim/network/fair_share.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace dfsim::inline sim {

FairShare::FairShare(std::vector<double> capacities) : channels_(capacities.size()) {
  for (size_t c = 0; c < capacities.size(); ++c) {
    channels_[c].capacity = capacities[c];
  }
}

void FairShare::touch(uint32_t channel) {
  if (!channels_[channel].touched) {
    channels_[channel].touched = true;
    touched_.push_back(channel);
  }
}

void FairShare::add(uint32_t id, std::span<const uint32_t> channels, double cap) {
  if (id >= flows_.size()) {
    flows_.resize(id + 1);
  }
  flows_[id] = Flow{channels, cap, channels.empty() ? cap : 0, 0, 0, false};
  for (const uint32_t c : channels) {
    channels_[c].flows.push_back(id);
    touch(c);
  }
}

void FairShare::remove(uint32_t id) {
  for (const uint32_t c : flows_[id].channels) {
    std::vector<uint32_t>& flows = channels_[c].flows;
    *std::find(flows.begin(), flows.end(), id) = flows.back();
    flows.pop_back();
    if (!flows.empty()) {
      touch(c);
    }
  }
  flows_[id].channels = {};
}

// Everything joined to a touched channel through flows.
void FairShare::collect() {
  ++stamp_;
  part_channels_.clear();
  part_flows_.clear();
  const auto visit = [this](uint32_t c) {
    if (channels_[c].stamp != stamp_) {
      channels_[c].stamp = stamp_;
      part_channels_.push_back(c);
    }
  };
  for (const uint32_t c : touched_) {
    channels_[c].touched = false;
    visit(c);
  }
  touched_.clear();
  for (size_t i = 0; i < part_channels_.size(); ++i) {
    Channel& channel = channels_[part_channels_[i]];
    channel.left = channel.capacity;
    channel.open = static_cast<uint32_t>(channel.flows.size());
    for (const uint32_t f : channel.flows) {
      if (flows_[f].stamp != stamp_) {
        flows_[f].stamp = stamp_;
        flows_[f].fixed = false;
        part_flows_.push_back(f);
        std::for_each(flows_[f].channels.begin(), flows_[f].channels.end(), visit);
      }
    }
  }
}

void FairShare::fix(uint32_t id, double rate) {
  Flow& flow = flows_[id];
  flow.fixed = true;
  flow.new_rate = rate;
  for (const uint32_t c : flow.channels) {
    channels_[c].left = std::max(0.0, channels_[c].left - rate);
    --channels_[c].open;
  }
}

void FairShare::fill() {
  by_cap_.clear();
  for (const uint32_t f : part_flows_) {
    if (std::isfinite(flows_[f].cap)) {
      by_cap_.push_back(f);
    }
  }
  std::sort(by_cap_.begin(), by_cap_.end(), [this](uint32_t a, uint32_t b) {
    return flows_[a].cap != flows_[b].cap ? flows_[a].cap < flows_[b].cap : a < b;
  });
  size_t next_cap = 0;
  while (true) {
    double level = std::numeric_limits<double>::infinity();
    const Channel* tightest = nullptr;
    std::erase_if(part_channels_, [this](uint32_t c) { return channels_[c].open == 0; });
    for (const uint32_t c : part_channels_) {
      const double share = channels_[c].left / channels_[c].open;
      if (share < level) {
        level = share;
        tightest = &channels_[c];
      }
    }
    if (tightest == nullptr) {
      return;
    }
    // Levels only rise from here, so every cap up to this one binds.
    bool capped = false;
    for (; next_cap < by_cap_.size() && flows_[by_cap_[next_cap]].cap <= level; ++next_cap) {
      if (!flows_[by_cap_[next_cap]].fixed) {
        fix(by_cap_[next_cap], flows_[by_cap_[next_cap]].cap);
        capped = true;
      }
    }
    for (size_t i = 0; !capped && i < tightest->flows.size(); ++i) {
      if (!flows_[tightest->flows[i]].fixed) {
        fix(tightest->flows[i], level);
      }
    }
  }
}

void FairShare::solve(std::vector<uint32_t>& changed) {
  changed.clear();
  collect();
  fill();
  for (const uint32_t f : part_flows_) {
    if (flows_[f].new_rate != flows_[f].rate) {
      flows_[f].rate = flows_[f].new_rate;
      changed.push_back(f);
    }
  }
}

}  // namespace dfsim::inline sim
