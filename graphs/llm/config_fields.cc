// Fields of a config.json. A null counts as absent, as Hugging Face's own readers have it.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "graphs/llm/config_fields_internal.h"

namespace dfsim::inline graphs {

namespace {

using Json = nlohmann::json;

constexpr int64_t kMostOfAField = (int64_t{1} << 31) - 1;

// Parts of names that speak of structure. Anything else (dropout, initialisation, token ids,
// versions) changes neither sizes nor kernels.
constexpr std::array<std::string_view, 24> kStructuralWords = {
    "num_", "_size",     "_dim",   "rank",  "layer",  "expert", "head",     "window",
    "attn", "attention", "moe",    "mlp",   "ffn",    "share",  "state",    "conv",
    "ssm",  "mamba",     "hidden", "block", "sparse", "linear", "quantize", "lora"};

std::string shown(const Json& value) { return printable(value.dump().substr(0, 40)); }

}  // namespace

const Json* ConfigFields::find(std::string_view key) {
  read_.emplace(key);
  const auto at = object_.find(std::string(key));
  return at == object_.end() || at->is_null() ? nullptr : &*at;
}

bool ConfigFields::has(std::string_view key) { return find(key) != nullptr; }

int64_t ConfigFields::count(std::string_view key, int64_t least) {
  const Json* value = find(key);
  const std::string expected = fmt::format("a whole number from {} to {}", least, kMostOfAField);
  if (value == nullptr) {
    fail(key, "missing", expected);
    return std::max<int64_t>(least, 1);
  }
  const double number = value->is_number() ? value->get<double>() : -1e30;
  if (!value->is_number() || number < static_cast<double>(least) ||
      number > static_cast<double>(kMostOfAField) ||
      number != static_cast<double>(static_cast<int64_t>(number))) {
    fail(key, shown(*value), expected);
    return std::max<int64_t>(least, 1);
  }
  return static_cast<int64_t>(number);
}

int64_t ConfigFields::count_or(std::string_view key, int64_t fallback, int64_t least) {
  return has(key) ? count(key, least) : fallback;
}

bool ConfigFields::is_list(std::string_view key) {
  const Json* value = find(key);
  return value != nullptr && value->is_array();
}

bool ConfigFields::flag_or(std::string_view key, bool fallback) {
  const Json* value = find(key);
  if (value == nullptr) {
    return fallback;
  }
  if (!value->is_boolean()) {
    fail(key, shown(*value), "true or false");
    return fallback;
  }
  return value->get<bool>();
}

std::string ConfigFields::text_or(std::string_view key, std::string_view fallback) {
  const Json* value = find(key);
  if (value == nullptr) {
    return std::string(fallback);
  }
  if (!value->is_string()) {
    fail(key, shown(*value), "a text");
    return std::string(fallback);
  }
  return value->get<std::string>();
}

std::vector<std::string> ConfigFields::texts(std::string_view key) {
  std::vector<std::string> result;
  const Json* value = find(key);
  if (value == nullptr) {
    return result;
  }
  for (const Json& entry : value->is_array() ? *value : Json::array()) {
    if (entry.is_string()) {
      result.push_back(entry.get<std::string>());
    }
  }
  if (!value->is_array() || result.size() != value->size()) {
    fail(key, shown(*value), "a list of texts");
  }
  return result;
}

std::vector<int64_t> ConfigFields::counts(std::string_view key) {
  std::vector<int64_t> result;
  const Json* value = find(key);
  if (value == nullptr) {
    return result;
  }
  for (const Json& entry : value->is_array() ? *value : Json::array()) {
    if (entry.is_number_integer() && entry.get<int64_t>() >= 0) {
      result.push_back(entry.get<int64_t>());
    }
  }
  if (!value->is_array() || result.size() != value->size()) {
    fail(key, shown(*value), "a list of whole numbers");
  }
  return result;
}

const Json* ConfigFields::object(std::string_view key) {
  const Json* value = find(key);
  if (value != nullptr && !value->is_object()) {
    fail(key, shown(*value), "an object");
    return nullptr;
  }
  return value;
}

void ConfigFields::ignore(std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) {
    read_.emplace(key);
  }
}

void ConfigFields::fail(std::string_view key, const std::string& found,
                        const std::string& expected) {
  if (status_.ok()) {
    status_ = invalid_input(fmt::format("{}: {} is {}, expected {}", place_, key, found, expected));
  }
}

void ConfigFields::fail_unsupported(const std::string& message) {
  if (status_.ok()) {
    status_ = unsupported(fmt::format("{}: {}", place_, message));
  }
}

std::string ConfigFields::unknown_key() const {
  for (const auto& item : object_.items()) {
    const std::string& key = item.key();  // clang 14 cannot capture a structured binding
    const auto& value = item.value();
    const bool off = value.is_null() || value == false || value == 0 || value == 0.0 ||
                     (value.is_array() && value.empty());
    if (off || read_.count(key) > 0) {
      continue;
    }
    const bool structural =
        std::any_of(kStructuralWords.begin(), kStructuralWords.end(),
                    [&](std::string_view word) { return key.find(word) != std::string::npos; });
    if (structural) {
      return key;
    }
  }
  return "";
}

}  // namespace dfsim::inline graphs
