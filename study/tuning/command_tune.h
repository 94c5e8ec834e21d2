// Tunes a command unknown to dfsim: runs it under settings of its environment, copies,
// placement and placeholders, and finds the one with the least time per sample.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "study/progress.h"
#include "study/tuning/command_knobs.h"

namespace dfsim::inline study {

struct CommandTuneOptions {
  std::vector<std::string> command;  // with {placeholders}
  std::vector<std::string> vary;     // "NAME=A,B,..."
  // A regular expression with one group, a number that the command prints: "" = wall time.
  std::string time_metric;  // seconds, or any unit of time; less is better
  std::string rate_metric;  // samples per second; more is better. At most one of the two
  bool fixed_work = false;  // a run does the same work at every {batch}
  double limit_s = 300;     // of a run
  size_t budget = 0;        // runs; 0 = a tenth of those of an exhaustive search
  size_t warm_ups = 1;      // first runs that do not count
  int threads = 0;          // processors to use at most; 0 = all that this process may use
};

// The runs of one setting that worked.
struct CommandMeasured {
  size_t setting = 0;  // index in the space
  std::vector<double> costs;
  double cpu_share = 0;  // processor seconds per wall second, mean
  CounterSums counters;  // of the last run
  std::string failure;   // "" = it works
};

struct CommandTuneResult {
  CommandSpace space;
  std::vector<CommandMeasured> measured;  // in the order of their first runs
  size_t best = 0;                        // indices in `measured`; the default is 0
  double noise = 0;                       // standard deviation of a run over its mean
  size_t search_runs = 0;
  size_t comparison_runs = 0;  // of the best and the default in turns, after the search
  size_t warm_ups = 0;
  size_t repeats = 1;  // of each setting that an exhaustive search would need in this noise
  double ratio = 1;    // of throughput: best over default, in the comparison
  double ratio_low = 1;
  double ratio_high = 1;  // 95 % interval
  bool decided = false;   // the interval does not hold 1
  std::string no_counters;
  std::string unit;  // of costs: "s per sample", "s per run", "the metric per sample"

  size_t runs() const { return search_runs + comparison_runs + warm_ups; }
  size_t exhaustive_runs() const { return space.settings.size() * repeats; }
};

// Runs one setting at a time. Deterministic but for the times themselves. Errors: kNotFound (no
// such program), kInvalidInput (options; the command fails, prints no metric, or takes longer than
// the limit under its default setting); Progress's.
StatusOr<CommandTuneResult> tune_command(const CommandTuneOptions& options,
                                         const Progress& progress = {});

}  // namespace dfsim::inline study
