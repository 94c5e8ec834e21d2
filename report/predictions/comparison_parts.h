// Parts of the views of comparisons that text, JSON and CSV share.
#pragma once

#include <string>

#include "study/comparison/comparison.h"

namespace dfsim::inline report {

// The most memory that a device holds at once in the simulated run of a policy.
Bytes peak_memory(const PolicyOutcome& outcome);

// "heft: 2.00 kB of 1.00 kB on gpu0" for each device that holds more than it can; "" when none.
std::string overflow(const Comparison& comparison, const PolicyOutcome& outcome);

}  // namespace dfsim::inline report
