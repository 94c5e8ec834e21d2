// Small pieces of text and numbers that several renderers print the same way.
#pragma once

#include <string>

#include "base/units.h"

namespace dfsim::inline report {

// Columns of text that does not follow the terminal's width.
inline constexpr size_t kTextColumns = 80;

// "12.3 %"; "<0.1 %" for what would round to nothing.
std::string percent_text(double fraction);
// "12.34", for columns whose header says %.
std::string percent_number(double fraction);
// A duration with its unit; negative ones are shown as none.
std::string duration_text(double time_us);

double in_ms(TimeNs time_ns);
double in_us(TimeNs time_ns);
double ms_from_us(double time_us);

}  // namespace dfsim::inline report
