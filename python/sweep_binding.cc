// sweep(): its table as a class.
#include "base/check.h"
#include "cli/study_commands.h"
#include "python/binding.h"
#include "report/predictions/sweep_views.h"

namespace dfsim::python {
namespace {

// A sweep's rows with what its views need.
struct SweepTable {
  SweepResult result;
  SweepReport report;
};

SweepTable run_sweep(const std::vector<nb::bytes>& arguments, const nb::object& callback,
                     const std::string& journal) {
  PythonProgress progress(callback);
  std::optional<SweepTable> table;
  cli::SweepHooks hooks;
  hooks.journal = journal;
  hooks.take = [&](SweepResult result, SweepReport report) {
    table = SweepTable{std::move(result), std::move(report)};
  };
  const CommandResult result =
      run_command(program_of(cli::sweep_command_with(hooks)), arguments, progress);
  check(result.status);
  DFSIM_CHECK(table.has_value());  // the package gives no option of a sweep in parts
  return std::move(*table);
}

}  // namespace

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
  module.def("sweep", &run_sweep, nb::arg("arguments"), nb::arg("progress").none(),
             nb::arg("journal"));
}

}  // namespace dfsim::python
