// Runs a command of the program as a function: output is captured, progress goes to a Python
// callback, and the GIL is taken only for that. An exception in the callback stops the command
// at its next report of progress and is raised afterwards.
#include "python/binding.h"

#include <fmt/format.h>

#include <string_view>

#include "base/cancellation.h"
#include "base/io/captured_output.h"
#include "cli/option_parser.h"

namespace dfsim::python {

Progress PythonProgress::callbacks() {
  Progress progress;
  progress.on_stage = [this](const std::string& step) { return call("stage", step); };
  progress.on_advance = [this](double done, double total, const std::string& what) {
    advance(done, total, what);
  };
  progress.on_note = [this](const std::string& line) { (void)call("note", line); };
  return progress;
}

void PythonProgress::advance(double done, double total, const std::string& what) {
  constexpr std::chrono::milliseconds kBetweenCalls{100};
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  if (now - told_at_ < kBetweenCalls) {
    return;
  }
  told_at_ = now;
  (void)call("advance", total > 0 ? fmt::format("{:g} of {:g} {}", done, total, what)
                                  : fmt::format("{:g} {}", done, what));
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

bool PythonProgress::interrupted() {
  constexpr std::chrono::milliseconds kBetweenLooks{50};
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  if (now - looked_at_.load() < kBetweenLooks) {
    return false;
  }
  looked_at_ = now;
  const nb::gil_scoped_acquire lock;
  if (error_.has_value()) {
    return true;
  }
  // Python hands signals to its main thread alone: in any other this finds none.
  if (PyErr_CheckSignals() == 0) {
    return false;
  }
  try {
    nb::raise_python_error();
  } catch (nb::python_error& error) {
    (void)keep(error);
  }
  return true;
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
      result.status = run_cancellable([&] { return progress.interrupted(); },
                                      [&] { return parsed.command->run(global); });
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
