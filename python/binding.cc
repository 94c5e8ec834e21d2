// Runs a command of the program as a function: output is captured, progress goes to a Python
// callback, and the GIL is taken only for that. An exception in the callback stops the command
// at its next report of progress and is raised afterwards.
#include "python/binding.h"

#include <string_view>

#include "base/io/captured_output.h"
#include "cli/option_parser.h"

namespace dfsim::python {

Progress PythonProgress::callbacks() {
  Progress progress;
  progress.on_stage = [this](const std::string& step) { return call("stage", step); };
  progress.on_note = [this](const std::string& line) { (void)call("note", line); };
  return progress;
}

Status PythonProgress::keep(nb::python_error& error) {
  if (!error_.has_value()) {
    error_.emplace(std::move(error));
  }
  return failed("cancelled");
}

void PythonProgress::finish() {
  if (error_.has_value()) {
    throw nb::python_error(*error_);
  }
  // A signal may have ended a child process, whose failure is then not what to report.
  if (PyErr_CheckSignals() != 0) {
    nb::raise_python_error();
  }
}

Status PythonProgress::call(const char* kind, const std::string& text) {
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

cli::CommandSpec program_of(cli::CommandSpec command) {
  cli::CommandSpec program = {.name = "dfsim", .summary = ""};
  program.commands.push_back(std::move(command));
  return program;
}

CommandResult run_command(cli::CommandSpec program, const std::vector<nb::bytes>& arguments,
                          PythonProgress& progress) {
  std::vector<const char*> words = {"dfsim"};
  for (const nb::bytes& argument : arguments) {
    if (std::string_view(argument.c_str()).size() != argument.size()) {
      throw nb::value_error("embedded null character");
    }
    words.push_back(argument.c_str());
  }
  CommandResult result;
  {
    const nb::gil_scoped_release unlocked;
    const cli::ParsedCommandLine parsed =
        cli::parse_command_line(program, static_cast<int>(words.size()), words.data());
    if (parsed.refused || parsed.command == nullptr) {
      result.status = invalid_input(parsed.text);
    } else {
      CapturedOutput output;
      const cli::ForwardedProgress forwarded(progress.callbacks());
      cli::GlobalOptions global;
      result.status = parsed.command->run(global);
      result.text = std::move(output.text());
    }
  }
  progress.finish();
  return result;
}

const char* error_class(StatusCode code) {
  switch (code) {
    case StatusCode::kInvalidInput:
      return "InvalidInputError";
    case StatusCode::kNotFound:
      return "NotFoundError";
    case StatusCode::kUnsupported:
      return "UnsupportedError";
    default:
      return "FailedError";
  }
}

nb::object verdict(const Status& status, bool has_result) {
  if (status.ok()) {
    return nb::none();
  }
  if (!has_result) {
    throw StatusError(status);
  }
  return nb::make_tuple(error_class(status.code()), status.message());
}

}  // namespace dfsim::python
