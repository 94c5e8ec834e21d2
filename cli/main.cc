// dfsim's main(): runs the program and catches what no library of ours throws.
#include <cstdio>
#include <exception>
#include <new>

#include "cli/program.h"

int main(int argc, char** argv) {
  try {
    return dfsim::cli::run_dfsim(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fputs(
        "dfsim: error: out of memory: the input needs more than this machine (or its limit) gives; "
        "take a smaller input or a larger machine; of traces, --no-advice needs a third\n",
        stderr);
    return dfsim::cli::kExitWorkFailed;
  } catch (const std::exception& error) {
    // Nothing of ours throws: this is a third party's surprise.
    std::fprintf(stderr, "dfsim: error: %s\n", error.what());
    return dfsim::cli::kExitWorkFailed;
  }
}
