// Shared by the files of the Python module: a command of the program called as a function.
//
// Purpose: options take the way of the command line (cli/option_table.h), so that names, checks and
//   texts of errors are the same, and what the command would print comes back as a text.
// Invariants: work is done without the interpreter's lock. Progress is reported with the lock held,
//   and there a pending signal (Ctrl-C) ends the work, as it does inside long loops. The first
//   exception of a callback ends the work and is raised again.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "cli/option_table.h"
#include "cli/progress.h"

namespace nb = nanobind;

namespace dfsim::python {

// A Status on its way to Python.
struct StatusError : std::exception {
  explicit StatusError(Status error) : status(std::move(error)) {}
  const char* what() const noexcept override { return status.message().c_str(); }

  Status status;
};

inline void check(Status status) {
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

// Calls the user's function, if any, and looks for signals.
class PythonProgress {
 public:
  explicit PythonProgress(nb::object callback) : callback_(std::move(callback)) {}

  Progress callbacks();
  // For run_cancellable(): whether a signal, such as that of Ctrl-C, has raised an exception. Looks
  // for one at most 20 times a second, as it takes the interpreter's lock. Without the lock.
  bool interrupted();
  // Keeps an exception of the user's code, with the lock; the first one counts.
  Status keep(nb::python_error& error);
  // With the lock: what a callback or a signal raised comes before the status that it caused.
  void finish();

 private:
  Status call(const char* kind, const std::string& text);
  // At most ten times a second, as each call takes the interpreter's lock.
  void advance(double done, double total, const std::string& what);

  nb::object callback_;
  std::optional<nb::python_error> error_;
  std::atomic<std::chrono::steady_clock::duration> looked_at_{};
  std::chrono::steady_clock::duration told_at_{};  // by advance(), which one thread calls at a time
};

// The output of a command, and how it ended.
struct CommandResult {
  std::string text;
  Status status;
};

// Parses the arguments (those of the command line, behind the program's name; bytes, as names of
// files need not be UTF-8) and runs what they name. Throws StatusError when the command line is
// refused.
CommandResult run_command(cli::CommandSpec program, const std::vector<nb::bytes>& arguments,
                          PythonProgress& progress);
// A program that has one command only.
cli::CommandSpec program_of(cli::CommandSpec command);

// The class of dfsim._errors for a status.
const char* error_class(StatusCode code);

// Raises the status unless there is a result to return with it: then the class of the error and its
// text, or None.
nb::object verdict(const Status& status, bool has_result);

// prediction_binding.cc, sweep_binding.cc, policy_binding.cc, arrow_binding.cc
void bind_prediction(nb::module_& module);
void bind_sweep(nb::module_& module);
void bind_policies(nb::module_& module);
void bind_arrow(nb::module_& module);

}  // namespace dfsim::python
