#include "cli/collectives_text.h"

#include <fmt/format.h>

#include <set>

#include "base/text.h"
#include "base/text_table.h"
#include "base/units.h"
#include "hardware/collective_timing.h"

namespace dfsim::cli {

std::string collectives_text(const Platform& platform) {
  TextTable table({{"over links"},
                   {"collective"},
                   {"start", Align::kRight},
                   {"step", Align::kRight},
                   {"GB/s", Align::kRight}});
  std::string sources;
  std::set<std::string> cited;
  for (const CollectiveTiming& fit : platform.collectives) {
    const std::string operation = fit.operation.empty() ? "any" : fit.operation;
    for (const CollectiveProtocol& protocol : fit.protocols) {
      const bool first = &protocol == fit.protocols.data();
      table.add_row({first ? fit.over : "", first ? operation : "",
                     format_time(std::llround(protocol.start_ns)),
                     format_time(std::llround(protocol.step_ns)),
                     fmt::format("{:.4g}", protocol.bytes_per_s / 1e9)});
    }
    if (!fit.source.empty() && cited.insert(fit.source).second) {
      sources += fmt::format("    {}:\n      {}\n", fit.over, printable(fit.source, 400));
    }
  }
  return table.render(100, 2) + (sources.empty() ? "" : fmt::format("\n  sources\n{}", sources));
}

}  // namespace dfsim::cli
