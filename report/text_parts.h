// Small pieces of text and numbers that several renderers print the same way.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/counted.h"
#include "base/units.h"
#include "study/chain/unknown_work.h"

namespace dfsim::inline report {

// Columns of text that does not follow the terminal's width.
inline constexpr size_t kTextColumns = 80;

// "12.3 %"; "<0.1 %" for what would round to nothing.
std::string percent_text(double fraction);
// "12.34", for columns whose header says %.
std::string percent_number(double fraction);
// A duration with its unit; negative ones are shown as none.
std::string duration_text(double time_us);

// "the work of 271 of 612 operators is not known, because of Pad 'x': its shape depends on ..."
std::string unknown_work_text(const UnknownWork& unknown);
// The first line of a result that is not complete, with its end of line; "" for complete ones.
std::string incomplete_line(const UnknownWork& unknown);

// Words in front of a time: "at least " where a part is not known, "≥ " where much of it is a bare
// bound, "" for an estimate. And in front of a rate that comes from such a time.
std::string_view least_prefix(const UnknownWork& unknown, double bound_only_share);
std::string_view most_prefix(const UnknownWork& unknown, double bound_only_share);

double in_ms(TimeNs time_ns);
double in_us(TimeNs time_ns);
double ms_from_us(double time_us);

}  // namespace dfsim::inline report
