// Views of a Prediction: text for people, JSON and CSV for programs.
#pragma once

#include <string>

#include "base/text_table.h"
#include "study/prediction/prediction.h"

namespace dfsim::inline report {

// The summary that `dfsim predict` prints: two lines to quote, the `top_ops` slowest operators
// below their modules, details. Fits `width` columns or text_width(), names in several lines.
std::string summary_text(const Prediction& prediction, size_t top_ops = 10,
                         size_t width = kAnyWidth);
// The same as Markdown, with the details folded.
std::string prediction_markdown(const Prediction& prediction, size_t top_ops = 10);

// One line per executed op, in order of start.
std::string ops_text(const Prediction& prediction, size_t width = kAnyWidth);

// The documented, stable schema (docs/commands/predict.md), version in "schema".
std::string prediction_json(const Prediction& prediction);

// One row per op: name,op_type,class,device,start_us,duration_us,flops,bytes,bound,source...
std::string ops_csv(const Prediction& prediction);

}  // namespace dfsim::inline report
