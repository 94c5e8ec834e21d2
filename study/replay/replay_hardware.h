// A recorded run on other hardware: device work gets the times it would take there.
//
// Best first: the target's cost model, from the operator's recorded shapes; the ratio of the two
// devices' rooflines for the operator's own work; the ratio of their peaks or bandwidths by what
// the kernel's name says it does. Whatever cannot be told stays as measured, and is counted so.
// Work on the host stays as measured, except in traces of the host alone, whose operators are
// re-predicted.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "opmodel/cost_model.h"
#include "study/replay/replay_graph.h"

namespace dfsim::inline study {

// Where the time of a piece in a replay comes from.
enum class PieceSource : uint8_t {
  kMeasured,      // as recorded
  kPredicted,     // the target's cost model, from the operator's shapes
  kExtrapolated,  // the same outside the model's training range
  kOpRatio,       // measured x ratio of the speed-of-light bounds of the operator's work
  kDeviceRatio,   // measured x ratio of peaks (matrix kernels) or memory bandwidths (others)
  kLinkRatio,     // measured x ratio of the links' bandwidths (copies from and to the host)
  kScaled,        // by a --scale rule
};
inline constexpr int kPieceSourceCount = static_cast<int>(PieceSource::kScaled) + 1;
std::string_view piece_source_name(PieceSource source);

struct OtherHardware {
  const Platform& platform;        // its first device runs what the trace's devices ran
  const CostModel& costs;          // of that platform
  const Platform* from = nullptr;  // what was recorded on; null = not known: no ratios
};

// Changes times of pieces; returns each piece's source. Error: the cost model's.
StatusOr<std::vector<PieceSource>> move_to_hardware(const Trace& trace, const OtherHardware& other,
                                                    ReplayGraph* graph);

// The operator of a span for cost models, or nothing when its operands are not recorded.
std::optional<OpDescriptor> describe_for_costs(const Trace& trace, SpanId op);

// What a kernel does by its name: matrix units, or memory.
bool is_matrix_kernel(std::string_view name);

}  // namespace dfsim::inline study
