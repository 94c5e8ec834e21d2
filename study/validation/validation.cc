// Splits the error of a run into operators, fusion and host, and sums runs up.
#include "study/validation/validation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace dfsim::inline study {
namespace {

std::string run_name(const ValidatedRun& run) {
  return fmt::format("{} batch {}{}{} on {}", run.network, run.batch, run.dims.empty() ? "" : " ",
                     run.dims, run.device);
}

double share_of(TimeNs part, TimeNs whole) {
  return static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

double ValidatedRun::error() const { return share_of(predicted_ns, measured_ns) - 1; }

double ValidatedRun::memory_error() const {
  return measured_bytes > 0
             ? static_cast<double>(predicted_bytes) / static_cast<double>(measured_bytes) - 1
             : 0;
}

bool ValidatedRun::inside() const {
  return interval.low_ns <= measured_ns && measured_ns <= interval.high_ns;
}

ErrorShares error_shares(const ValidatedRun& run) {
  ErrorShares shares;
  if (run.measured_ops_ns < 0) {
    return shares;
  }
  shares.known = true;
  shares.op_model = share_of(run.predicted_ops_ns - run.measured_ops_ns, run.measured_ns);
  shares.host = run.error() - shares.op_model;
  if (run.measured_types.empty()) {
    return shares;
  }
  shares.types_known = true;
  TimeNs other = 0;  // predicted less measured, of types that ran another number of times
  for (const auto& [name, predicted] : run.predicted_types) {
    const auto measured = run.measured_types.find(name);
    if (measured == run.measured_types.end()) {
      other += predicted.time_ns;
    } else if (measured->second.count != predicted.count) {
      other += predicted.time_ns - measured->second.time_ns;
    }
  }
  for (const auto& [name, measured] : run.measured_types) {
    if (!run.predicted_types.contains(name)) {
      other -= measured.time_ns;
    }
  }
  shares.fusion = share_of(other, run.measured_ns);
  shares.op_model -= shares.fusion;
  return shares;
}

ValidationSummary summarize(const std::vector<ValidatedRun>& runs) {
  ValidationSummary summary;
  summary.runs = static_cast<size_t>(std::ranges::count_if(runs, &ValidatedRun::complete));
  summary.incomplete = runs.size() - summary.runs;
  const auto count = static_cast<double>(summary.runs);
  std::vector<double> errors;
  std::set<std::string> networks;
  double measured = 0;
  double predicted = 0;
  for (const ValidatedRun& run : runs) {
    if (!run.complete()) {
      continue;
    }
    const double error = std::abs(run.error());
    errors.push_back(error);
    networks.insert(run.network);
    summary.mean += error / count;
    summary.inside += run.inside() ? 1 / count : 0;
    measured += static_cast<double>(run.measured_ns);
    predicted += static_cast<double>(run.predicted_ns);
    if (summary.worst_run.empty() || error > summary.worst) {
      summary.worst = error;
      summary.worst_run = run_name(run);
    }
    if (run.measured_bytes > 0) {
      ++summary.memory_runs;
      summary.memory_mean += std::abs(run.memory_error());
    }
  }
  summary.networks = networks.size();
  if (!errors.empty()) {
    std::sort(errors.begin(), errors.end());
    const size_t half = errors.size() / 2;
    summary.median = errors.size() % 2 == 1 ? errors[half] : (errors[half - 1] + errors[half]) / 2;
    summary.bias = predicted / measured - 1;
  }
  if (summary.memory_runs > 0) {
    summary.memory_mean /= static_cast<double>(summary.memory_runs);
  }
  return summary;
}

}  // namespace dfsim::inline study
