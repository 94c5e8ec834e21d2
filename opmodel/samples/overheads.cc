#include "opmodel/samples/overheads.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/io/file.h"
#include "base/text.h"

namespace dfsim::inline opmodel {

namespace {
constexpr int64_t kMaxOverheadsBytes = 1 << 20;
constexpr double kMostUs = 1e6;
}  // namespace

StatusOr<Overheads> read_overheads(const std::string& path) {
  DFSIM_ASSIGN_OR_RETURN(const std::string text, read_file(path, kMaxOverheadsBytes));
  const auto root = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!root.is_object()) {
    return invalid_input(fmt::format(
        "{}: not a JSON object; expected names of devices and microseconds, as collect.py export "
        "--overheads writes them",
        printable(path)));
  }
  Overheads overheads;
  for (const auto& [device, value] : root.items()) {
    const double us = value.is_number() ? value.get<double>() : -1;
    if (!(us >= 0 && us <= kMostUs)) {
      return invalid_input(fmt::format("{}: '{}' is {}, expected microseconds from 0 to {:.0f}",
                                       printable(path), printable(device),
                                       printable(value.dump(-1, ' ', true)), kMostUs));
    }
    overheads.emplace_back(device, us);
  }
  return overheads;
}

Status check_overheads(const Overheads& overheads, std::span<const DeviceSpec> devices) {
  std::vector<std::string> known;
  for (const DeviceSpec& device : devices) {
    known.push_back(device.model);
  }
  for (const auto& [device, unused] : overheads) {
    if (std::find(known.begin(), known.end(), device) == known.end()) {
      return not_found(
          fmt::format("overheads: {}", unknown_name_message("device", printable(device), known)));
    }
  }
  return ok_status();
}

}  // namespace dfsim::inline opmodel
