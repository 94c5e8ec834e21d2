// Every policy ends in the middle of its plan, and every run in the middle of its events, when the
// caller no longer wants the result.
#include <catch2/catch.hpp>

#include "schedulers/registry.h"
#include "study/comparison/comparison.h"
#include "tests/base/cancel_checks.h"
#include "tests/schedulers/hand_graphs.h"

using namespace dfsim;
using namespace dfsim::testing;

TEST_CASE("Cancellation: ends every policy while it plans and while its plan runs") {
  const ProblemInstance problem = generated({"layered", 3000}, 8, 1.0, 0.0, 3);
  for (const PolicyInfo& policy : builtin_policies()) {
    if (policy.name == "optimal" || policy.name == "m-sct") {
      continue;  // small graphs only; a linear program, which runs on to its end
    }
    INFO(policy.name);
    CompareOptions options;
    options.policy.iterations = 3000;
    options.policy.threads = 1;
    options.memory = MemoryPolicy::kOff;
    const std::vector<const PolicyInfo*> policies = {&policy};
    const Work work = [&] { return compare_policies(problem, policies, options, {}).status(); };
    check_cancels(work, 3000 / 64);
  }
}
