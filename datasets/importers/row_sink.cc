#include "datasets/importers/row_sink.h"

#include <fmt/format.h>

#include <cmath>

namespace dfsim::inline datasets {
namespace {

// Ten days: no operator takes that long, so the unit must be wrong.
constexpr double kLongestNs = 864e12;

}  // namespace

std::optional<DropReason> time_problem(double time_ns) {
  if (!std::isfinite(time_ns)) {
    return DropReason::kNotANumber;
  }
  if (time_ns < 0) {
    return DropReason::kNegative;
  }
  if (time_ns < 0.5) {
    return DropReason::kZero;
  }
  if (time_ns > kLongestNs) {
    return DropReason::kMalformed;
  }
  return std::nullopt;
}

void RowSink::add(ProfileRow row, int64_t line, double time_ns, double spread_ns) {
  if (const auto problem = time_problem(time_ns)) {
    drop(line, *problem, fmt::format("time is {} ns, expected over 0 and under 10 days", time_ns));
    return;
  }
  row.time_ns = std::llround(time_ns);
  row.spread_ns = spread_ns >= 0 && spread_ns < kLongestNs ? std::llround(spread_ns) : -1;
  row.source_row = static_cast<uint32_t>(line);
  profile_.add(row);
  ++added_;
}

void RowSink::drop(int64_t line, DropReason reason, std::string message) {
  ++dropped_;
  drops_->add(file_, line, reason, std::move(message));
}

void set_origin(Profile& profile, const ProfileImportOptions& options, std::string_view device,
                std::string_view runtime, std::string_view version, ProfileRow* row) {
  const auto pick = [&profile](const std::string& chosen, std::string_view own) {
    return profile.intern(chosen.empty() ? own : std::string_view(chosen));
  };
  row->device = pick(options.device, device);
  row->runtime = pick(options.runtime, runtime);
  row->runtime_version = pick(options.runtime_version, version);
  if (!options.network.empty()) {
    row->network = profile.intern(options.network);
  }
  if (options.batch > 0) {
    row->batch = options.batch;
  }
}

}  // namespace dfsim::inline datasets
