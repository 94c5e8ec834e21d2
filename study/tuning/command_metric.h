// The figure of merit of a run: its wall time, or a number that the command prints.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "study/measuring/command_run.h"

namespace dfsim::inline study {

class CommandMetric {
 public:
  // An empty pattern measures wall time. Error (kInvalidInput): a pattern that is not an ECMAScript
  // regular expression, or without a group.
  static StatusOr<CommandMetric> make(const std::string& pattern, bool is_rate);

  // Time per sample when each of the copies processed `samples`. The last match in each copy's
  // output counts: summaries come last. Copies run side by side, so times divide by their number
  // and rates add up. Error (kInvalidInput): no match, or no number above 0.
  StatusOr<double> cost(const CommandRun& run, double samples) const;

 private:
  StatusOr<double> number_in(const std::string& output) const;

  struct Pattern;
  std::shared_ptr<const Pattern> pattern_;  // none: wall time
  std::string text_;
  bool is_rate_ = false;
};

}  // namespace dfsim::inline study
