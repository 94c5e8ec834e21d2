// Kernel sets to bytes and back.
//
// Values next to each other on a sheet differ little, so their differences have few distinct high
// bytes; low and high bytes stand apart, which halves what zlib makes of them.
#include "serving/kernels/kernel_set.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace dfsim::inline serving {

namespace {

using Json = nlohmann::json;

constexpr std::string_view kKernelSetMagic = "dfsim-kernels/1\n";
constexpr double kSheetStep = 0.004;
constexpr uint64_t kMostSetBytes = uint64_t{256} << 20;

Json::binary_t pack_sheets(const KernelCategory& category) {
  const size_t cells = category.axis0.size() * category.axis1.size();
  const size_t count = cells * category.sheets.size();
  Json::binary_t bytes(std::vector<uint8_t>(2 * count));
  size_t at = 0;
  for (const std::vector<float>& sheet : category.sheets) {
    int before = 0;
    for (const float value : sheet) {
      const int step = static_cast<int>(std::lround(static_cast<double>(value) / kSheetStep));
      const auto difference = static_cast<uint16_t>(static_cast<int16_t>(step - before));
      bytes[at] = static_cast<uint8_t>(difference & 0xFF);
      bytes[count + at] = static_cast<uint8_t>(difference >> 8);
      before = step;
      ++at;
    }
  }
  return bytes;
}

// False when the bytes do not fit the grid.
bool unpack_sheets(const Json::binary_t& bytes, KernelCategory* category) {
  const size_t cells = category->axis0.size() * category->axis1.size();
  const size_t count = cells * category->anchors.size();
  if (bytes.size() != 2 * count) {
    return false;
  }
  size_t at = 0;
  for (size_t i = 0; i < category->anchors.size(); ++i) {
    std::vector<float> sheet(cells);
    int before = 0;
    for (float& value : sheet) {
      before += static_cast<int16_t>(static_cast<uint16_t>(bytes[at] | (bytes[count + at] << 8)));
      value = static_cast<float>(before * kSheetStep);
      ++at;
    }
    category->sheets.push_back(std::move(sheet));
  }
  return true;
}

Json errors_to_json(const KernelErrors& e) {
  return {{"rows", e.rows}, {"mape", e.mape},     {"median", e.median},
          {"p90", e.p90},   {"bias", e.bias},     {"low", e.low},
          {"high", e.high}, {"inside", e.inside}, {"sigma", e.sigma}};
}

KernelErrors errors_from_json(const Json& json) {
  KernelErrors e;
  e.rows = json.at("rows").get<int64_t>();
  e.mape = json.at("mape").get<double>();
  e.median = json.at("median").get<double>();
  e.p90 = json.at("p90").get<double>();
  e.bias = json.at("bias").get<double>();
  e.low = json.at("low").get<double>();
  e.high = json.at("high").get<double>();
  e.inside = json.at("inside").get<double>();
  e.sigma = json.at("sigma").get<double>();
  return e;
}

bool is_axis(const std::vector<double>& axis) {
  return !axis.empty() && axis.front() > 0 &&
         std::is_sorted(axis.begin(), axis.end(), std::less_equal<>());
}

// Throws Json::exception or std::string (the problem).
KernelCategory category_from_json(const Json& json) {
  KernelCategory category;
  category.name = json.at("name").get<std::string>();
  category.axis0 = json.at("axis0").get<std::vector<double>>();
  category.axis1 = json.at("axis1").get<std::vector<double>>();
  category.anchors = json.at("anchors").get<std::vector<std::vector<double>>>();
  category.errors = errors_from_json(json.at("errors"));
  const bool ragged = std::any_of(
      category.anchors.begin(), category.anchors.end(),
      [&](const std::vector<double>& a) { return a.size() != category.anchors.front().size(); });
  if (!is_axis(category.axis0) || !is_axis(category.axis1) || category.anchors.empty() || ragged ||
      category.anchors.front().empty() ||
      !unpack_sheets(json.at("sheets").get_binary(), &category)) {
    throw fmt::format("category '{}' contradicts itself", category.name);
  }
  return category;
}

KernelSurface surface_from_json(const Json& json) {
  const std::string name = json.at("kind").get<std::string>();
  for (int i = 0; i < kKernelKindCount; ++i) {
    const auto kind = static_cast<KernelKind>(i);
    if (kernel_kind_name(kind) != name) {
      continue;
    }
    std::vector<KernelCategory> categories;
    for (const Json& entry : json.at("categories")) {
      categories.push_back(category_from_json(entry));
    }
    return {kind, std::move(categories)};
  }
  throw fmt::format("unknown kind '{}'", name);
}

StatusOr<std::vector<uint8_t>> inflate_set(const std::string& bytes, const std::string& place) {
  const size_t header = kKernelSetMagic.size() + 8;
  if (bytes.size() < header || !std::string_view(bytes).starts_with(kKernelSetMagic)) {
    return invalid_input(
        fmt::format("{}: is not a file of serving kernels (dfsim-kernels/1)", place));
  }
  uint64_t size = 0;
  for (size_t i = 0; i < 8; ++i) {
    size |= static_cast<uint64_t>(static_cast<uint8_t>(bytes[kKernelSetMagic.size() + i])) << 8 * i;
  }
  if (size > kMostSetBytes) {
    return invalid_input(fmt::format("{}: is damaged: it announces {} bytes", place, size));
  }
  std::vector<uint8_t> raw(size);
  uLongf length = size;
  const int result =
      uncompress(raw.data(), &length, reinterpret_cast<const Bytef*>(bytes.data()) + header,
                 static_cast<uLong>(bytes.size() - header));
  if (result != Z_OK || length != size) {
    return invalid_input(fmt::format("{}: is damaged: its content cannot be unpacked", place));
  }
  return raw;
}

KernelSet set_from_json(const Json& json) {
  KernelSet set;
  set.system = json.at("system").get<std::string>();
  set.framework = json.at("framework").get<std::string>();
  set.version = json.at("version").get<std::string>();
  const Json& gpu = json.at("gpu");
  set.gpu = {gpu.at("peak_16bit").get<double>(), gpu.at("peak_8bit").get<double>(),
             gpu.at("bandwidth").get<double>(), gpu.at("link").get<double>()};
  for (const Json& surface : json.at("surfaces")) {
    set.surfaces.push_back(surface_from_json(surface));
  }
  return set;
}

}  // namespace

const KernelSurface* KernelSet::find(KernelKind kind) const {
  const auto at = std::find_if(surfaces.begin(), surfaces.end(),
                               [&](const KernelSurface& s) { return s.kind() == kind; });
  return at == surfaces.end() ? nullptr : &*at;
}

std::string encode_kernel_set(const KernelSet& set) {
  Json json = {{"system", set.system},
               {"framework", set.framework},
               {"version", set.version},
               {"gpu",
                {{"peak_16bit", set.gpu.peak_16bit},
                 {"peak_8bit", set.gpu.peak_8bit},
                 {"bandwidth", set.gpu.bandwidth},
                 {"link", set.gpu.link}}},
               {"surfaces", Json::array()}};
  for (const KernelSurface& surface : set.surfaces) {
    Json entry = {{"kind", kernel_kind_name(surface.kind())}, {"categories", Json::array()}};
    for (const KernelCategory& category : surface.categories()) {
      entry["categories"].push_back({{"name", category.name},
                                     {"axis0", category.axis0},
                                     {"axis1", category.axis1},
                                     {"anchors", category.anchors},
                                     {"errors", errors_to_json(category.errors)},
                                     {"sheets", Json::binary(pack_sheets(category))}});
    }
    json["surfaces"].push_back(std::move(entry));
  }
  const std::vector<uint8_t> raw = Json::to_cbor(json);
  uLongf length = compressBound(static_cast<uLong>(raw.size()));
  std::string packed(length, '\0');
  compress2(reinterpret_cast<Bytef*>(packed.data()), &length, raw.data(),
            static_cast<uLong>(raw.size()), 9);
  packed.resize(length);
  std::string bytes(kKernelSetMagic);
  for (size_t i = 0; i < 8; ++i) {
    bytes += static_cast<char>(static_cast<uint64_t>(raw.size()) >> 8 * i & 0xFF);
  }
  return bytes + packed;
}

StatusOr<KernelSet> decode_kernel_set(const std::string& bytes, const std::string& place) {
  DFSIM_ASSIGN_OR_RETURN(const std::vector<uint8_t> raw, inflate_set(bytes, place));
  try {
    return set_from_json(Json::from_cbor(raw));
  } catch (const Json::exception& error) {
    return invalid_input(fmt::format("{}: is damaged: {}", place, error.what()));
  } catch (const std::string& problem) {
    return invalid_input(fmt::format("{}: is damaged: {}", place, problem));
  }
}

}  // namespace dfsim::inline serving
