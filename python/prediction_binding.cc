// predict(): its options, its result as a class, and cost models written in Python.
#include "hardware/platform.h"
#include "opmodel/cost_model.h"
#include "python/binding.h"
#include "report/predictions/prediction_views.h"
#include "report/trace/trace_file.h"
#include "study/prediction/predict.h"

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

}  // namespace

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

}  // namespace dfsim::python
