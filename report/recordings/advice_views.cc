#include "report/recordings/advice_views.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json/json_tree.h"
#include "base/text_table.h"
#include "base/units.h"
#include "report/text_parts.h"

namespace dfsim::inline report {
namespace {}  // namespace

std::string advice_text(const AdviceList& advice, size_t indent) {
  if (!advice.asked) {
    return "";
  }
  const auto field = [indent](std::string_view label, const std::string& value) {
    return fit_lines(fmt::format("  {:<{}}{}\n", label, indent - 2, value));
  };
  std::string text(1, '\n');
  if (advice.list.empty()) {
    return text + field("advice", fmt::format("none: no change brings more than {}",
                                              duration_text(advice.width_us)));
  }
  for (size_t i = 0; i < advice.list.size(); ++i) {
    const Advice& one = advice.list[i];
    text += i > 0 ? "\n" : "";
    text += field("insight", one.insight);
    text += field("action", one.action);
    const std::string interval = one.after_high_us < 0
                                     ? std::string()
                                     : fmt::format(" ({} to {})", duration_text(one.after_low_us),
                                                   duration_text(one.after_high_us));
    text += field("impact", fmt::format("{}{} instead of {}, {:.1f} % less (simulated)",
                                        duration_text(one.after_us), interval,
                                        duration_text(one.before_us), 100 * one.gain()));
  }
  return text;
}

JsonTree advice_json(const AdviceList& advice) {
  if (!advice.asked) {
    return nullptr;
  }
  auto list = JsonTree::array();
  for (const Advice& one : advice.list) {
    list.push_back(
        {{"kind", one.kind},
         {"insight", one.insight},
         {"action", one.action},
         {"before_us", one.before_us},
         {"after_us", one.after_us},
         {"after_low_us", one.after_high_us < 0 ? JsonTree(nullptr) : one.after_low_us},
         {"after_high_us", one.after_high_us < 0 ? JsonTree(nullptr) : one.after_high_us},
         {"gain", one.gain()}});
  }
  return {{"width_us", advice.width_us}, {"list", std::move(list)}};
}

}  // namespace dfsim::inline report
