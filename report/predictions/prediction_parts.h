// Parts of the summary of a prediction that text and Markdown share.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/text_table.h"
#include "study/prediction/prediction.h"

namespace dfsim::inline report {

// Two sentences to quote: the answer, and why it is so and what would help.
struct PredictionHeadline {
  std::string answer;  // "resnet50 on a100-sxm4-80gb: 7.0 ms ± 1.1 (143/s)"
  std::string reason;  // "The host limits (busy 98 %, …): CUDA graphs would give 3.5 ms (…)"
};
PredictionHeadline prediction_headline(const Prediction& prediction);

// "INCOMPLETE: …" and "DOES NOT FIT: …", each with its end of line; "" where neither holds.
std::string prediction_warnings(const Prediction& prediction);

// Label and value of each line of details, in their order.
std::vector<std::pair<std::string, std::string>> prediction_fields(const Prediction& prediction);

// Time and count per name.
TextTable shares_table(const std::string& title, const std::vector<Share>& shares);
// The `count` slowest operators in order of time, below their modules or, not as a `tree`, by their
// whole names.
TextTable time_table(const Prediction& prediction, size_t count, bool tree = true);
// Settings with which a model that does not fit would; no rows without any.
TextTable remedies_table(const Prediction& prediction);

// "compute"; "-" for none.
std::string bound_text(Bound bound);

}  // namespace dfsim::inline report
