// Running another program, its output on this one's terminal.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace dfsim::inline study {

// Runs arguments[0], searched on PATH, and waits for it. The child's stdin is empty; its stdout
// goes to our stderr, so that ours stays the report's. `what` says in messages what it was run for.
// Errors: kNotFound when there is no such program, kFailed when it ends with another code than 0 or
// by a signal.
Status run_program(const std::vector<std::string>& arguments, const std::string& what);

// Sends the signal to the program that run_program() is waiting for, if there is one, and kills the
// copies of a command that run_copies() measures. Safe to call from a signal handler.
void pass_signal_to_child(int signal) noexcept;

}  // namespace dfsim::inline study
