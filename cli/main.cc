// dfsim's main(): runs the program, catches what no library of ours throws, and cleans up when a
// signal ends it.
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>

#include "base/io/output_file.h"
#include "cli/program.h"
#include "study/measuring/child_process.h"

namespace {

// Only async-signal-safe calls: removes half-written files, passes the signal on to a child process
// (a profiler or collector that dfsim started), then dies from the same signal, so that a shell
// sees the usual exit code.
extern "C" void clean_up_and_die(int signal) {
  dfsim::remove_unfinished_output();
  dfsim::pass_signal_to_child(signal);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

}  // namespace

int main(int argc, char** argv) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    // A parent may have chosen to ignore it, as nohup does.
    if (std::signal(signal, clean_up_and_die) == SIG_IGN) {
      std::signal(signal, SIG_IGN);
    }
  }
  try {
    return dfsim::cli::run_dfsim(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fputs(
        "dfsim: error: out of memory: the input needs more than this machine (or its limit) gives; "
        "take a smaller input or a larger machine; of traces, --no-advice needs a third\n",
        stderr);
    return dfsim::cli::kExitWorkFailed;
  } catch (const std::exception& error) {
    // dfsim's own code does not throw: this is a third party's surprise.
    std::fprintf(stderr, "dfsim: error: %s\n", error.what());
    return dfsim::cli::kExitWorkFailed;
  }
}
