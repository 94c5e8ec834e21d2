// The options that accept a result, and the messages of those that are not accepted.
#include "cli/verdicts.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "base/text.h"
#include "report/text_parts.h"

namespace dfsim::cli {

OptionSpec allow_incomplete_option(bool* allow) {
  return {.names = "--allow-incomplete",
          .target = allow,
          .help =
              "Exit code 0 although the work of some operators is not known, which makes every "
              "time a lower limit"};
}

namespace {

// A way to make the work known.
std::string remedy_for(const UnknownWork& unknown) {
  if (unknown.has_no_definition) {
    return "export the model without that operator";
  }
  // No size that a user could give makes an operator known.
  if (unknown.ops == 0 && unknown.uncounted_loops == 0) {
    return "shorten the loops with --batch or --dim";
  }
  if (!unknown.depends_on_values) {
    return "say what is missing with --batch, --dim or --input-shape";
  }
  if (unknown.first.extents.empty()) {
    return "no size of the inputs changes that: export the model with a fixed shape there";
  }
  std::vector<std::string> options;
  for (const std::string& extent : unknown.first.extents) {
    options.push_back(fmt::format("--dim '{}=N'", printable(extent, 80)));
  }
  return fmt::format("no size of the inputs changes that: give the extent with {}",
                     join(options, " "));
}

}  // namespace

Status check_complete(const std::string& model, const UnknownWork& unknown, bool allow) {
  if (unknown.complete() || allow) {
    return ok_status();
  }
  return failed(
      fmt::format("{}: {}; times are lower limits: {}, or accept limits with "
                  "--allow-incomplete",
                  printable(model), unknown_work_text(unknown), remedy_for(unknown)));
}

OptionSpec allow_oversubscription_option(bool* allow) {
  return {.names = "--allow-oversubscription",
          .target = allow,
          .help = "Exit code 0 although the model needs more memory than the device has"};
}

Status check_fits(const std::string& model, const std::string& missing, const std::string& remedy,
                  bool allow) {
  return missing.empty() || allow
             ? ok_status()
             : failed(fmt::format("{}: {}; {}, or accept it with --allow-oversubscription",
                                  printable(model), missing, remedy));
}

Status incomplete_error(const std::string& place, const std::string& reason) {
  return failed(fmt::format("{}: {}; times are lower limits, accept them with --allow-incomplete",
                            printable(place), reason));
}

}  // namespace dfsim::cli
