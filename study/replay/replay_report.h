// Everything `dfsim replay` says, collected once; text and JSON are printed from it.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "study/analysis/trace_analysis.h"
#include "study/replay/replay.h"
#include "study/replay/replay_hardware.h"

namespace dfsim::inline study {

// Device work of one operator (its own host time where there is no device), or of a kernel without
// an operator.
struct ReplayOpRow {
  std::string name;
  PieceSource source = PieceSource::kMeasured;  // of the most time
  int64_t pieces = 0;
  TimeNs measured_ns = 0;
  TimeNs replayed_ns = 0;
};

struct ReplaySourceRow {
  PieceSource source = PieceSource::kMeasured;
  int64_t pieces = 0;
  TimeNs measured_ns = 0;
  TimeNs replayed_ns = 0;
};

// Work that other hardware leaves as it was measured, and why.
struct KeptWork {
  int64_t pieces = 0;
  TimeNs measured_ns = 0;
  std::string reason;
};

struct ReplayChange {
  std::string text;
  int64_t pieces = 0;
};

struct ReplayReport {
  std::string path;
  std::string format;
  std::string device_name;
  std::string hardware;  // replayed on; "" = as recorded
  std::string from;      // what the device was taken for; "" = not known
  std::string policy;    // "" = as recorded
  size_t pieces = 0;
  size_t dependencies = 0;
  int64_t launched = 0;
  int64_t unlaunched = 0;
  int64_t too_early = 0;
  TimeNs measured_ns = 0;
  ReplayRun same;           // without any change
  ReplayRun run;            // with the changes; equal to `same` without any
  ReplayInterval interval;  // of `run`
  int64_t moved = 0;        // pieces that `hardware` changed
  KeptWork kept;            // device work (operators where there is no device) that it did not
  std::vector<ReplayChange> changes;
  Breakdown measured;
  Breakdown replayed;
  std::vector<ReplaySourceRow> sources;  // of device work (operators where there is no device)
  std::vector<ReplayOpRow> ops;          // most measured time first

  double error() const {
    return measured_ns > 0
               ? static_cast<double>(same.span_ns) / static_cast<double>(measured_ns) - 1
               : 0;
  }
};

// Rows of `sources` and `ops`: the pieces as recorded and as replayed, and where each time is from.
void add_replay_rows(const Trace& trace, const ReplayGraph& recorded, const ReplayGraph& replayed,
                     const std::vector<PieceSource>& sources, ReplayReport* report);

}  // namespace dfsim::inline study
