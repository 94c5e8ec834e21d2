// Advice on a run, recorded or predicted: what was seen, what to change, and what the simulator
// says that brings.
#pragma once

#include <string>
#include <vector>

namespace dfsim::inline study {

// One thing to change. The impact is that of a simulation: the run as it is, and with the change
// applied to it.
struct Advice {
  std::string kind;      // "launch-overhead", "fusion"...
  std::string insight;   // what was seen
  std::string action;    // what to do
  double before_us = 0;  // of the run, simulated
  double after_us = 0;   // "batch" gives the time of as many samples as before
  // 80 % interval of after_us where the change brings times that were not measured, such as those
  // of an operator on another device; -1 = all times are measured ones.
  double after_low_us = -1;
  double after_high_us = -1;
  double gain() const { return before_us > 0 ? 1 - after_us / before_us : 0; }
};

// Advice for one run.
struct AdviceList {
  bool asked = false;
  double width_us = 0;       // what a gain must exceed to be advised
  std::vector<Advice> list;  // greatest gain first
};

// A change of less is never advised, however narrow the interval.
inline constexpr double kLeastGain = 0.01;  // of the run

}  // namespace dfsim::inline study
