// Views of replays: text and JSON.
#pragma once

#include <string>
#include <string_view>

#include "study/replay/replay_report.h"

namespace dfsim::inline report {

inline constexpr std::string_view kReplaySchema = "dfsim.replay/1";
std::string replay_text(const ReplayReport& report, size_t top);
// `timeline` adds the spans of the measured and the replayed run (columns of equal length).
std::string replay_json(const ReplayReport& report, const Trace* measured, const Trace* replayed);

}  // namespace dfsim::inline report
