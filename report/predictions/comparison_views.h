// Views of comparisons of scheduling policies: text, JSON and CSV.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "study/comparison/comparison.h"

namespace dfsim::inline report {

// How times are shown: as numbers of this many nanoseconds, or with units chosen by size.
struct TimeFormat {
  double ns_per_unit = 0;  // 0 = by size
  std::string unit;        // shown in headers; "" = as written in the file

  std::string text(TimeNs time_ns) const;
};
// "auto", "ms", "us" or "none"; auto is none for files without units. Error: unknown name.
StatusOr<TimeFormat> time_format(std::string_view name, bool unitless);

// "no policy fits: heft needs 46.6 GB of 42.9 GB on gpu0"; "" when one does, or when none worked.
std::string missing_memory(const Comparison& comparison);
std::string comparison_text(const Comparison& comparison, const TimeFormat& format);
// `drawing`: an SVG to go into the report of a single comparison; "" without.
std::string comparison_json(const std::vector<Comparison>& comparisons,
                            const std::string& drawing = "");
std::string comparison_csv(const std::vector<Comparison>& comparisons);

// The machines of each model, the fastest estimate first; "" when there is nothing to rank.
std::string machines_table(const std::vector<MachineRank>& ranks);
// A row per policy over several comparisons.
std::string summary_table(const std::vector<PolicySummary>& summary, size_t instances);

}  // namespace dfsim::inline report
