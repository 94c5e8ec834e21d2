// dfsim evaluate: how far a cost model is from measured operator times.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "base/io/file.h"
#include "base/text.h"
#include "base/text_table.h"
#include "base/units.h"
#include "cli/commands.h"
#include "cli/profile_inputs.h"
#include "hardware/platform_loader.h"
#include "opmodel/model/model_loader.h"
#include "opmodel/train/evaluation.h"
#include "report/collective_evaluation.h"

namespace dfsim::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  ProfileInputs inputs;
  std::string model;
  std::string group_by = "op";
  bool no_lookup = false;
  bool json = false;
  std::string output = "-";
  std::string rows;
  std::string collectives;
  std::string hardware;
  bool fit = false;
};

std::string percent(double fraction) { return fmt::format("{:.2f}", fraction * 100); }

void add_row(TextTable& table, const std::string& op, std::string_view seen,
             const EvaluationCell& cell) {
  table.add_row({op, std::string(seen), std::to_string(cell.n),
                 fmt::format("{:.0f}", cell.coverage * 100), percent(cell.model.mape),
                 percent(cell.model.median), percent(cell.model.p90), percent(cell.model.bias),
                 fmt::format("{:.0f}", cell.model.interval * 100), percent(cell.baseline.mape)});
}

void add_group(TextTable& table, const EvaluationGroup& group) {
  for (size_t i = 0; i < group.by_seen.size(); ++i) {
    if (group.by_seen[i].n > 0) {
      add_row(table, group.op, seen_name(static_cast<Seen>(i)), group.by_seen[i]);
    }
  }
}

std::string network_table(const Evaluation& evaluation) {
  TextTable table({{"device"},
                   {"network"},
                   {"batch", Align::kRight},
                   {"ops", Align::kRight},
                   {"measured", Align::kRight},
                   {"predicted", Align::kRight},
                   {"error %", Align::kRight}});
  for (const NetworkTotal& total : evaluation.networks) {
    table.add_row({total.device, total.network, std::to_string(total.batch),
                   std::to_string(total.ops),
                   format_time(ns_from_seconds(total.measured_us * 1e-6)),
                   format_time(ns_from_seconds(total.predicted_us * 1e-6)),
                   fmt::format("{:+.2f}", total.error() * 100)});
  }
  return fmt::format("{}Mean absolute error of the totals: {} %\n", table.render(100),
                     percent(evaluation.mean_network_error));
}

TextTable errors_table() {
  return TextTable({{"op"},
                    {"split"},
                    {"n", Align::kRight},
                    {"cover %", Align::kRight},
                    {"MAPE %", Align::kRight},
                    {"median", Align::kRight},
                    {"p90", Align::kRight},
                    {"bias", Align::kRight},
                    {"in 80 %", Align::kRight},
                    {"bound", Align::kRight}});
}

std::string text_of(const Options& options, const Evaluation& evaluation) {
  std::vector<std::pair<std::string, TextTable>> devices;
  for (const EvaluationGroup& group : evaluation.groups) {
    if (devices.empty() || devices.back().first != group.device) {
      devices.emplace_back(group.device, errors_table());
    }
    add_group(devices.back().second, group);
  }
  devices.emplace_back("all devices", errors_table());
  add_group(devices.back().second, evaluation.overall);
  add_row(devices.back().second, "all", "all", evaluation.overall.all);
  std::string text;
  for (const auto& [device, table] : devices) {
    text += fmt::format("{}\n\n{}\n", device, table.render(100));
  }
  text +=
      "MAPE, median, p90 of |prediction/measurement - 1|; bias: sum of predictions over sum of "
      "times - 1; cover: answered by a measured shape or a trained class; bound: MAPE of bound x "
      "constant\n";
  if (evaluation.drops.total() > 0) {
    text += fmt::format("Left out, faster than half of their bound: {} rows\n{}",
                        evaluation.drops.total(), first_drops(evaluation.drops));
  }
  if (!evaluation.networks.empty() || options.group_by == "network") {
    text += "\n" + network_table(evaluation);
  }
  return text;
}

Json cell_json(const EvaluationCell& cell) {
  return {{"n", cell.n},
          {"coverage", cell.coverage},
          {"mape", cell.model.mape},
          {"median", cell.model.median},
          {"p90", cell.model.p90},
          {"bias", cell.model.bias},
          {"interval", cell.model.interval},
          {"baseline",
           {{"mape", cell.baseline.mape},
            {"median", cell.baseline.median},
            {"p90", cell.baseline.p90},
            {"bias", cell.baseline.bias}}}};
}

Json group_json(const EvaluationGroup& group) {
  Json json = {{"device", group.device}, {"op", group.op}};
  json.update(cell_json(group.all));
  Json splits = Json::object();
  for (size_t i = 0; i < group.by_seen.size(); ++i) {
    if (group.by_seen[i].n > 0) {
      splits[std::string(seen_name(static_cast<Seen>(i)))] = cell_json(group.by_seen[i]);
    }
  }
  json["splits"] = splits;
  return json;
}

std::string json_of(const Evaluation& evaluation, std::string_view model) {
  Json groups = Json::array();
  for (const EvaluationGroup& group : evaluation.groups) {
    groups.push_back(group_json(group));
  }
  Json networks = Json::array();
  for (const NetworkTotal& total : evaluation.networks) {
    networks.push_back({{"device", total.device},
                        {"network", total.network},
                        {"batch", total.batch},
                        {"ops", total.ops},
                        {"measured_ns", std::llround(total.measured_us * 1000)},
                        {"predicted_ns", std::llround(total.predicted_us * 1000)},
                        {"error", total.error()}});
  }
  const Json json = {{"schema", "dfsim.evaluate/1"},
                     {"model", model},
                     {"groups", groups},
                     {"overall", group_json(evaluation.overall)},
                     {"networks", networks},
                     {"mean_network_error", evaluation.mean_network_error},
                     {"rows_impossible", evaluation.drops.total()}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string rows_csv(const Evaluation& evaluation) {
  std::string text = "device,op_type,kind,output_elements,measured_us,predicted_us,split\n";
  for (const EvaluatedRow& row : evaluation.rows) {
    text += fmt::format("{},{},{},{:.0f},{:.3f},{:.3f},{}\n", csv_field(row.device),
                        csv_field(row.op_type), csv_field(row.kind), row.output_elements,
                        row.measured_us, row.predicted_us, seen_name(row.seen));
  }
  return text;
}

Status run_collectives(const Options& options) {
  DFSIM_ASSIGN_OR_RETURN(const Platform platform, load_platform(options.hardware));
  DFSIM_ASSIGN_OR_RETURN(const CollectiveEvaluation evaluation,
                         evaluate_collectives(options.collectives, platform, options.fit));
  return write_file(options.output, options.json
                                        ? collective_evaluation_json(evaluation)
                                        : fit_lines(collective_evaluation_text(evaluation)));
}

Status run(const Options& options) {
  if (!options.collectives.empty()) {
    return run_collectives(options);
  }
  if (options.model.empty() || options.inputs.files.empty()) {
    return invalid_input(
        "evaluate: nothing to be judged; expected --model and --profiles, or --collectives and "
        "--hw");
  }
  DFSIM_ASSIGN_OR_RETURN(const std::unique_ptr<TrainedModel> model,
                         load_trained_model(options.model));
  DFSIM_ASSIGN_OR_RETURN(const LoadedProfiles loaded, load_profiles(options.inputs));
  EvaluateOptions evaluate;
  evaluate.device = options.inputs.device;
  evaluate.use_lookup = !options.no_lookup;
  evaluate.keep_rows = !options.rows.empty();
  DFSIM_ASSIGN_OR_RETURN(const Evaluation evaluation,
                         evaluate_model(*model, loaded.profile, evaluate));
  if (!options.rows.empty()) {
    DFSIM_RETURN_IF_ERROR(write_file(options.rows, rows_csv(evaluation)));
  }
  return write_file(options.output, options.json ? json_of(evaluation, model->name())
                                                 : fit_lines(text_of(options, evaluation)));
}

}  // namespace

void register_evaluate(Registrar& registrar) {
  CLI::App* command = registrar.app().add_subcommand(
      "evaluate", "How far a cost model is from measured operator times");
  auto options = std::make_shared<Options>();
  command
      ->add_option("--model", options->model,
                   "Folder that dfsim train wrote, or the name of a model that ships")
      ->option_text("DIR|NAME");
  options->inputs.add_to(command, /*positional=*/false);
  command->get_option("--profiles")->required(false);
  command
      ->add_option("--group-by", options->group_by,
                   "op, or network for the table of whole networks even when it is empty")
      ->option_text("op|network")
      ->check(CLI::IsMember({"op", "network"}))
      ->capture_default_str();
  CLI::Option* collectives =
      command
          ->add_option(
              "--collectives", options->collectives,
              "Instead: a table of measured collectives (aiconfigurator's NCCL runs, Vidur's "
              "network profiles), or a folder of them, against those of --hw")
          ->option_text("FILE.csv|DIR");
  command
      ->add_option("--hw", options->hardware,
                   "The node whose collectives are judged: a hardware file or a built-in name")
      ->option_text("FILE|NAME")
      ->needs(collectives);
  collectives->needs("--hw");
  command
      ->add_flag("--fit", options->fit,
                 "Also find what the hardware file should say of them (`collectives:`), and judge "
                 "that")
      ->needs(collectives);
  command->add_flag("--no-lookup", options->no_lookup,
                    "Judge the trees alone: measured shapes are predicted too");
  command
      ->add_option("--rows", options->rows,
                   "Also write each row's measured and predicted time to this CSV file, which "
                   "datasets/collect/ort_cpu takes to sample where errors are large")
      ->option_text("FILE.csv");
  command->add_flag("--json", options->json, "Everything as JSON");
  command->add_option("-o,--output", options->output, "Where the result goes; - is stdout")
      ->option_text("FILE");
  registrar.on_run(command, [options] { return run(*options); });
}

}  // namespace dfsim::cli
