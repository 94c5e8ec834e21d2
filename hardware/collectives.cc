#include "hardware/collectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>

#include "base/io/file.h"
#include "base/name_pattern.h"
#include "base/text.h"
#include "hardware/yaml/yaml_tree.h"
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

void check_names(YamlFields& fields, const Platform& platform, const CollectiveFit& fit) {
  const bool any =
      std::any_of(platform.links.begin(), platform.links.end(),
                  [&](const LinkSpec& link) { return matches_pattern(link.name, fit.over); });
  if (!any) {
    fields.error("over", fmt::format("found '{}', the name of no link of this platform, expected "
                                     "some; name links, * stands for any text",
                                     printable(fit.over)));
  }
  const std::vector<std::string> known = collective_operations();
  if (!fit.operation.empty() &&
      std::find(known.begin(), known.end(), fit.operation) == known.end()) {
    fields.error("operation", unknown_name_message("collective", fit.operation, known));
  }
}

CollectiveFit read_fit(YamlFields& list, const YamlNode& node, const SourceTable& sources,
                       const Platform& platform) {
  YamlFields fields(node, list.file(), "a fit of collectives");
  CollectiveFit fit;
  fields.text("over", &fit.over, Need::kRequired);
  fields.text("operation", &fit.operation);
  fit.source = read_source(fields, sources);
  const YamlNode* protocols = fields.list("protocols", Need::kRequired);
  if (protocols != nullptr) {
    if (protocols->items.empty() || protocols->items.size() > kMaxProtocols) {
      fields.error("protocols", fmt::format("found {} protocols, expected 1 to {}; give the ways "
                                            "that a call may take",
                                            protocols->items.size(), kMaxProtocols));
    }
    for (const YamlNode& protocol : protocols->items) {
      fit.protocols.push_back(read_protocol(fields, protocol));
    }
  }
  if (!fields.failed()) {
    check_names(fields, platform, fit);
  }
  list.error(fields.finish());
  return fit;
}

// Empty where the file cannot be read again.
std::vector<CollectiveFit> load_collectives(const Platform& platform) {
  const StatusOr<std::string> text = read_file(platform.source_file, kMaxYamlBytes);
  if (!text.ok()) {
    return {};
  }
  const StatusOr<YamlNode> node = parse_yaml(*text, platform.source_file);
  if (!node.ok()) {
    return {};
  }
  YamlFields fields(*node, platform.source_file, "a hardware file");
  return read_collectives(fields, read_sources(fields), platform);
}

}  // namespace

std::vector<std::string> collective_operations() {
  return {"all_reduce", "reduce_scatter", "all_gather", "all_to_all", "broadcast"};
}

std::vector<CollectiveFit> read_collectives(YamlFields& fields, const SourceTable& sources,
                                            const Platform& platform) {
  std::vector<CollectiveFit> fits;
  const YamlNode* list = fields.list("collectives");
  if (list == nullptr) {
    return fits;
  }
  if (list->items.size() > kMaxFits) {
    fields.error("collectives", fmt::format("found {} fits, expected at most {}; shorten the list",
                                            list->items.size(), kMaxFits));
    return fits;
  }
  for (const YamlNode& node : list->items) {
    fits.push_back(read_fit(fields, node, sources, platform));
    if (fields.failed()) {
      break;
    }
  }
  return fits;
}

const std::vector<CollectiveFit>& collectives_of(const Platform& platform) {
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<std::vector<CollectiveFit>>> known;
  const std::lock_guard<std::mutex> lock(mutex);
  auto& fits = known[platform.source_file];
  if (fits == nullptr) {
    fits = std::make_unique<std::vector<CollectiveFit>>(load_collectives(platform));
  }
  return *fits;
}

}  // namespace dfsim::inline hardware
