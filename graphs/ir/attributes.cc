#include "graphs/ir/attributes.h"

#include <algorithm>
#include <cmath>

namespace dfsim::inline graphs {

int64_t ConstValue::as_int(size_t i) const {
  if (!is_floating(dtype)) {
    return ints[i];
  }
  constexpr double kBound = 9.2e18;  // below 2^63, so that the conversion is defined
  return std::isnan(floats[i]) ? 0 : static_cast<int64_t>(std::clamp(floats[i], -kBound, kBound));
}

void Attributes::set(std::string name, AttrValue value) {
  for (auto& [existing, old_value] : entries_) {
    if (existing == name) {
      old_value = std::move(value);
      return;
    }
  }
  entries_.emplace_back(std::move(name), std::move(value));
}

const AttrValue* Attributes::find(std::string_view name) const {
  for (const auto& [existing, value] : entries_) {
    if (existing == name) {
      return &value;
    }
  }
  return nullptr;
}

std::optional<int64_t> Attributes::get_int(std::string_view name) const {
  const AttrValue* value = find(name);
  const auto* number = value != nullptr ? std::get_if<int64_t>(value) : nullptr;
  return number != nullptr ? std::optional(*number) : std::nullopt;
}

std::optional<double> Attributes::get_float(std::string_view name) const {
  const AttrValue* value = find(name);
  const auto* number = value != nullptr ? std::get_if<double>(value) : nullptr;
  return number != nullptr ? std::optional(*number) : std::nullopt;
}

const std::string* Attributes::get_string(std::string_view name) const {
  const AttrValue* value = find(name);
  return value != nullptr ? std::get_if<std::string>(value) : nullptr;
}

const std::vector<int64_t>* Attributes::get_ints(std::string_view name) const {
  const AttrValue* value = find(name);
  return value != nullptr ? std::get_if<std::vector<int64_t>>(value) : nullptr;
}

std::string Attributes::string_or(std::string_view name, std::string_view fallback) const {
  const std::string* text = get_string(name);
  return text != nullptr ? *text : std::string(fallback);
}

}  // namespace dfsim::inline graphs
