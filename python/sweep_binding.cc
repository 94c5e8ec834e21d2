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

// The table, and why the command line would not accept it.
nb::tuple run_sweep(const std::vector<nb::bytes>& arguments, const nb::object& callback,
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
  const nb::object refused = verdict(result.status, table.has_value());
  DFSIM_CHECK(table.has_value());  // the package gives no option of a sweep in parts
  return nb::make_tuple(nb::cast(std::move(*table)), refused);
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
  module.def(
      "sweep", &run_sweep, nb::arg("arguments"), nb::arg("progress").none(), nb::arg("journal"),
      nb::sig("def sweep(arguments: collections.abc.Sequence[bytes], progress: object | None, "
              "journal: str) -> tuple[SweepTable, tuple[str, str] | None]"));
}

}  // namespace dfsim::python
