// The Python module dfsim._native._dfsim: the use cases of study/ as functions that take a dict of
// options and give JSON or a small object. The package around it (python/dfsim) has the names,
// defaults and documentation that people see.
//
// Options are written through tables of names, as on the command line: an unknown name is a
// TypeError with the nearest valid one. All work is done without the interpreter's lock. Progress
// is reported with the lock held, and there a pending signal (Ctrl-C) ends the work.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "hardware/platform_loader.h"
#include "report/html/html_page.h"
#include "report/measurements/evaluation_views.h"
#include "report/measurements/training_views.h"
#include "report/predictions/comparison_views.h"
#include "report/predictions/partitioning_views.h"
#include "report/predictions/prediction_views.h"
#include "report/predictions/roofline_views.h"
#include "report/predictions/sweep_views.h"
#include "report/recordings/analysis_views.h"
#include "report/trace/trace_file.h"
#include "schedulers/registry.h"
#include "study/chain/machine_source.h"
#include "study/comparison/compare.h"
#include "study/partitioning/partition.h"
#include "study/prediction/predict.h"
#include "study/recorded/analyze.h"
#include "study/roofline/study_roofline.h"
#include "study/sweep/sweep.h"
#include "study/sweep/sweep_file.h"
#include "study/sweep/sweep_report.h"
#include "study/training/evaluate.h"
#include "study/training/train.h"

namespace nb = nanobind;

namespace dfsim::python {
namespace {

// A Status on its way to Python.
struct StatusError : std::exception {
  explicit StatusError(Status error) : status(std::move(error)) {}
  const char* what() const noexcept override { return status.message().c_str(); }

  Status status;
};

void raise_status(const std::exception_ptr& error, void* /*payload*/) {
  try {
    std::rethrow_exception(error);
  } catch (const StatusError& caught) {
    const char* name = "FailedError";
    switch (caught.status.code()) {
      case StatusCode::kInvalidInput:
        name = "InvalidInputError";
        break;
      case StatusCode::kNotFound:
        name = "NotFoundError";
        break;
      case StatusCode::kUnsupported:
        name = "UnsupportedError";
        break;
      default:
        break;
    }
    const nb::object type = nb::module_::import_("dfsim._errors").attr(name);
    PyErr_SetString(type.ptr(), caught.what());
  }
}

void check(Status status) {
  if (!status.ok()) {
    throw StatusError(std::move(status));
  }
}

template <typename T>
T value_or_throw(StatusOr<T> result) {
  if (!result.ok()) {
    throw StatusError(result.status());
  }
  return std::move(result).value();
}

// Options by name, each with the variable that takes it.
class OptionNames {
 public:
  template <typename T>
  OptionNames& add(const char* name, T* target) {
    setters_[name] = [target, name](nb::handle value) {
      try {
        *target = nb::cast<T>(value);
      } catch (const nb::cast_error&) {
        const std::string type = nb::cast<std::string>(nb::str(value.type().attr("__name__")));
        throw nb::type_error(
            (std::string(name) + ": found a value of type " + type + ", expected " + expected<T>())
                .c_str());
      }
    };
    return *this;
  }

  void read(const nb::dict& options) const {
    for (const auto& [key, value] : options) {
      const auto name = nb::cast<std::string>(key);
      const auto setter = setters_.find(name);
      if (setter == setters_.end()) {
        std::vector<std::string> names;
        for (const auto& entry : setters_) {
          names.push_back(entry.first);
        }
        throw nb::type_error(unknown_name_message("option", name, names).c_str());
      }
      if (!value.is_none()) {
        setter->second(value);
      }
    }
  }

 private:
  template <typename T>
  static std::string expected() {
    if constexpr (std::is_same_v<T, bool>) {
      return "True or False";
    } else if constexpr (std::is_integral_v<T>) {
      return std::is_signed_v<T> ? "a whole number" : "a whole number from 0 on";
    } else if constexpr (std::is_floating_point_v<T>) {
      return "a number";
    } else if constexpr (std::is_same_v<T, std::string>) {
      return "a text";
    } else {
      return "a list";
    }
  }

  std::map<std::string, std::function<void(nb::handle)>> setters_;
};

void add_model(ModelOptions* model, OptionNames* names) {
  names->add("model", &model->path)
      .add("batch", &model->batch)
      .add("dims", &model->dims)
      .add("input_shapes", &model->input_shapes)
      .add("trip_counts", &model->trip_counts)
      .add("branch", &model->branch)
      .add("signature", &model->signature)
      .add("precision", &model->precision)
      .add("strict", &model->strict);
}

void add_training(TrainingChoice* training, OptionNames* names) {
  names->add("mode", &training->mode)
      .add("optimizer", &training->optimizer)
      .add("recompute", &training->recompute);
}

void check_training(const TrainingChoice& training) {
  if (training.mode != "infer" && training.mode != "train") {
    throw StatusError(
        invalid_input(unknown_name_message("mode", training.mode, {"infer", "train"})));
  }
}

// Calls the user's function, if any, and looks for signals. The first exception ends the work and
// is raised again by finish().
class PythonProgress {
 public:
  explicit PythonProgress(nb::object callback) : callback_(std::move(callback)) {}

  Progress callbacks() {
    Progress progress;
    progress.on_stage = [this](const std::string& step) { return call("stage", step); };
    progress.on_note = [this](const std::string& line) { (void)call("note", line); };
    return progress;
  }

  // Keeps an exception of the user's code, with the lock; the first one counts.
  Status keep(nb::python_error& error) {
    if (!error_.has_value()) {
      error_.emplace(std::move(error));
    }
    return failed("cancelled");
  }

  // With the lock: what a callback or a signal raised comes before the status that it caused.
  void finish() {
    if (error_.has_value()) {
      throw nb::python_error(*error_);
    }
  }

 private:
  Status call(const char* kind, const std::string& text) {
    const nb::gil_scoped_acquire lock;
    if (error_.has_value()) {
      return failed("cancelled");
    }
    try {
      if (PyErr_CheckSignals() != 0) {
        nb::raise_python_error();
      }
      if (!callback_.is_none()) {
        callback_(kind, text);
      }
      return ok_status();
    } catch (nb::python_error& error) {
      return keep(error);
    }
  }

  nb::object callback_;
  std::optional<nb::python_error> error_;
};

// A function of the user that gives the times of operators: predict_ops(ops, device) -> times in
// microseconds. It is called with the lock, once for all distinct operators of a graph and device.
class PythonCostModel final : public CostModel {
 public:
  PythonCostModel(nb::object function, PythonProgress& progress)
      : function_(std::move(function)), progress_(progress) {}

  std::string_view name() const override { return "python"; }

  Status predict(std::span<const OpDescriptor> ops, const DeviceSpec& device,
                 std::span<OpCost> out) const override {
    const nb::gil_scoped_acquire lock;
    try {
      nb::list descriptors;
      for (const OpDescriptor& op : ops) {
        descriptors.append(descriptor(op));
      }
      nb::dict where;
      where["name"] = device.name;
      where["model"] = device.model;
      where["type"] = std::string(device_type_name(device.type));
      where["memory_bytes_per_s"] = device.memory_bytes_per_s;
      return set_times(function_(descriptors, where), out);
    } catch (nb::python_error& error) {
      return progress_.keep(error);
    }
  }

 private:
  static nb::dict descriptor(const OpDescriptor& op) {
    nb::dict entry;
    entry["op_type"] = op.op_type;
    entry["op_class"] = std::string(op_class_name(op.op_class));
    entry["dtype"] = std::string(dtype_name(op.dtype));
    entry["macs"] = op.work.macs;
    entry["flops"] = op.work.flops;
    entry["bytes_read"] = op.work.bytes_read;
    entry["bytes_written"] = op.work.bytes_written;
    entry["input_shapes"] = op.input_extents;
    entry["output_shapes"] = op.output_extents;
    entry["attributes"] = op.attributes;
    return entry;
  }

  static Status set_times(const nb::object& times, std::span<OpCost> out) {
    const size_t count = nb::len(times);
    if (count != out.size()) {
      return invalid_input("predict_ops: found " + std::to_string(count) + " times, expected " +
                           std::to_string(out.size()) + ", one per operator");
    }
    size_t i = 0;
    for (const nb::handle time : times) {
      const double us = nb::cast<double>(nb::float_(time));
      if (!(us >= 0 && us < kMostMicroseconds)) {
        return invalid_input("predict_ops: the time of operator " + std::to_string(i) + " is " +
                             std::to_string(us) + ", expected microseconds from 0 on");
      }
      OpCost& cost = out[i++];
      cost.time_ns = cost.low_ns = cost.high_ns = ns_from_seconds(us * 1e-6);
      cost.source = CostSource::kPredicted;
    }
    return ok_status();
  }

  static constexpr double kMostMicroseconds = 1e15;

  nb::object function_;
  PythonProgress& progress_;
};

// Runs `work`, which takes a Progress, without the interpreter's lock.
template <typename Work>
auto run_unlocked(PythonProgress& progress, const Work& work) {
  std::optional<decltype(work(Progress()))> result;
  {
    const nb::gil_scoped_release unlocked;
    result.emplace(work(progress.callbacks()));
  }
  progress.finish();
  return value_or_throw(std::move(*result));
}

template <typename Work>
auto run(const nb::object& callback, const Work& work) {
  PythonProgress progress(callback);
  return run_unlocked(progress, work);
}

PredictOptions predict_options(const nb::dict& options) {
  PredictOptions o;
  std::string trace;
  OptionNames names;
  add_model(&o.model, &names);
  add_training(&o.training, &names);
  names.add("hardware", &o.hardware)
      .add("runtime", &o.runtime)
      .add("policy", &o.policy)
      .add("cost_model", &o.cost_model)
      .add("requests", &o.requests)
      .add("in_flight", &o.pipeline.in_flight)
      .add("rate", &o.pipeline.requests_per_s)
      .add("arrivals", &o.arrivals)
      .add("repeat", &o.repeat)
      .add("seed", &o.seed)
      .add("advice", &o.advice)
      .add("trace", &trace);
  names.read(options);
  check_training(o.training);
  o.record = trace_recorder(trace);
  return o;
}

// Columns by name, one entry per operator in order of start.
nb::dict prediction_ops(const Prediction& prediction) {
  const auto column = [&](const auto& cell) {
    nb::list list;
    for (const PredictedOp& op : prediction.ops) {
      list.append(nb::cast(cell(op)));
    }
    return list;
  };
  using Op = PredictedOp;
  nb::dict ops;
  ops["name"] = column([](const Op& op) { return op.name; });
  ops["op_type"] = column([](const Op& op) { return op.op_type; });
  ops["op_class"] = column([](const Op& op) { return std::string(op_class_name(op.op_class)); });
  ops["device"] = column([](const Op& op) { return op.device; });
  ops["start_ns"] = column([](const Op& op) { return op.start_ns; });
  ops["duration_ns"] = column([](const Op& op) { return op.duration_ns; });
  ops["macs"] = column([](const Op& op) { return op.macs; });
  ops["flops"] = column([](const Op& op) { return op.flops; });
  ops["bytes"] = column([](const Op& op) { return op.bytes; });
  ops["dtype"] = column([](const Op& op) { return std::string(dtype_name(op.dtype)); });
  ops["bound"] = column([](const Op& op) { return std::string(bound_name(op.bound)); });
  ops["source"] = column([](const Op& op) { return std::string(cost_source_name(op.source)); });
  ops["critical"] = column([](const Op& op) { return op.critical; });
  ops["output_shape"] = column([](const Op& op) { return op.shape; });
  return ops;
}

void bind_prediction(nb::module_& module) {
  nb::class_<Prediction>(module, "Prediction")
      .def_ro("model", &Prediction::model)
      .def_ro("hardware", &Prediction::hardware)
      .def_ro("runtime", &Prediction::runtime)
      .def_ro("cost_model", &Prediction::cost_model)
      .def_ro("batch", &Prediction::batch)
      .def_ro("latency_ns", &Prediction::latency_ns)
      .def_prop_ro(
          "interval_ns",
          [](const Prediction& p) { return std::pair(p.interval.low_ns, p.interval.high_ns); })
      .def_ro("throughput_per_s", &Prediction::throughput_per_s)
      .def_ro("peak_memory_bytes", &Prediction::peak_memory_bytes)
      .def_ro("device_memory_bytes", &Prediction::memory_bytes)
      .def_ro("weight_bytes", &Prediction::weight_bytes)
      .def_ro("macs", &Prediction::macs)
      .def_ro("flops", &Prediction::flops)
      .def_ro("parameters", &Prediction::parameters)
      .def_ro("notes", &Prediction::notes)
      .def("ops", &prediction_ops)
      .def("to_json", [](const Prediction& p) { return prediction_json(p); })
      .def(
          "text", [](const Prediction& p, size_t top) { return summary_text(p, top, 80); },
          nb::arg("top"));
  module.def(
      "predict",
      [](const nb::dict& options, const nb::object& progress) {
        const PredictOptions o = predict_options(options);
        return run(progress, [&](const Progress& callbacks) { return predict(o, callbacks); });
      },
      nb::arg("options"), nb::arg("progress").none());
  module.def(
      "predict_with_costs",
      [](const nb::dict& options, const nb::object& progress, const nb::object& predict_ops) {
        const PredictOptions o = predict_options(options);
        PythonProgress kept(progress);
        const PythonCostModel costs(predict_ops, kept);
        return run_unlocked(kept, [&](const Progress& callbacks) {
          return predict_with_costs(o, costs, callbacks);
        });
      },
      nb::arg("options"), nb::arg("progress").none(), nb::arg("predict_ops"));
}

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
