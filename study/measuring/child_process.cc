#include "study/measuring/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/text.h"

extern char** environ;

namespace dfsim::inline study {

Status run_program(const std::vector<std::string>& arguments, const std::string& what) {
  std::vector<char*> argv;
  for (const std::string& argument : arguments) {
    argv.push_back(const_cast<char*>(argument.c_str()));  // posix_spawn does not write to them
  }
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  pid_t child = 0;
  const int error = ::posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
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
  while (::waitpid(child, &state, 0) < 0) {
    if (errno != EINTR) {
      return failed(fmt::format("{}: lost sight of '{}': {}", what, program, std::strerror(errno)));
    }
  }
  if (WIFSIGNALED(state)) {
    return failed(fmt::format("{}: '{}' was ended by signal {}", what, program, WTERMSIG(state)));
  }
  if (WEXITSTATUS(state) != 0) {
    return failed(fmt::format("{}: '{}' ended with code {}; what it wrote stands above", what,
                              program, WEXITSTATUS(state)));
  }
  return ok_status();
}

}  // namespace dfsim::inline study
