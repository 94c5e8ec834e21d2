// The summary and the list of operators, as text.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/text.h"
#include "base/text_table.h"
#include "report/predictions/op_tree/op_tree.h"
#include "report/predictions/prediction_parts.h"
#include "report/predictions/prediction_views.h"
#include "report/recordings/advice_views.h"
#include "report/text_parts.h"

namespace dfsim::inline report {
namespace {

constexpr size_t kMaxListedUnresolved = 10;
constexpr size_t kDetailsIndent = 17;

std::string unresolved_text(const Prediction& prediction) {
  const size_t count = prediction.unresolved.size();
  std::string text = fmt::format("\n  {} operator{} of the file could not be resolved:\n", count,
                                 count == 1 ? "" : "s");
  for (size_t i = 0; i < std::min(kMaxListedUnresolved, prediction.unresolved.size()); ++i) {
    const UnresolvedOpInfo& op = prediction.unresolved[i];
    text += fmt::format("    {} '{}': {}\n", printable(op.op_type, 40), printable(op.name, 60),
                        op.reason);
  }
  if (prediction.unresolved.size() > kMaxListedUnresolved) {
    text += fmt::format("    and {} more (dfsim inspect --unresolved lists all)\n",
                        prediction.unresolved.size() - kMaxListedUnresolved);
  }
  return text;
}

std::string remedies_text(const Prediction& prediction, size_t width) {
  if (prediction.fits()) {
    return "";
  }
  return prediction.remedies.empty()
             ? "\n  no smaller batch, other precision, recomputation, split over a built-in node\n"
               "  or bigger built-in device makes it fit\n"
             : '\n' + remedies_table(prediction).render(width, 2);
}

}  // namespace

std::string summary_text(const Prediction& prediction, size_t top_ops, size_t width) {
  width = std::min(width, text_width());
  const PredictionHeadline headline = prediction_headline(prediction);
  std::string text = prediction_warnings(prediction) +
                     fit_lines(headline.answer + '\n' + headline.reason + '\n', width);
  if (top_ops > 0 && !prediction.ops.empty()) {
    text += '\n' + time_table(prediction, top_ops).render(width, 2);
  }
  text += remedies_text(prediction, width) + '\n';
  for (const auto& [label, value] : prediction_fields(prediction)) {
    text += fit_lines(fmt::format("  {:<{}}{}\n", label, kDetailsIndent - 2, value), width);
  }
  text += '\n' + shares_table("class", prediction.classes).render(width, 2);
  text += '\n' + shares_table("bound by", prediction.bounds).render(width, 2);
  text += '\n' + shares_table("cost source", prediction.sources).render(width, 2);
  text += advice_text(prediction.advice, kDetailsIndent);
  for (const std::string& note : prediction.notes) {
    text += fmt::format("\n  note: {}\n", note);
  }
  if (!prediction.unresolved.empty()) {
    text += unresolved_text(prediction);
  }
  return text;
}

std::string ops_text(const Prediction& prediction, size_t width) {
  TextTable table({{"start", Align::kRight},
                   {"op", Align::kLeft, true},
                   {"type"},
                   {"output"},
                   {"time", Align::kRight},
                   {"FLOP/s", Align::kRight},
                   {"bound"},
                   {"source"}});
  auto copy = prediction.copies.begin();
  const auto add_copies_until = [&](TimeNs time_ns) {
    for (; copy != prediction.copies.end() && copy->start_ns <= time_ns; ++copy) {
      table.add_row({format_time(copy->start_ns),
                     fmt::format("{} to {}", printable(copy->name, 1000), printable(copy->to, 20)),
                     "Copy", format_bytes(copy->bytes), format_time(copy->duration_ns), "-", "link",
                     "hardware"});
    }
  };
  for (const PredictedOp& op : prediction.ops) {
    add_copies_until(op.start_ns);
    const double seconds = static_cast<double>(op.duration_ns) * 1e-9;
    const double rate = seconds > 0 ? static_cast<double>(op.flops) / seconds : 0;
    table.add_row({format_time(op.start_ns), fused_label(op, op.name), printable(op.op_type, 30),
                   op.shape, format_time(op.duration_ns), format_count(rate), bound_text(op.bound),
                   std::string(source_name(op))});
  }
  add_copies_until(std::numeric_limits<TimeNs>::max());
  return table.render(width);
}

}  // namespace dfsim::inline report
