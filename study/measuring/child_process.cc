// Starts a program with this one's stderr as its output, waits, and passes signals on. Signals
// are held back while the child starts: otherwise one could arrive after the child exists and
// before this process knows its number.
#include "study/measuring/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/io/held_signals.h"
#include "base/text.h"
#include "study/measuring/command_run.h"

extern char** environ;

namespace dfsim::inline study {
namespace {

// The program that run_program() waits for; 0 = none. Read by a signal handler.
std::atomic<pid_t> running_child = 0;

// posix_spawnp() of a child with an empty stdin, whose stdout is our stderr; gives its error.
int spawn(char* const* argv) {
  const HeldSignals held;  // until `running_child` is set, no signal would reach the child
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigmask(&attributes, &held.before());
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t child = 0;
  const int error = ::posix_spawnp(&child, argv[0], &actions, &attributes, argv, environ);
  if (error == 0) {
    running_child = child;
  }
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

}  // namespace

Status run_program(const std::vector<std::string>& arguments, const std::string& what) {
  std::vector<char*> argv;
  for (const std::string& argument : arguments) {
    argv.push_back(const_cast<char*>(argument.c_str()));  // posix_spawn does not write to them
  }
  argv.push_back(nullptr);
  const int error = spawn(argv.data());
  const std::string program = printable(arguments[0]);
  if (error == ENOENT) {
    return not_found(
        fmt::format("{}: there is no program '{}'; install it or say where it is", what, program));
  }
  if (error != 0) {
    return failed(
        fmt::format("{}: '{}' cannot be started: {}", what, program, std::strerror(error)));
  }
  int state = 0;
  while (::waitpid(running_child, &state, 0) < 0) {
    if (errno != EINTR) {
      running_child = 0;
      return failed(fmt::format("{}: lost sight of '{}': {}", what, program, std::strerror(errno)));
    }
  }
  running_child = 0;
  if (WIFSIGNALED(state)) {
    return failed(fmt::format("{}: '{}' was ended by signal {}", what, program, WTERMSIG(state)));
  }
  if (WEXITSTATUS(state) != 0) {
    return failed(fmt::format("{}: '{}' ended with code {}; see its output above", what, program,
                              WEXITSTATUS(state)));
  }
  return ok_status();
}

void pass_signal_to_child(int signal) noexcept {
  if (const pid_t child = running_child; child > 0) {
    ::kill(child, signal);
  }
  kill_copies();
}

}  // namespace dfsim::inline study
