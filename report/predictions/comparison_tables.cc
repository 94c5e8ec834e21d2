// Tables over several comparisons: machines in order, and policies over all problems.
#include <fmt/format.h>

#include "base/text.h"
#include "base/text_table.h"
#include "report/predictions/comparison_views.h"
#include "report/text_parts.h"

namespace dfsim::inline report {

std::string machines_table(const std::vector<MachineRank>& ranks) {
  TextTable table({{"model"},
                   {"machine"},
                   {"best policy"},
                   {"makespan", Align::kRight},
                   {"to best", Align::kRight}});
  for (const MachineRank& rank : ranks) {
    const bool has_time = !rank.policy.empty();
    table.add_row({printable(rank.graph, 40), printable(rank.hardware, 40),
                   has_time ? rank.policy : "none",
                   has_time ? std::string(least_prefix(rank.unknown, rank.bound_only_share)) +
                                  format_time(rank.makespan_ns)
                            : "-",
                   rank.ratio_to_best > 0 ? fmt::format("{:.3f}", rank.ratio_to_best) : "-"});
  }
  return ranks.empty() ? "" : fmt::format("machines, limits (≥) last:\n\n{}\n", table.render());
}

std::string summary_table(const std::vector<PolicySummary>& summary, size_t instances) {
  TextTable table({{"policy"},
                   {"mean rank", Align::kRight},
                   {"wins", Align::kRight},
                   {"mean to best", Align::kRight},
                   {"worst to best", Align::kRight},
                   {"runs", Align::kRight}});
  for (const PolicySummary& policy : summary) {
    table.add_row({policy.name, fmt::format("{:.2f}", policy.mean_rank),
                   fmt::format("{}", policy.wins), fmt::format("{:.3f}", policy.mean_ratio),
                   fmt::format("{:.3f}", policy.ratios.back()), fmt::format("{}", policy.runs)});
  }
  return fmt::format("over {}:\n\n{}", counted(instances, "problem"), table.render());
}

}  // namespace dfsim::inline report
