// Reads measured timings of collectives. Names of links are patterns, and each must match a link
// of the platform: timings for links that are not there would never be used and never be missed.
#include "hardware/collectives_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/name_pattern.h"
#include "base/text.h"
#include "hardware/yaml/yaml_units.h"

namespace dfsim::inline hardware {
namespace {

constexpr size_t kMaxFits = 64;
constexpr size_t kMaxProtocols = 8;

CollectiveProtocol read_protocol(YamlFields& list, const YamlNode& node) {
  YamlFields fields(node, list.file(), "a protocol");
  CollectiveProtocol protocol;
  double start_us = 0;
  double step_us = 0;
  double gb_per_s = 0;
  fields.number("start_us", kTimeRange, &start_us, Need::kRequired);
  fields.number("step_us", kTimeRange, &step_us, Need::kRequired);
  fields.number("bandwidth_gb_per_s", kBandwidthRange, &gb_per_s, Need::kRequired);
  protocol.start_ns = start_us * static_cast<double>(kNsPerUs);
  protocol.step_ns = step_us * static_cast<double>(kNsPerUs);
  protocol.bytes_per_s = gb_per_s * kGiga;
  list.error(fields.finish());
  return protocol;
}

void check_names(YamlFields& fields, const Platform& platform, const CollectiveTiming& timing) {
  const bool any =
      std::any_of(platform.links.begin(), platform.links.end(),
                  [&](const LinkSpec& link) { return matches_pattern(link.name, timing.over); });
  if (!any) {
    fields.error("over", fmt::format("found '{}', the name of no link of this platform, expected "
                                     "some; name links, * stands for any text",
                                     printable(timing.over)));
  }
  const std::vector<std::string> known = collective_operations();
  if (!timing.operation.empty() &&
      std::find(known.begin(), known.end(), timing.operation) == known.end()) {
    fields.error("operation", unknown_name_message("collective", timing.operation, known));
  }
}

CollectiveTiming read_timing(YamlFields& list, const YamlNode& node, const SourceTable& sources,
                             const Platform& platform) {
  YamlFields fields(node, list.file(), "a fit of collectives");
  CollectiveTiming timing;
  fields.text("over", &timing.over, Need::kRequired);
  fields.text("operation", &timing.operation);
  timing.source = read_source(fields, sources);
  const YamlNode* protocols = fields.list("protocols", Need::kRequired);
  if (protocols != nullptr) {
    if (protocols->items.empty() || protocols->items.size() > kMaxProtocols) {
      fields.error("protocols", fmt::format("found {} protocols, expected 1 to {}; give the ways "
                                            "that a call may take",
                                            protocols->items.size(), kMaxProtocols));
    }
    for (const YamlNode& protocol : protocols->items) {
      timing.protocols.push_back(read_protocol(fields, protocol));
    }
  }
  if (!fields.failed()) {
    check_names(fields, platform, timing);
  }
  list.error(fields.finish());
  return timing;
}

}  // namespace

void read_collectives(YamlFields& fields, const SourceTable& sources, Platform* platform) {
  const YamlNode* list = fields.list("collectives");
  if (list == nullptr) {
    return;
  }
  if (list->items.size() > kMaxFits) {
    fields.error("collectives", fmt::format("found {} fits, expected at most {}; shorten the list",
                                            list->items.size(), kMaxFits));
    return;
  }
  for (const YamlNode& node : list->items) {
    platform->collectives.push_back(read_timing(fields, node, sources, *platform));
    if (fields.failed()) {
      return;
    }
  }
}

}  // namespace dfsim::inline hardware
