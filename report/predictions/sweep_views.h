// Views of sweeps: the table with a row per point as CSV and JSON lines, the report as text and
// JSON.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "study/sweep/sweep.h"
#include "study/sweep/sweep_report.h"

namespace dfsim::inline report {

// One row per point, in order of the plan. With prices also what a machine and a million samples
// cost. A failed point has its error and no figures. docs/commands/sweep.md describes the columns.
std::string sweep_csv(const SweepResult& result, const HourlyPrices& prices);
std::string sweep_json_lines(const SweepResult& result, const HourlyPrices& prices);
// The same table, as CSV or JSON lines, a piece at a time: a table of any size needs the memory of
// one piece. Error: the first that `write` returns.
using WritePiece = std::function<Status(std::string_view piece)>;
Status write_sweep_table(const SweepResult& result, const HourlyPrices& prices, bool csv,
                         const WritePiece& write);

// The report, with all rows; whole, and a piece at a time.
inline constexpr std::string_view kSweepSchema = "dfsim.sweep/1";
std::string sweep_json(const SweepResult& result, const SweepReport& report);
Status write_sweep_json(const SweepResult& result, const SweepReport& report,
                        const WritePiece& write);
// For people. `lines`: also the latency over the batch, of each model.
std::string sweep_text(const SweepResult& result, const SweepReport& report, bool lines);

// A model's name, and its directory where another model of the sweep has the same name.
class SweepNames {
 public:
  explicit SweepNames(const SweepResult& result);
  // The settings of the point that differ within the sweep, but machine and batch: "torch-eager".
  std::string settings(const SweepPoint& point, const SweepRow& row) const;
  // The machine and these settings.
  std::string line(const SweepPoint& point, const SweepRow& row) const;
  std::string model(const std::string& file, const std::string& mode) const;

 private:
  bool runtimes_ = false;
  bool precisions_ = false;
  bool modes_ = false;
  bool policies_ = false;
  bool names_clash_ = false;
};

}  // namespace dfsim::inline report
