// predict(): its result as a class, and cost models written in Python.
#include "cli/study_commands.h"
#include "hardware/platform.h"
#include "opmodel/cost_model.h"
#include "python/binding.h"
#include "python/python_policy.h"
#include "report/predictions/prediction_views.h"

namespace dfsim::python {
namespace {

// A function of the user that gives the times of operators: predict_ops(ops, device) -> times in
// microseconds. It is called with the lock, once for all distinct operators of a graph and device.
class PythonCostModel final : public CostModel {
 public:
  PythonCostModel(nb::object function, PythonProgress& progress)
      : function_(std::move(function)), progress_(progress) {}

  std::string_view name() const override { return "python"; }

  Status predict(std::span<const OpDescriptor> ops, const DeviceSpec& device,
                 std::span<OpCost> out) const override {
    if (ops.empty()) {
      return ok_status();  // a device without work; functions need not know of that
    }
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

// The prediction, and why the command line would not accept it.
nb::tuple predict_with(const std::vector<nb::bytes>& arguments, const nb::object& callback,
                       const nb::object& predict_ops, const std::vector<NamedPolicy>& policies) {
  PythonProgress progress(callback);
  std::optional<PythonCostModel> costs;
  if (!predict_ops.is_none()) {
    costs.emplace(predict_ops, progress);
  }
  const PolicyRegistry registry = registry_with(policies, progress);
  std::optional<Prediction> prediction;
  cli::PredictHooks hooks;
  hooks.costs = costs.has_value() ? &*costs : nullptr;
  hooks.policies = &registry;
  hooks.take = [&](Prediction found) { prediction = std::move(found); };
  const CommandResult result =
      run_command(program_of(cli::predict_command_with(hooks)), arguments, progress);
  const nb::object refused = verdict(result.status, prediction.has_value());
  return nb::make_tuple(nb::cast(std::move(*prediction)), refused);
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

}  // namespace

void bind_prediction(nb::module_& module) {
  nb::class_<Prediction>(module, "Prediction")
      .def_ro("model", &Prediction::model)
      .def_ro("hardware", &Prediction::hardware)
      .def_ro("runtime", &Prediction::runtime)
      .def_ro("cost_model", &Prediction::cost_model)
      .def_ro("batch", &Prediction::batch)
      // Without it, latency_ns and interval_ns.low are lower limits, and there is no upper end.
      .def_prop_ro("complete", [](const Prediction& p) { return p.unknown.complete(); })
      .def_prop_ro("is_limit", &Prediction::is_limit)
      .def_prop_ro("fits", &Prediction::fits)
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
      .def("ops", &prediction_ops, nb::sig("def ops(self) -> dict[str, list[object]]"))
      .def("to_json", [](const Prediction& p) { return prediction_json(p); })
      .def(
          "text", [](const Prediction& p, size_t top) { return summary_text(p, top, 80); },
          nb::arg("top"));
  module.def(
      "predict", &predict_with, nb::arg("arguments"), nb::arg("progress").none(),
      nb::arg("predict_ops").none(), nb::arg("policies"),
      nb::sig("def predict(arguments: collections.abc.Sequence[bytes], progress: object | None, "
              "predict_ops: object | None, "
              "policies: collections.abc.Sequence[tuple[str, object]]) -> "
              "tuple[Prediction, tuple[str, str] | None]"));
}

}  // namespace dfsim::python
