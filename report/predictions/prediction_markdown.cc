// A prediction for an issue or a pull request: the answer and the table in sight, details folded.
#include <fmt/format.h>

#include "base/text.h"
#include "report/predictions/prediction_parts.h"
#include "report/predictions/prediction_views.h"

namespace dfsim::inline report {
namespace {

// Text of a file in a paragraph of Markdown.
std::string markdown_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<' || c == '*' || c == '_' || c == '`' || c == '\\' || c == '[') {
      out += '\\';
    }
    out += c;
  }
  return out;
}

}  // namespace

std::string prediction_markdown(const Prediction& prediction, size_t top_ops) {
  const PredictionHeadline headline = prediction_headline(prediction);
  std::string text;
  for (const std::string& warning : split(prediction_warnings(prediction), '\n')) {
    text += warning.empty() ? "" : fmt::format("**{}**\n\n", markdown_text(warning));
  }
  text +=
      fmt::format("**{}**\n\n{}\n", markdown_text(headline.answer), markdown_text(headline.reason));
  if (top_ops > 0 && !prediction.ops.empty()) {
    text += '\n' + time_table(prediction, top_ops, false).markdown();
  }
  if (!prediction.fits() && !prediction.remedies.empty()) {
    text += '\n' + remedies_table(prediction).markdown();
  }
  TextTable details({{"detail"}, {"value"}});
  for (const auto& [label, value] : prediction_fields(prediction)) {
    details.add_row({label, value});
  }
  text += "\n<details><summary>Details</summary>\n\n" + details.markdown();
  text += '\n' + shares_table("class", prediction.classes).markdown();
  text += '\n' + shares_table("bound by", prediction.bounds).markdown();
  text += '\n' + shares_table("cost source", prediction.sources).markdown();
  for (const std::string& note : prediction.notes) {
    text += fmt::format("\nNote: {}\n", markdown_text(note));
  }
  return text + "\n</details>\n";
}

}  // namespace dfsim::inline report
