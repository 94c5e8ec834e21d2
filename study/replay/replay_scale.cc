// --scale: which pieces a rule is about.
#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "base/name_pattern.h"
#include "base/text.h"
#include "study/replay/replay.h"

namespace dfsim::inline study {
namespace {

constexpr double kMostFactor = 1e6;

bool is_host_piece(PieceKind kind) {
  return kind == PieceKind::kOp || kind == PieceKind::kCall || kind == PieceKind::kGap;
}

// Whether `what` names a group of kinds; `fits` then says whether the piece is in it.
bool names_kinds(std::string_view what, PieceKind kind, bool* fits) {
  if (what == "host") {
    *fits = is_host_piece(kind);
  } else if (what == "device") {
    *fits = is_device_piece(kind) && kind != PieceKind::kQueueGap;
  } else if (what == "compute") {
    *fits = kind == PieceKind::kKernel || kind == PieceKind::kMemset;
  } else {
    for (int k = 0; k < kPieceKindCount; ++k) {
      if (what == piece_kind_name(static_cast<PieceKind>(k))) {
        *fits = kind == static_cast<PieceKind>(k);
        return true;
      }
    }
    return false;
  }
  return true;
}

bool name_fits(const Trace& trace, SpanId id, std::string_view pattern) {
  for (SpanId at = id; at.valid(); at = trace.span(at).op) {
    if (matches_pattern(trace.text(trace.span(at).name), pattern)) {
      return true;
    }
  }
  return false;
}

}  // namespace

StatusOr<ScaleRule> parse_scale_rule(std::string_view text) {
  const size_t equals = text.rfind('=');
  ScaleRule rule;
  if (equals != std::string_view::npos) {
    rule.what = std::string(text.substr(0, equals));
    const std::string_view number = text.substr(equals + 1);
    const auto [end, error] =
        std::from_chars(number.data(), number.data() + number.size(), rule.factor);
    if (error == std::errc() && end == number.data() + number.size() && !rule.what.empty() &&
        rule.factor >= 0 && rule.factor <= kMostFactor) {
      return rule;
    }
  }
  return invalid_input(fmt::format(
      "--scale: found '{}', expected WHAT=FACTOR with a factor from 0 to 1e6, as in kernel=0.5 or "
      "'aten::*mm=0.5'",
      printable(text)));
}

int64_t apply_scale(const Trace& trace, const ScaleRule& rule, ReplayGraph* graph,
                    std::vector<bool>* scaled) {
  int64_t count = 0;
  const auto times = [&rule](TimeNs time_ns) {
    return ns_from_seconds(static_cast<double>(time_ns) / kNsPerSecond * rule.factor);
  };
  for (size_t p = 0; p < graph->pieces.size(); ++p) {
    Piece& piece = graph->pieces[p];
    bool fits = false;
    if (!names_kinds(rule.what, piece.kind, &fits)) {
      fits = piece.span.valid() && name_fits(trace, piece.span, rule.what);
    }
    if (fits) {
      piece.time_ns = times(piece.time_ns);
      piece.low_ns = times(piece.low_ns);
      piece.high_ns = times(piece.high_ns);
      ++count;
      if (scaled != nullptr) {
        (*scaled)[p] = true;
      }
    }
  }
  return count;
}

}  // namespace dfsim::inline study
