// Finds the settings of each line and puts their measured times under the roofs of their threads.
#include "study/tuning/tune_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "study/tuning/knob_lines.h"
#include "study/tuning/ort_levels.h"

namespace dfsim::inline study {
namespace {

enum Knob : size_t { kIntra, kInter, kPinned, kLevel, kBatch, kKnobs };
constexpr std::array<const char*, kKnobs> kSwept = {"threads", "inter", "pinning", "layout",
                                                    "batch"};

KnobPlaces places_of(const TuneSetting& setting) {
  return {static_cast<size_t>(setting.intra), static_cast<size_t>(setting.inter),
          setting.pinned ? 1U : 0U, static_cast<size_t>(setting.level),
          static_cast<size_t>(setting.batch)};
}

std::string name_of(const TuneSetting& setting, Knob knob) {
  if (knob == kPinned) {
    return setting.pinned ? "pinned" : "free";
  }
  return knob == kLevel ? (setting.level == kOrtExtended ? "nchw" : "blocked") : "";
}

// "threads 4", "pinning free".
std::string value_text(const TuneSetting& setting, Knob knob) {
  const std::string name = name_of(setting, knob);
  return fmt::format("{} {}", kSwept[knob],
                     name.empty() ? std::to_string(places_of(setting)[knob]) : name);
}

std::string others_text(TuneSetting setting, Knob knob) {
  std::vector<std::string> parts;
  const auto add = [&](Knob which, std::string text) {
    if (which != knob && !text.empty()) {
      parts.push_back(std::move(text));
    }
  };
  add(kIntra, fmt::format("threads {}", setting.intra));
  add(kInter, fmt::format("inter {}", setting.inter));
  add(kPinned, setting.pinned ? "pinned" : "");
  add(kBatch, fmt::format("batch {}", setting.batch));
  return join(parts, ", ");
}

class LineMaker {
 public:
  LineMaker(const RooflineSource& source, const std::vector<TuneCandidate>& candidates, size_t best,
            double default_ms)
      : source_(source), candidates_(candidates), best_(best), default_ms_(default_ms) {}

  std::vector<TuneLine> run() const {
    std::vector<TuneLine> lines;
    for (const Knob knob : {kIntra, kInter, kPinned, kLevel, kBatch}) {
      TuneLine line = line_over(knob);
      if (!line.lines.empty() || !line.left_out.empty()) {
        lines.push_back(std::move(line));
      }
    }
    return lines;
  }

 private:
  TuneLine line_over(Knob knob) const {
    std::vector<const TuneCandidate*> measured;
    std::vector<KnobPlaces> settings;
    size_t best = 0;
    for (size_t i = 0; i < candidates_.size(); ++i) {
      const bool counts = candidates_[i].measured.has_value() &&
                          (knob != kLevel || candidates_[i].setting.level >= kOrtExtended);
      if (counts) {
        best = i == best_ ? measured.size() : best;
        measured.push_back(&candidates_[i]);
        settings.push_back(places_of(candidates_[i].setting));
      }
    }
    std::vector<const TuneCandidate*> points;
    for (const size_t i : one_knob_group(settings, knob, best)) {
      points.push_back(measured[i]);
    }
    return points.size() > 1 ? under_roofs(points, knob) : TuneLine();
  }

  TuneLine under_roofs(const std::vector<const TuneCandidate*>& points, Knob knob) const {
    TuneLine line;
    line.swept = kSwept[knob];
    line.at = others_text(points.front()->setting, knob);
    std::vector<RooflineReport> rooflines;
    SweptValues values;
    for (const TuneCandidate* point : points) {
      auto roofline = roofline_of(*point, knob);
      if (!roofline.ok()) {
        line.left_out.push_back(
            fmt::format("{}: {}", value_text(point->setting, knob), roofline.status().message()));
        continue;
      }
      rooflines.push_back(std::move(*roofline));
      values.numbers.push_back(static_cast<double>(places_of(point->setting)[knob]));
      if (const std::string name = name_of(point->setting, knob); !name.empty()) {
        values.names.push_back(name);
      }
    }
    if (rooflines.size() > 1) {
      line.lines = make_trajectories(rooflines, values,
                                     knob == kIntra   ? SweepKind::kThreads
                                     : knob == kBatch ? SweepKind::kWork
                                                      : SweepKind::kChoice);
    }
    return line;
  }

  // The model's work at the setting, in its measured time.
  StatusOr<RooflineReport> roofline_of(const TuneCandidate& candidate, Knob knob) const {
    const TuneSetting& setting = candidate.setting;
    RooflineSetting at;
    at.threads = setting.intra;
    if (knob == kBatch || source_.model.batch > 0) {
      at.sizes["batch"] = setting.batch;
    }
    if (knob == kLevel) {
      at.layout = name_of(setting, kLevel);
    }
    DFSIM_ASSIGN_OR_RETURN(RooflineReport roofline,
                           load_roofline(source_, RooflineKind::kModel, at));
    roofline.classes.clear();
    const auto first = static_cast<double>(candidates_.front().setting.batch);
    roofline.network.time_s =
        *candidate.measured * default_ms_ / 1e3 / first * static_cast<double>(setting.batch);
    roofline.network.source = CostSource::kMeasured;
    roofline.network.conversion_s = 0;  // nothing measured it
    return roofline;
  }

  const RooflineSource& source_;
  const std::vector<TuneCandidate>& candidates_;
  size_t best_;
  double default_ms_;
};

}  // namespace

std::vector<TuneLine> tune_lines(const RooflineSource& source,
                                 const std::vector<TuneCandidate>& candidates, size_t best,
                                 double default_ms) {
  return LineMaker(source, candidates, best, default_ms).run();
}

}  // namespace dfsim::inline study
