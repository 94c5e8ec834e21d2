// Text and JSON of partitionings: plans in order, what could not be cut, and when nothing fits,
// what is missing.
#include <fmt/format.h>

#include <algorithm>

#include "base/json/json_tree.h"
#include "base/text.h"
#include "base/text_table.h"
#include "report/predictions/partitioning_views.h"
#include "report/text_parts.h"
#include "report/unknown_work_json.h"

namespace dfsim::inline report {
namespace {

using Json = JsonTree;

constexpr size_t kMaxListed = 5;

std::string whole_percent(double share) { return fmt::format("{:.0f} %", 100 * share); }

Json plan_json(const PlanOutcome& outcome, const UnknownWork& unknown) {
  Json json;
  json["strategy"] = outcome.name;
  if (!outcome.status.ok()) {
    json["error"] = outcome.status.message();
    return json;
  }
  json["devices"] = outcome.devices;
  json["devices_per_simulated"] = outcome.stands_for;
  json["stages"] = outcome.stages;
  json["micro_batches"] = outcome.micro_batches;
  const bool complete = unknown.complete();
  const auto if_complete = [&](double figure) { return complete ? Json(figure) : Json(nullptr); };
  json["time_ms"] = if_complete(in_ms(outcome.makespan_ns));
  json["time_at_least_ms"] = complete ? Json(nullptr) : Json(in_ms(outcome.makespan_ns));
  json["is_limit"] = !complete || outcome.is_limit();
  json["bound_only_fraction"] = outcome.bound_only_share;
  json["samples_per_s"] = if_complete(outcome.samples_per_s);
  json["speedup"] = if_complete(outcome.speedup);
  json["efficiency"] = if_complete(outcome.efficiency);
  json["memory_bytes"] = outcome.memory_bytes;
  json["weight_bytes"] = outcome.resident.weights;
  if (outcome.training) {
    json["gradient_bytes"] = outcome.resident.gradients;
    json["optimizer_bytes"] = outcome.resident.optimizer;
    json["gradient_exchanges"] = outcome.gradient_exchanges;
    json["gradients_without_rule"] = outcome.gradients_without_rule;
  }
  json["activation_bytes"] = outcome.activation_bytes();
  json["capacity_bytes"] = outcome.capacity_bytes;
  json["fits"] = outcome.fits();
  json["compute_share"] = outcome.shares.compute;
  json["communication_share"] = outcome.shares.communication;
  json["host_share"] = outcome.shares.host;
  json["bubble_share"] = outcome.shares.bubble;
  json["limit"] = outcome.limit;
  json["bytes_moved"] = outcome.bytes_moved;
  json["communication_ops"] = outcome.communications;
  json["unsplittable_ops"] = outcome.unsplittable;
  json["kept_whole"] = outcome.kept_whole;
  json["replicated_ops"] = outcome.replicated_ops;
  json["replicated_flops_share"] = outcome.replicated_flops;
  json["plan"] = plan_yaml(outcome.plan);
  return json;
}

void add_row(const PlanOutcome& outcome, const UnknownWork& unknown, TextTable* table) {
  const bool complete = unknown.complete();
  table->add_row({outcome.name, std::to_string(outcome.devices),
                  std::to_string(outcome.micro_batches),
                  std::string(complete ? least_prefix(unknown, outcome.bound_only_share) : "≥ ") +
                      format_time(outcome.makespan_ns),
                  complete ? fmt::format("{}{:.4g}", most_prefix(unknown, outcome.bound_only_share),
                                         outcome.samples_per_s)
                           : "-",
                  complete ? fmt::format("{:.2f}", outcome.speedup) : "-",
                  complete ? fmt::format("{:.0f}%", 100 * outcome.efficiency) : "-",
                  format_bytes(outcome.memory_bytes), whole_percent(outcome.shares.communication),
                  whole_percent(outcome.shares.bubble),
                  !outcome.fits()                    ? "MEMORY"
                  : outcome.limit == "communication" ? "comm"
                                                     : outcome.limit});
}

// Memory of the fullest device by what it is for.
std::string memory_line(const PlanOutcome& best) {
  return fmt::format(
      "\nmemory of the best plan, fullest device: {} weights, {} gradients, {} optimiser ({}), {} "
      "activations (recomputation: {}); {} exchanges of gradients\n",
      format_bytes(best.resident.weights), format_bytes(best.resident.gradients),
      format_bytes(best.resident.optimizer), optimizer_name(best.training->options.optimizer),
      format_bytes(best.activation_bytes()), recompute_name(best.training->options.recompute),
      best.gradient_exchanges);
}

std::string notes_of(const PlanOutcome& best) {
  std::string out = best.training ? memory_line(best) : "";
  if (best.gradients_without_rule > 0) {
    out += fmt::format("{} of {} own: twice the forward arithmetic, on every device\n",
                       counted(best.gradients_without_rule, "operator has no gradient rule",
                               "operators have no gradient rule"),
                       best.gradients_without_rule == 1 ? "its" : "their");
  }
  if (best.stands_for > 1) {
    out += fmt::format("each simulated device stands for {} that do the same\n", best.stands_for);
  }
  if (!best.unsplittable.empty()) {
    out += fmt::format("\n{}:\n", counted(best.unsplittable.size(),
                                          "operator cannot be split, every device runs it",
                                          "operators cannot be split, every device runs them"));
    for (size_t i = 0; i < std::min(kMaxListed, best.unsplittable.size()); ++i) {
      out += "  " + best.unsplittable[i] + "\n";
    }
    if (best.unsplittable.size() > kMaxListed) {
      out += fmt::format("  ... and {} more\n", best.unsplittable.size() - kMaxListed);
    }
  }
  if (best.replicated_flops >= 0.005) {
    out += fmt::format("devices repeat work of others: {} more arithmetic than on one device\n",
                       whole_percent(best.replicated_flops));
  }
  return out;
}

// Extents that do not divide, once for all plans that have them.
std::string kept_whole_note(const std::vector<PlanOutcome>& plans) {
  std::vector<std::pair<std::string, std::vector<std::string>>> notes;
  for (const PlanOutcome& plan : plans) {
    for (const std::string& line : plan.kept_whole) {
      auto at = std::find_if(notes.begin(), notes.end(),
                             [&](const auto& note) { return note.first == line; });
      at = at == notes.end() ? notes.insert(at, {line, {}}) : at;
      if (std::find(at->second.begin(), at->second.end(), plan.name) == at->second.end()) {
        at->second.push_back(plan.name);
      }
    }
  }
  std::string out = notes.empty() ? "" : "\n";
  for (size_t i = 0; i < std::min(kMaxListed, notes.size()); ++i) {
    const auto& [line, names] = notes[i];
    out += fmt::format("{}{}: {}\n", names.front(),
                       names.size() > 1 ? fmt::format(" and {} more", names.size() - 1) : "", line);
  }
  if (notes.size() > kMaxListed) {
    out += fmt::format("... and {} more extents that are kept whole\n", notes.size() - kMaxListed);
  }
  return out;
}

// Suggests changes that would make the plan fit, as activations grow with the batch and what stays
// shrinks with the devices that share it.
std::string remedy(const PlanOutcome& plan, int64_t batch) {
  const Bytes stays = plan.memory_bytes - plan.activation_bytes();
  const Bytes room = plan.capacity_bytes - stays;
  if (room <= 0) {
    return fmt::format("what stays there needs {} devices like these for each one now",
                       (stays + plan.capacity_bytes - 1) / plan.capacity_bytes + 1);
  }
  const auto share = static_cast<double>(room) / static_cast<double>(plan.activation_bytes());
  const auto fitting = static_cast<int64_t>(static_cast<double>(batch) * share);
  return fitting >= 1 ? fmt::format("by this plan a batch of about {} would fit", fitting)
                      : "by this plan not even one sample would fit";
}

// Whether some plan leaves every device with memory to spare.
bool any_fits(const Partitioning& partitioning) {
  return std::ranges::any_of(
      partitioning.plans, [](const PlanOutcome& plan) { return plan.status.ok() && plan.fits(); });
}

// The plan that lacks least memory when none fits; null when one does, or when none worked.
const PlanOutcome* nearest_to_fit(const Partitioning& partitioning) {
  const PlanOutcome* nearest = nullptr;
  for (const PlanOutcome& plan : partitioning.plans) {
    if (plan.status.ok() && (nearest == nullptr || plan.memory_bytes < nearest->memory_bytes)) {
      nearest = &plan;
    }
  }
  return any_fits(partitioning) ? nullptr : nearest;
}

// The memory of that plan by what it is for, and what would make it fit.
std::string memory_note(const Partitioning& partitioning) {
  const PlanOutcome* nearest = nearest_to_fit(partitioning);
  if (nearest == nullptr) {
    return "";
  }
  return fmt::format(
      "\n'{}' comes nearest and lacks {} per device ({} of {}, {}); take {}a smaller batch, more "
      "devices, tensor or pipeline parallelism, or devices with more memory; {}\n",
      nearest->name, format_bytes(nearest->memory_bytes - nearest->capacity_bytes),
      format_bytes(nearest->memory_bytes), format_bytes(nearest->capacity_bytes),
      nearest->training
          ? fmt::format("{} of it weights, {} gradients, {} optimiser, {} activations",
                        format_bytes(nearest->resident.weights),
                        format_bytes(nearest->resident.gradients),
                        format_bytes(nearest->resident.optimizer),
                        format_bytes(nearest->activation_bytes()))
          : fmt::format("{} of it weights", format_bytes(nearest->resident.weights)),
      nearest->training ? "recomputation (--recompute full), " : "",
      remedy(*nearest, partitioning.batch));
}

}  // namespace

std::string missing_memory(const Partitioning& partitioning) {
  const PlanOutcome* nearest = nearest_to_fit(partitioning);
  return nearest == nullptr ? ""
                            : fmt::format("no plan fits: '{}' needs {} per device, which has {}",
                                          nearest->name, format_bytes(nearest->memory_bytes),
                                          format_bytes(nearest->capacity_bytes));
}

std::string partitioning_text(const Partitioning& partitioning) {
  std::string out = incomplete_line(partitioning.unknown);
  if (const std::string missing = missing_memory(partitioning); !missing.empty()) {
    out += "DOES NOT FIT: " + missing + '\n';
  }
  out += fmt::format("{} on {}: {}batch {}; runtime {}, operator times: {}, collectives: {}\n",
                     printable(partitioning.model), printable(partitioning.hardware),
                     partitioning.training
                         ? fmt::format("training with {}, ",
                                       optimizer_name(partitioning.training->options.optimizer))
                         : "",
                     partitioning.batch, printable(partitioning.runtime),
                     printable(partitioning.cost_model), partitioning.collectives);
  if (partitioning.single.is_limit()) {
    out += fmt::format("{} of the time is bound-only: times are lower limits\n",
                       percent_text(partitioning.single.bound_only_share));
  }
  TextTable table({{"strategy"},
                   {"dev", Align::kRight},
                   {"mb", Align::kRight},
                   {"time", Align::kRight},
                   {"samples/s", Align::kRight},
                   {"speed", Align::kRight},
                   {"eff", Align::kRight},
                   {"memory", Align::kRight},
                   {"comm", Align::kRight},
                   {"idle", Align::kRight},
                   {"limit"}});
  for (const PlanOutcome& plan : partitioning.plans) {
    if (plan.status.ok()) {
      add_row(plan, partitioning.unknown, &table);
    }
  }
  add_row(partitioning.single, partitioning.unknown, &table);
  out += table.render(100);
  std::string last;  // micro-batches do not make a difference
  for (const PlanOutcome& plan : partitioning.plans) {
    const std::string line =
        plan.status.ok() ? "" : fmt::format("{}: {}\n", plan.name, plan.status.message());
    out += line == last ? "" : line;
    last = line.empty() ? last : line;
  }
  out += kept_whole_note(partitioning.plans);
  out += memory_note(partitioning);
  if (partitioning.unfused_step) {
    out += fmt::format(
        "\n{} would fuse elementwise kernels of the step; partition runs each operator alone\n",
        partitioning.runtime);
  }
  const PlanOutcome* best = partitioning.best();
  if (best != nullptr && best->speedup < 1 && partitioning.unknown.complete()) {
    out += "\none device alone is faster than every plan\n";
  }
  return best == nullptr ? out : out + notes_of(*best);
}

std::string partitioning_json(const Partitioning& partitioning, const std::string& drawing) {
  Json json;
  json["schema"] = "dfsim.partition/1";
  json["complete"] = partitioning.unknown.complete();
  json["unknown_work"] = unknown_work_json(partitioning.unknown);
  json["model"] = partitioning.model;
  json["hardware"] = partitioning.hardware;
  json["mode"] = partitioning.training ? "train" : "infer";
  if (partitioning.training) {
    json["optimizer"] = optimizer_name(partitioning.training->options.optimizer);
    json["recompute"] = recompute_name(partitioning.training->options.recompute);
    json["bucket_bytes"] = partitioning.training->bucket_bytes;
    json["unfused_step"] = partitioning.unfused_step;
  }
  json["batch"] = partitioning.batch;
  json["runtime"] = partitioning.runtime;
  json["cost_model"] = partitioning.cost_model;
  json["collectives"] = partitioning.collectives;
  json["fits"] = missing_memory(partitioning).empty();
  json["best"] = partitioning.best() == nullptr ? Json(nullptr) : Json(partitioning.best()->name);
  json["single_device"] = plan_json(partitioning.single, partitioning.unknown);
  Json& plans = json["plans"] = Json::array();
  for (const PlanOutcome& plan : partitioning.plans) {
    plans.push_back(plan_json(plan, partitioning.unknown));
  }
  if (!drawing.empty()) {
    json["drawing"] = drawing;
  }
  return json.text();
}

}  // namespace dfsim::inline report
