// A copy is forked, made the leader of its group, and waits for a byte: its counters are attached
// before it executes the program, and all copies start together. A thread per copy waits for its
// end, because wait4() gives the processor time and the moment; the calling thread drains the pipes
// and keeps the time limit.
#include "study/measuring/command_run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <thread>

#include "base/text.h"

extern char** environ;

namespace dfsim::inline study {
namespace {

using CopyClock = std::chrono::steady_clock;

constexpr size_t kKeptOutput = size_t{1} << 20;

// The groups of the copies that run now; 0 = none. Read by a signal handler.
std::array<std::atomic<pid_t>, kMostCopies> running_groups = {};

class Pipe {
 public:
  Pipe() : open_(::pipe2(ends_.data(), O_CLOEXEC) == 0) {}
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    close(0);
    close(1);
  }
  bool ok() const { return open_; }
  int read_end() const { return ends_[0]; }
  int write_end() const { return ends_[1]; }
  void close(size_t end) {
    if (open_ && ends_[end] >= 0) {
      ::close(ends_[end]);
      ends_[end] = -1;
    }
  }

 private:
  std::array<int, 2> ends_ = {-1, -1};
  bool open_;
};

std::string variable_name(const std::string& entry) { return entry.substr(0, entry.find('=')); }

// Our environment with the copy's changes.
std::vector<std::string> environment_of(const CommandCopy& copy) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string name = variable_name(*entry);
    const bool changed =
        std::any_of(copy.environment.begin(), copy.environment.end(),
                    [&name](const std::string& own) { return variable_name(own) == name; });
    if (!changed) {
      result.emplace_back(*entry);
    }
  }
  for (const std::string& own : copy.environment) {
    if (own.find('=') != std::string::npos) {
      result.push_back(own);
    }
  }
  return result;
}

// Pointers for execve(), which does not write to them.
std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) {
    pointers.push_back(text.data());
  }
  pointers.push_back(nullptr);
  return pointers;
}

// One running copy.
struct LiveCopy {
  std::vector<std::string> arguments;
  std::vector<std::string> environment;
  std::vector<char*> argv;
  std::vector<char*> envp;
  std::vector<int> cpus;
  Pipe output;
  Pipe start;    // a byte says that the program may begin
  Pipe refused;  // the error of execve(); closed without a byte when it worked
  pid_t process = 0;
  std::unique_ptr<PerfCounters> counters;
  std::thread waiter;
  std::atomic<bool> ended = false;
  CopyClock::time_point end;
  int state = 0;
  double cpu_s = 0;
  bool silent = false;  // the output is at its end
  std::string text;
};

// In the forked child: only async-signal-safe calls, and sched_setaffinity().
[[noreturn]] void become_program(const LiveCopy& copy, pid_t parent) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) {
    ::_exit(127);  // dfsim ended before the call
  }
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) {
    ::signal(signal, SIG_DFL);
  }
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  if (!copy.cpus.empty()) {
    // Up to 8192 processors, without an allocation.
    std::array<cpu_set_t, 8> sets = {};
    for (const int cpu : copy.cpus) {
      CPU_SET_S(static_cast<size_t>(cpu), sizeof sets, sets.data());
    }
    ::sched_setaffinity(0, sizeof sets, sets.data());
  }
  const int nothing = ::open("/dev/null", O_RDONLY);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(copy.output.write_end(), STDOUT_FILENO);
  ::dup2(copy.output.write_end(), STDERR_FILENO);
  char go = 0;
  if (::read(copy.start.read_end(), &go, 1) != 1) {
    ::_exit(127);
  }
  environ = const_cast<char**>(copy.envp.data());
  ::execvp(copy.argv[0], copy.argv.data());
  const int error = errno;
  [[maybe_unused]] const ssize_t written = ::write(copy.refused.write_end(), &error, sizeof error);
  ::_exit(127);
}

void append_output(LiveCopy& copy, const char* bytes, size_t count) {
  copy.text.append(bytes, count);
  if (copy.text.size() > 2 * kKeptOutput) {
    copy.text.erase(0, copy.text.size() - kKeptOutput);
  }
}

// Takes what the pipe holds now. False at its end.
bool drain(LiveCopy& copy) {
  std::array<char, 16384> bytes;
  const ssize_t count = ::read(copy.output.read_end(), bytes.data(), bytes.size());
  if (count > 0) {
    append_output(copy, bytes.data(), static_cast<size_t>(count));
    return true;
  }
  return count < 0 && (errno == EAGAIN || errno == EINTR);
}

// The last line that is not empty, of a program that failed: it usually says why.
std::string last_words(const std::string& output) {
  const size_t end = output.find_last_not_of(" \r\n\t");
  if (end == std::string::npos) {
    return "";
  }
  const size_t begin = output.find_last_of('\n', end);
  constexpr size_t kMost = 200;
  return ": " + printable(output.substr(begin == std::string::npos ? 0 : begin + 1,
                                        end - (begin == std::string::npos ? 0 : begin + 1) + 1),
                          kMost);
}

class CopiesRun {
 public:
  explicit CopiesRun(double limit_s) : limit_s_(limit_s) {}
  CopiesRun(const CopiesRun&) = delete;
  CopiesRun& operator=(const CopiesRun&) = delete;
  ~CopiesRun() { end_all(); }

  StatusOr<CommandRun> run(const std::vector<CommandCopy>& copies) {
    DFSIM_RETURN_IF_ERROR(fork_all(copies));
    const CopyClock::time_point begin = CopyClock::now();
    DFSIM_RETURN_IF_ERROR(start_all());
    watch(begin);
    end_all();
    return result(begin);
  }

 private:
  Status fork_all(const std::vector<CommandCopy>& copies) {
    for (const CommandCopy& copy : copies) {
      auto live = std::make_unique<LiveCopy>();
      live->arguments = copy.arguments;
      live->environment = environment_of(copy);
      live->argv = pointers_to(live->arguments);
      live->envp = pointers_to(live->environment);
      live->cpus = copy.cpus;
      if (!live->output.ok() || !live->start.ok() || !live->refused.ok()) {
        return failed(fmt::format("{}: no more pipes: {}", printable(copy.arguments[0]),
                                  std::strerror(errno)));
      }
      // A signal before the group is noted would leave the child behind.
      sigset_t held;
      sigset_t before;
      ::sigfillset(&held);
      ::pthread_sigmask(SIG_BLOCK, &held, &before);
      const pid_t parent = ::getpid();
      const pid_t process = ::fork();
      if (process == 0) {
        become_program(*live, parent);
      }
      if (process > 0) {
        ::setpgid(process, process);
        running_groups[copies_.size()] = process;
      }
      const int error = errno;
      ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
      if (process < 0) {
        return failed(fmt::format("{}: cannot be started: {}", printable(copy.arguments[0]),
                                  std::strerror(error)));
      }
      live->process = process;
      live->output.close(1);
      live->start.close(0);
      live->refused.close(1);
      ::fcntl(live->output.read_end(), F_SETFL, O_NONBLOCK);
      live->counters = std::make_unique<PerfCounters>(process);
      copies_.push_back(std::move(live));
    }
    return ok_status();
  }

  Status start_all() {
    for (const auto& copy : copies_) {
      [[maybe_unused]] const ssize_t written = ::write(copy->start.write_end(), "g", 1);
    }
    for (const auto& copy : copies_) {
      LiveCopy* live = copy.get();
      live->waiter = std::thread([live] {
        rusage usage = {};
        while (::wait4(live->process, &live->state, 0, &usage) < 0 && errno == EINTR) {
        }
        live->end = CopyClock::now();
        const auto seconds = [](const timeval& time) {
          return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
        };
        live->cpu_s = seconds(usage.ru_utime) + seconds(usage.ru_stime);
        live->ended = true;
      });
    }
    for (const auto& copy : copies_) {
      int error = 0;
      if (::read(copy->refused.read_end(), &error, sizeof error) == sizeof error) {
        const std::string program = printable(copy->arguments[0]);
        return error == ENOENT
                   ? not_found(fmt::format("{}: there is no such program; give one that is on PATH "
                                           "or its path",
                                           program))
                   : invalid_input(
                         fmt::format("{}: cannot be started: {}", program, std::strerror(error)));
      }
    }
    return ok_status();
  }

  // Until all have ended or the limit is reached.
  void watch(CopyClock::time_point begin) {
    while (!std::all_of(copies_.begin(), copies_.end(),
                        [](const auto& copy) { return copy->ended.load(); })) {
      if (std::chrono::duration<double>(CopyClock::now() - begin).count() > limit_s_) {
        over_limit_ = true;
        return;
      }
      std::vector<pollfd> pipes;
      for (const auto& copy : copies_) {
        pipes.push_back({copy->silent ? -1 : copy->output.read_end(), POLLIN, 0});
      }
      constexpr int kLookMs = 5;  // the waiting threads note the ends, so this adds to no time
      ::poll(pipes.data(), pipes.size(), kLookMs);
      for (size_t i = 0; i < pipes.size(); ++i) {
        if ((pipes[i].revents & (POLLIN | POLLHUP)) != 0) {
          copies_[i]->silent = !drain(*copies_[i]);
        }
      }
    }
  }

  // Kills what is left of each group, and takes the rest of its output.
  void end_all() {
    for (size_t i = 0; i < copies_.size(); ++i) {
      LiveCopy& copy = *copies_[i];
      if (running_groups[i].exchange(0) != 0) {
        ::kill(-copy.process, SIGKILL);
      }
      if (copy.waiter.joinable()) {
        copy.waiter.join();
      } else if (!copy.ended) {
        ::waitpid(copy.process, nullptr, 0);
        copy.ended = true;
      }
      for (size_t before = SIZE_MAX; !copy.silent && before != copy.text.size();) {
        before = copy.text.size();
        copy.silent = !drain(copy);
      }
    }
  }

  std::string failure_of(const LiveCopy& copy) const {
    if (WIFSIGNALED(copy.state)) {
      return fmt::format("was ended by signal {}{}", WTERMSIG(copy.state), last_words(copy.text));
    }
    return WEXITSTATUS(copy.state) == 0
               ? ""
               : fmt::format("ended with code {}{}", WEXITSTATUS(copy.state),
                             last_words(copy.text));
  }

  CommandRun result(CopyClock::time_point begin) const {
    CommandRun run;
    const auto add = [](std::optional<double>& sum, const std::optional<double>& value,
                        bool first) {
      sum = value.has_value() && (first || sum.has_value())
                ? std::optional(sum.value_or(0) + *value)
                : std::nullopt;
    };
    for (const auto& copy : copies_) {
      const bool first = copy == copies_.front();
      run.wall_s = std::max(run.wall_s, std::chrono::duration<double>(copy->end - begin).count());
      run.cpu_s += copy->cpu_s;
      const CounterSums counters = copy->counters->read();
      add(run.counters.instructions, counters.instructions, first);
      add(run.counters.cycles, counters.cycles, first);
      add(run.counters.cache_misses, counters.cache_misses, first);
      run.no_counters = copy->counters->why_not();
      run.outputs.push_back(copy->text);
      if (run.failure.empty()) {
        run.failure =
            over_limit_ ? fmt::format("ran for more than {:g} s", limit_s_) : failure_of(*copy);
      }
    }
    return run;
  }

  double limit_s_;
  bool over_limit_ = false;
  std::vector<std::unique_ptr<LiveCopy>> copies_;
};

}  // namespace

StatusOr<CommandRun> run_copies(const std::vector<CommandCopy>& copies, double limit_s) {
  if (copies.size() > kMostCopies) {
    return invalid_input(
        fmt::format("{} processes at once, expected at most {}", copies.size(), kMostCopies));
  }
  return CopiesRun(limit_s).run(copies);
}

void kill_copies() noexcept {
  for (const auto& group : running_groups) {
    if (const pid_t process = group; process > 0) {
      ::kill(-process, SIGKILL);
    }
  }
}

}  // namespace dfsim::inline study
