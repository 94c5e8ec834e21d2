// Text and JSON of a training: a line per part with held-out errors, and what was left out.
#include "report/measurements/training_views.h"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>

#include "base/json/json_tree.h"
#include "base/text.h"
#include "base/text_table.h"
#include "base/units.h"
#include "report/text_parts.h"

namespace dfsim::inline report {
namespace {

using Json = JsonTree;

std::string part_name(const ModelPart& part) {
  return fmt::format("{} {}", op_class_name(part.op_class), part.kind);
}

std::string short_timing(TimingKind timing) {
  const std::string_view name = timing_kind_name(timing);
  return std::string(name.substr(0, name.find('-')));
}

std::string top_features(const ModelPart& part, size_t count) {
  std::string text;
  for (size_t i = 0; i < std::min(count, part.importance.size()); ++i) {
    text += fmt::format("{}{} {:.0f} %", i == 0 ? "" : ", ", part.importance[i].first,
                        part.importance[i].second * 100);
  }
  return text.empty() ? "-" : text;
}

// 0: of the model that was extended, which training left alone.
std::string seconds_of_part(double seconds) {
  return seconds > 0 ? fmt::format("{:.1f}", seconds) : "kept";
}

std::string recording_line(const std::string& part, const RecordingEffect& effect) {
  const std::string difference = effect.log_effect == 0
                                     ? "the reference"
                                     : fmt::format("{} % slower than the reference",
                                                   percent_number(std::exp(effect.log_effect) - 1));
  return fmt::format("{} on {}, {}: {}, {}{}\n", part, effect.device, effect.recording,
                     counted(effect.rows, "shape"), difference,
                     effect.throttled ? ": a throttled board, which predictions leave out" : "");
}

Json stats_json(const ErrorStats& stats) {
  return {{"n", stats.n},     {"mape", stats.mape}, {"median", stats.median},
          {"p90", stats.p90}, {"bias", stats.bias}, {"interval", stats.interval}};
}

}  // namespace

std::string training_text(const TrainResult& result) {
  const auto& [report, loaded, directory] = result;
  const ModelManifest& manifest = report.manifest;
  std::string text = fmt::format("Model '{}' in {}: {} from {} in {:.1f} s\n", manifest.name,
                                 directory, counted(manifest.parts.size(), "part"),
                                 counted(manifest.rows_used, "row"), report.seconds);
  text += fmt::format(
      "Left out: reading {}; faster than half of their bound {}; of other devices or ops "
      "{}\n",
      loaded.drops.summary(), report.drops.total(), loaded.other_devices);
  text += first_drops(report.drops);
  for (const std::string& device : report.estimated_devices) {
    text += fmt::format(
        "Device '{}' has no hardware file: its peaks were estimated from its rows\n", device);
  }
  if (report.continued) {
    text +=
        "The model to extend keeps no rows: training added to its trees instead of replacing "
        "them\n";
  }
  TextTable errors({{"part"},
                    {"timing"},
                    {"rows", Align::kRight},
                    {"trees", Align::kRight},
                    {"test", Align::kRight},
                    {"MAPE %", Align::kRight},
                    {"median", Align::kRight},
                    {"p90", Align::kRight},
                    {"bias", Align::kRight},
                    {"in80%", Align::kRight},
                    {"bound", Align::kRight},
                    {"s", Align::kRight}});
  for (size_t i = 0; i < manifest.parts.size(); ++i) {
    const ModelPart& part = manifest.parts[i];
    const ErrorStats& e = part.held_out;
    const bool tested = e.n > 0;
    const auto cell = [&](double value) {
      return tested ? percent_number(value) : std::string("-");
    };
    errors.add_row({part_name(part), short_timing(part.timing), std::to_string(part.rows),
                    std::to_string(part.rounds), std::to_string(e.n), cell(e.mape), cell(e.median),
                    cell(e.p90), cell(e.bias),
                    tested ? fmt::format("{:.0f}", e.interval * 100) : "-",
                    cell(part.held_out_baseline.mape), seconds_of_part(report.part_seconds[i])});
  }
  text +=
      "\nErrors on held-out shapes (15 % of the shapes, none of them trained on); bound: MAPE "
      "of\nbound x constant; in80%: inside their 80 % interval; s: of "
      "the processor:\n";
  text += errors.render(100);
  for (const ModelPart& part : manifest.parts) {
    for (const auto& [device, end_us] : part.drifts) {
      text += fmt::format(
          "{} on {}: times grew by {} in the order of measurement; dfsim subtracted the growth "
          "before training and evaluating\n",
          part_name(part), device, format_time(ns_from_seconds(end_us * 1e-6)));
    }
    for (const RecordingEffect& effect : part.recordings) {
      text += recording_line(part_name(part), effect);
    }
    for (const auto& [device, errors] : part.left_out) {
      text += fmt::format("{} on {}, trained on the other devices: {} % (median {}, bias {}), {}\n",
                          part_name(part), device, percent_number(errors.mape),
                          percent_number(errors.median), percent_number(errors.bias),
                          counted(errors.n, "shape"));
    }
  }
  TextTable features({{"part"}, {"strongest features, share of the gain"}});
  for (const ModelPart& part : manifest.parts) {
    features.add_row({part_name(part), top_features(part, 4)});
  }
  return text + "\n" + features.render(100);
}

std::string training_json(const TrainResult& result) {
  const auto& [report, loaded, directory] = result;
  const ModelManifest& manifest = report.manifest;
  Json parts = Json::array();
  for (size_t i = 0; i < manifest.parts.size(); ++i) {
    const ModelPart& part = manifest.parts[i];
    Json importance = Json::array();
    for (const auto& [feature, share] : part.importance) {
      importance.push_back({{"feature", feature}, {"share", share}});
    }
    parts.push_back({{"class", op_class_name(part.op_class)},
                     {"kind", part.kind},
                     {"timing", timing_kind_name(part.timing)},
                     {"rows", part.rows},
                     {"rounds", part.rounds},
                     {"held_out", stats_json(part.held_out)},
                     {"baseline", stats_json(part.held_out_baseline)},
                     {"importance", importance},
                     {"seconds", report.part_seconds[i]}});
  }
  const Json json = {{"schema", "dfsim.train/1"},
                     {"name", manifest.name},
                     {"directory", directory},
                     {"rows_used", manifest.rows_used},
                     {"rows_dropped_reading", loaded.drops.total()},
                     {"rows_impossible", report.drops.total()},
                     {"rows_other_devices", loaded.other_devices},
                     {"estimated_devices", report.estimated_devices},
                     {"seed", manifest.seed},
                     {"xgboost", manifest.xgboost_version},
                     {"seconds", report.seconds},
                     {"parts", parts}};
  return json.text();
}

std::string first_drops(const DropReport& drops) {
  constexpr size_t kShown = 5;
  std::string text;
  for (size_t i = 0; i < std::min(drops.entries().size(), kShown); ++i) {
    const DropReport::Entry& entry = drops.entries()[i];
    text += fmt::format("  {}:{}: {}: {}\n", entry.file, entry.row, drop_reason_name(entry.reason),
                        printable(entry.message, 200));
  }
  const auto shown = static_cast<int64_t>(std::min(drops.entries().size(), kShown));
  return drops.total() > shown ? text + fmt::format("  and {} more\n", drops.total() - shown)
                               : text;
}

}  // namespace dfsim::inline report
