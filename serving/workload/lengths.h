// How long prompts and outputs are: fixed, or drawn for each request.
#pragma once

#include <cstdint>
#include <string>

#include "base/rng.h"
#include "base/status.h"

namespace dfsim::inline serving {

// Token counts, uniform over the whole numbers of [low, high]; low == high is a fixed length.
// Benchmark clients draw like this (vLLM's `--random-range-ratio`, aiperf's `--isl-stddev` of 0).
struct LengthRange {
  int64_t low = 1;
  int64_t high = 1;

  double mean() const { return (static_cast<double>(low) + static_cast<double>(high)) / 2; }
  int64_t draw(Rng& rng) const;
};

// `tokens` scaled by a range of factors: {1, 1} is fixed, {0.8, 1.2} is plus or minus 20 %,
// {0.8, 1} is what vLLM's and InferenceMAX's clients do with a range ratio of 0.8.
// Errors (kInvalidInput, naming `what`): tokens below 1 or above 100 million, factors that are not
// positive, not finite, above 10 or in the wrong order.
StatusOr<LengthRange> make_length_range(const std::string& what, int64_t tokens, double low_factor,
                                        double high_factor);

}  // namespace dfsim::inline serving
