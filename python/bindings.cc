// The Python module dfsim._native._dfsim: the use cases of study/ as functions that take a dict of
// options and give JSON or a small object. The package around it (python/dfsim) has the names,
// defaults and documentation that people see.
#include "hardware/platform_loader.h"
#include "python/binding.h"
#include "report/html/html_page.h"
#include "report/measurements/evaluation_views.h"
#include "report/measurements/training_views.h"
#include "report/predictions/comparison_views.h"
#include "report/predictions/partitioning_views.h"
#include "report/predictions/roofline_views.h"
#include "report/predictions/sweep_views.h"
#include "report/recordings/analysis_views.h"
#include "schedulers/registry.h"
#include "study/chain/machine_source.h"
#include "study/comparison/compare.h"
#include "study/partitioning/partition.h"
#include "study/recorded/analyze.h"
#include "study/roofline/study_roofline.h"
#include "study/sweep/sweep.h"
#include "study/sweep/sweep_file.h"
#include "study/sweep/sweep_report.h"
#include "study/training/evaluate.h"
#include "study/training/train.h"

namespace dfsim::python {
namespace {

// JSON of the use cases that have no class of their own.
template <typename Run>
void bind_json(nb::module_& module, const char* name, const Run& make) {
  module.def(
      name,
      [make](const nb::dict& options, const nb::object& progress) {
        return make(options, progress);
      },
      nb::arg("options"), nb::arg("progress").none());
}

std::string compare_json(const nb::dict& options, const nb::object& progress) {
  CompareRequest r;
  OptionNames names;
  add_model(&r.model, &names);
  names.add("hardware", &r.machine.hardware)
      .add("processors", &r.machine.processors)
      .add("bandwidth", &r.machine.bytes_per_s)
      .add("runtime", &r.machine.runtime)
      .add("cost_model", &r.machine.cost_model)
      .add("policies", &r.policies)
      .add("iterations", &r.options.policy.iterations)
      .add("seed", &r.options.seed)
      .add("planning_time", &r.options.timing);
  names.read(options);
  r.graph = r.model.path;
  const PolicyRegistry registry;
  ComparedProblem compared =
      run(progress, [&](const Progress& callbacks) { return compare(r, registry, callbacks); });
  std::vector<Comparison> comparisons;
  comparisons.push_back(std::move(compared.comparison));
  return comparison_json(comparisons);
}

std::string partition_json(const nb::dict& options, const nb::object& progress) {
  PartitionOptions o;
  OptionNames names;
  add_model(&o.model, &names);
  add_training(&o.training, &names);
  names.add("hardware", &o.hardware)
      .add("runtime", &o.runtime)
      .add("cost_model", &o.cost_model)
      .add("strategy", &o.strategy)
      .add("devices", &o.devices)
      .add("micro_batches", &o.micro_batches)
      .add("schedule", &o.schedule)
      .add("chunks", &o.chunks)
      .add("collectives", &o.collectives)
      .add("bucket_mb", &o.bucket_mb)
      .add("nodes", &o.nodes);
  names.read(options);
  check_training(o.training);
  return partitioning_json(
      run(progress, [&](const Progress& callbacks) { return partition_model(o, callbacks); }));
}

std::string analyze_json(const nb::dict& options, const nb::object& progress) {
  AnalyzeOptions o;
  bool timeline = false;
  OptionNames names;
  names.add("traces", &o.traces).add("advice", &o.advice).add("timeline", &timeline);
  names.read(options);
  const AnalyzedTraces analyzed =
      run(progress, [&](const Progress& callbacks) { return analyze(o, callbacks); });
  return analyses_json(analyzed.analyses, analyzed.traces, timeline);
}

std::string roofline_text_json(const nb::dict& options, const nb::object& progress) {
  RooflineOptions o;
  OptionNames names;
  add_model(&o.source.model, &names);
  names.add("hardware", &o.source.hardware)
      .add("device", &o.source.device)
      .add("runtime", &o.source.runtime)
      .add("cost_model", &o.source.cost_model)
      .add("sweep", &o.sweep);
  names.read(options);
  const RooflineStudy found =
      run(progress, [&](const Progress& callbacks) { return study_roofline(o, callbacks); });
  return roofline_json(found.rooflines, found.swept, found.lines);
}

void add_profiles(ProfileInputs* inputs, OptionNames* names) {
  names->add("profiles", &inputs->files)
      .add("format", &inputs->format)
      .add("only_devices", &inputs->only_devices)
      .add("only_ops", &inputs->only_ops)
      .add("device", &inputs->device);
}

std::string train_json(const nb::dict& options, const nb::object& progress) {
  TrainRequest r;
  OptionNames names;
  add_profiles(&r.inputs, &names);
  names.add("directory", &r.directory)
      .add("name", &r.name)
      .add("extend", &r.extend)
      .add("hardware", &r.hardware)
      .add("overheads", &r.overheads)
      .add("seed", &r.seed)
      .add("threads", &r.threads)
      .add("rounds", &r.rounds)
      .add("dfsim_version", &r.dfsim_version);
  names.read(options);
  return training_json(
      run(progress, [&](const Progress& callbacks) { return train(r, callbacks); }));
}

std::string evaluate_json(const nb::dict& options, const nb::object& progress) {
  EvaluateRequest r;
  OptionNames names;
  add_profiles(&r.inputs, &names);
  names.add("model", &r.model).add("use_lookup", &r.use_lookup);
  names.read(options);
  const EvaluateResult result =
      run(progress, [&](const Progress& callbacks) { return evaluate(r, callbacks); });
  return evaluation_json(result.evaluation, result.model);
}

// A sweep's rows with what its views need.
struct SweepTable {
  SweepResult result;
  SweepReport report;
};

SweepTable run_sweep(const nb::dict& options, const nb::object& progress) {
  SweepOptions o;
  SweepConstraints constraints;
  std::string file;
  nb::dict price_dict;
  OptionNames names;
  add_model(&o.model, &names);
  names.add("file", &file)
      .add("models", &o.axes.models)
      .add("hardware", &o.axes.hardware)
      .add("runtimes", &o.axes.runtimes)
      .add("precisions", &o.axes.precisions)
      .add("modes", &o.axes.modes)
      .add("policies", &o.axes.policies)
      .add("params", &o.axes.params)
      .add("batches", &o.axes.batches)
      .add("combine", &o.combine)
      .add("optimizer", &o.training.optimizer)
      .add("recompute", &o.training.recompute)
      .add("cost_model", &o.cost_model)
      .add("seed", &o.seed)
      .add("threads", &o.threads)
      .add("journal", &o.journal)
      .add("program", &o.program)
      .add("max_latency_ms", &constraints.max_latency_ms)
      .add("max_memory_gb", &constraints.max_memory_gb)
      .add("max_price_per_hour", &constraints.max_price_per_hour)
      .add("prices", &price_dict);
  names.read(options);
  for (const auto& [name, price] : price_dict) {
    constraints.prices[nb::cast<std::string>(name)] = nb::cast<double>(price);
  }
  if (!file.empty()) {
    check(read_sweep_file(file, &o));
  }
  SweepTable table;
  table.result = run(progress, [&](const Progress& callbacks) { return sweep(o, callbacks); });
  table.report = value_or_throw(make_sweep_report(table.result, constraints));
  check(remove_journal(o));
  return table;
}

void bind_sweep(nb::module_& module) {
  nb::class_<SweepTable>(module, "SweepTable")
      .def("points", [](const SweepTable& table) { return table.result.points.size(); })
      .def("failed", [](const SweepTable& table) { return table.result.failed(); })
      .def("to_json", [](const SweepTable& t) { return sweep_json(t.result, t.report); })
      .def("to_csv",
           [](const SweepTable& t) { return sweep_csv(t.result, t.report.constraints.prices); })
      .def("to_json_lines",
           [](const SweepTable& t) {
             return sweep_json_lines(t.result, t.report.constraints.prices);
           })
      .def("text", [](const SweepTable& t) { return sweep_text(t.result, t.report, false); });
  module.def("sweep", &run_sweep, nb::arg("options"), nb::arg("progress").none());
}

nb::dict machine(const std::string& hardware, const std::string& runtime) {
  const Platform platform = value_or_throw(load_machine(hardware, runtime));
  nb::list devices;
  for (const DeviceSpec& device : platform.devices) {
    nb::dict entry;
    entry["name"] = device.name;
    entry["model"] = device.model;
    entry["type"] = std::string(device_type_name(device.type));
    entry["memory_bytes"] = device.memory_bytes;
    entry["memory_bytes_per_s"] = device.memory_bytes_per_s;
    entry["cost_model"] = device.cost_model;
    devices.append(entry);
  }
  nb::dict found;
  found["name"] = platform.name;
  found["description"] = platform.description;
  found["file"] = platform.source_file;
  found["runtime"] = platform.runtime.name;
  found["devices"] = devices;
  return found;
}

}  // namespace
}  // namespace dfsim::python

NB_MODULE(_dfsim, module) {
  using namespace dfsim::python;
  nb::register_exception_translator(raise_status);
  bind_prediction(module);
  bind_sweep(module);
  bind_json(module, "compare", compare_json);
  bind_json(module, "partition", partition_json);
  bind_json(module, "analyze", analyze_json);
  bind_json(module, "roofline", roofline_text_json);
  bind_json(module, "train", train_json);
  bind_json(module, "evaluate", evaluate_json);
  module.def("machine", &machine, nb::arg("hardware"), nb::arg("runtime"));
  module.def("machines", [] { return dfsim::builtin_platforms(); });
  module.def("runtimes", [] { return dfsim::builtin_runtimes(); });
  module.def(
      "html_page",
      [](const std::string& json) { return value_or_throw(dfsim::html_page("HTML report", json)); },
      nb::arg("json"));
  module.attr("__version__") = DFSIM_VERSION;
}
