// Results on a terminal: colour where a person reads, plain text everywhere else.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace dfsim::cli {

// Whether results on stdout and errors on stderr are coloured. "always" and "never" mean what they
// say. "auto": on a terminal, unless NO_COLOR (https://no-color.org) is set to anything, TERM is
// "dumb", or mpirun started the program. Called once, before anything is written; without a call
// nothing is coloured.
void choose_color(const std::string& when);
bool colors_errors();

// Text as reports lay it out, with colours: the first line, warnings in front of it, headers of
// tables, labels of details, and limits ("≥"). Everything but the colours stays as it is; text in
// another form (JSON, CSV, XML, Markdown) too. O(text).
std::string colored(std::string_view text);

// write_file() for the result of a command, coloured when it goes to a terminal.
Status write_result(const std::string& path, const std::string& content);

}  // namespace dfsim::cli
