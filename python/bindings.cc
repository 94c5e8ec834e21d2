// The Python module dfsim._native._dfsim: the commands of the program as functions. They take the
// arguments of the command line and give JSON or a small object; the package around the module
// (python/dfsim) has the names, types and documentation that people see, which
// python/generate_commands.py writes from the tables that commands() returns.
#include "cli/program.h"
#include "hardware/platform_loader.h"
#include "opmodel/model/model_loader.h"
#include "python/binding.h"
#include "report/html/html_page.h"
#include "study/chain/machine_source.h"

namespace dfsim::python {
namespace {

void raise_status(const std::exception_ptr& error, void* /*payload*/) {
  try {
    std::rethrow_exception(error);
  } catch (const StatusError& caught) {
    const nb::object type =
        nb::module_::import_("dfsim._errors").attr(error_class(caught.status.code()));
    PyErr_SetString(type.ptr(), caught.what());
  }
}

// The kind of value that an option takes, as Python calls it.
struct TargetType {
  const char* operator()(bool* /*target*/) const { return "bool"; }
  const char* operator()(std::string* /*target*/) const { return "str"; }
  const char* operator()(int32_t* /*target*/) const { return "int"; }
  const char* operator()(uint32_t* /*target*/) const { return "int"; }
  const char* operator()(int64_t* /*target*/) const { return "int"; }
  const char* operator()(uint64_t* /*target*/) const { return "int"; }
  const char* operator()(double* /*target*/) const { return "float"; }
  const char* operator()(std::vector<std::string>* /*target*/) const { return "list[str]"; }
  const char* operator()(std::vector<int64_t>* /*target*/) const { return "list[int]"; }
  const char* operator()(std::vector<uint64_t>* /*target*/) const { return "list[int]"; }
  const char* operator()(std::vector<double>* /*target*/) const { return "list[float]"; }
  const char* operator()(const cli::ParsedTarget& /*target*/) const { return "str"; }
};

nb::dict command_dict(const cli::CommandSpec& command) {
  nb::list options;
  for (const cli::OptionSpec& option : command.options) {
    nb::dict entry;
    entry["names"] = option.names;
    entry["type"] = std::visit(TargetType(), option.target);
    entry["help"] = option.help;
    entry["required"] = option.required;
    entry["positional"] = cli::is_argument(option);
    options.append(entry);
  }
  nb::list commands;
  for (const cli::CommandSpec& inner : command.commands) {
    commands.append(command_dict(inner));
  }
  nb::dict entry;
  entry["name"] = command.name;
  entry["summary"] = command.summary;
  entry["options"] = options;
  entry["commands"] = commands;
  return entry;
}

nb::dict commands() {
  cli::GlobalOptions global;
  return command_dict(cli::dfsim_program(global));
}

nb::tuple run(const std::vector<nb::bytes>& arguments, const nb::object& callback) {
  PythonProgress progress(callback);
  cli::GlobalOptions global;
  const CommandResult result = run_command(cli::dfsim_program(global), arguments, progress);
  return nb::make_tuple(result.text, verdict(result.status, !result.text.empty()));
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
  dfsim::cli::log_to_stderr("warning");
  bind_prediction(module);
  bind_sweep(module);
  bind_policies(module);
  bind_arrow(module);
  module.def("commands", &commands, nb::sig("def commands() -> dict[str, typing.Any]"),
             "The program's commands and options, as nested dicts.");
  module.def(
      "run", &run, nb::arg("arguments"), nb::arg("progress").none(),
      nb::sig("def run(arguments: collections.abc.Sequence[bytes], progress: object | None) -> "
              "tuple[str, tuple[str, str] | None]"),
      "Runs a command: what it printed, and why it is not a success though it printed.");
  module.def("machine", &machine, nb::arg("hardware"), nb::arg("runtime"),
             nb::sig("def machine(hardware: str, runtime: str) -> dict[str, typing.Any]"),
             "Facts of a machine and its devices; bytes and bytes per second.");
  module.def("machines", [] { return dfsim::builtin_platforms(); });
  module.def("runtimes", [] { return dfsim::builtin_runtimes(); });
  module.def("cost_models", [] { return dfsim::pretrained_models(); });
  module.def(
      "html_page",
      [](const std::string& json) { return value_or_throw(dfsim::html_page("HTML report", json)); },
      nb::arg("json"));
  module.def(
      "set_log_level", [](const std::string& level) { dfsim::cli::log_to_stderr(level); },
      nb::arg("level"));
  module.attr("version") = DFSIM_VERSION;
}
