// Strict reading of one YAML map. Each request for a key registers it; finish() compares the
// map's keys with the requests, which finds unknown keys without a second list, and reports the
// first error in the order of the file.
#include "hardware/yaml/yaml_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/text.h"

namespace dfsim::inline hardware {
namespace {

constexpr size_t kMaxTextLength = 2000;
constexpr size_t kMaxTexts = 1000;

bool parse_number(const std::string& text, double* out) {
  const char* begin = text.data() + (text.starts_with('+') ? 1 : 0);
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(begin, end, *out);
  // Out of the range of a double: practically infinite, or zero.
  if (error == std::errc::result_out_of_range && stop == end) {
    const bool tiny = text.find("e-") != std::string::npos || text.find("E-") != std::string::npos;
    *out = tiny ? 0 : std::numeric_limits<double>::infinity();
    return true;
  }
  return error == std::errc() && stop == end && begin != end;
}

std::string range_text(YamlRange range) {
  return fmt::format("a number from {:g} to {:g}{}{}", range.min, range.max,
                     *range.unit == '\0' ? "" : " ", range.unit);
}

}  // namespace

StatusOr<double> yaml_number(const YamlNode& node, const std::string& file, YamlRange range) {
  double value = 0;
  const bool is_number =
      node.kind == YamlNode::Kind::kScalar && !node.quoted && parse_number(node.text, &value);
  if (!is_number) {
    return yaml_error(file, node.place,
                      fmt::format("found {}, expected {}; write it in digits, without unit or "
                                  "quotes (12.5)",
                                  describe(node), range_text(range)));
  }
  // The negation also catches NaN.
  if (!(value >= range.min && value <= range.max)) {
    return yaml_error(file, node.place,
                      fmt::format("found {}, expected {}; check the figure and its unit",
                                  describe(node), range_text(range)));
  }
  return value;
}

YamlFields::YamlFields(const YamlNode& node, const std::string& file, std::string what,
                       std::string page)
    : node_(node), file_(file), what_(std::move(what)), page_(std::move(page)) {
  if (node.kind != YamlNode::Kind::kMap) {
    error(yaml_error(file_, node.place,
                     fmt::format("found {}, expected {} as a map; write 'key: value' pairs",
                                 describe(node), what_)));
  }
}

const YamlNode* YamlFields::find(std::string_view key) const {
  const auto it = std::find_if(node_.keys.begin(), node_.keys.end(),
                               [key](const YamlKey& entry) { return entry.text == key; });
  return it == node_.keys.end() ? nullptr
                                : &node_.items[static_cast<size_t>(it - node_.keys.begin())];
}

void YamlFields::error(Status status) {
  if (first_error_.ok()) {
    first_error_ = std::move(status);
  }
}

void YamlFields::error(std::string_view key, std::string_view message) {
  const YamlNode* value = find(key);
  error(yaml_error(file_, value == nullptr ? node_.place : value->place, message));
}

const YamlNode* YamlFields::ask(std::string_view key, Need need) {
  asked_.emplace_back(key);
  const YamlNode* value = find(key);
  if (value == nullptr && need == Need::kRequired && node_.kind == YamlNode::Kind::kMap) {
    error(yaml_error(file_, node_.place,
                     fmt::format("found {} without '{}', expected that key; add it, see {}", what_,
                                 key, page_)));
  }
  return value;
}

const YamlNode* YamlFields::ask_kind(std::string_view key, Need need, YamlNode::Kind kind,
                                     const char* name) {
  const YamlNode* value = ask(key, need);
  if (value != nullptr && value->kind != kind) {
    error(yaml_error(
        file_, value->place,
        fmt::format("found {}, expected {} for '{}'; see {}", describe(*value), name, key, page_)));
    return nullptr;
  }
  return value;
}

const YamlNode* YamlFields::map(std::string_view key, Need need) {
  return ask_kind(key, need, YamlNode::Kind::kMap, "a map");
}

const YamlNode* YamlFields::list(std::string_view key, Need need) {
  return ask_kind(key, need, YamlNode::Kind::kList, "a list");
}

bool YamlFields::text(std::string_view key, std::string* out, Need need) {
  const YamlNode* value = ask_kind(key, need, YamlNode::Kind::kScalar, "text");
  if (value == nullptr) {
    return false;
  }
  if (value->text.empty() || value->text.size() > kMaxTextLength) {
    error(key, fmt::format("found {} characters, expected 1 to {} for '{}'; write a text",
                           value->text.size(), kMaxTextLength, key));
    return false;
  }
  *out = value->text;
  return true;
}

bool YamlFields::texts(std::string_view key, std::vector<std::string>* out, Need need) {
  const YamlNode* value = list(key, need);
  if (value == nullptr) {
    return false;
  }
  if (value->items.size() > kMaxTexts) {
    error(key, fmt::format("found {} entries, expected at most {} for '{}'; shorten the list",
                           value->items.size(), kMaxTexts, key));
    return false;
  }
  std::vector<std::string> entries;
  for (const YamlNode& item : value->items) {
    if (item.kind != YamlNode::Kind::kScalar || item.text.empty() ||
        item.text.size() > kMaxTextLength) {
      error(yaml_error(file_, item.place,
                       fmt::format("found {}, expected a text in '{}'; write "
                                   "[first, second]",
                                   describe(item), key)));
      return false;
    }
    if (std::find(entries.begin(), entries.end(), item.text) != entries.end()) {
      error(yaml_error(file_, item.place,
                       fmt::format("found {} a second time, expected each once "
                                   "in '{}'; remove one",
                                   describe(item), key)));
      return false;
    }
    entries.push_back(item.text);
  }
  *out = std::move(entries);
  return true;
}

bool YamlFields::number(std::string_view key, YamlRange range, double* out, Need need) {
  const YamlNode* value = ask(key, need);
  if (value == nullptr) {
    return false;
  }
  StatusOr<double> number = yaml_number(*value, file_, range);
  if (!number.ok()) {
    error(number.status());
    return false;
  }
  *out = *number;
  return true;
}

bool YamlFields::integer(std::string_view key, YamlRange range, int* out, Need need) {
  double value = 0;
  if (!number(key, range, &value, need)) {
    return false;
  }
  if (value != std::floor(value)) {
    error(key, fmt::format("found {}, expected a whole number for '{}'; round it",
                           describe(*find(key)), key));
    return false;
  }
  *out = static_cast<int>(value);
  return true;
}

bool YamlFields::boolean(std::string_view key, bool* out, Need need) {
  size_t index = 0;
  if (!choice(key, {"false", "true"}, &index, need)) {
    return false;
  }
  *out = index == 1;
  return true;
}

bool YamlFields::choice(std::string_view key, const std::vector<std::string>& choices, size_t* out,
                        Need need) {
  const YamlNode* value = ask(key, need);
  if (value == nullptr) {
    return false;
  }
  const auto it = std::find(choices.begin(), choices.end(), value->text);
  if (value->kind != YamlNode::Kind::kScalar || it == choices.end()) {
    error(key, fmt::format("found {} for '{}', expected one of: {}; choose one", describe(*value),
                           key, join(choices, ", ")));
    return false;
  }
  *out = static_cast<size_t>(it - choices.begin());
  return true;
}

Status YamlFields::finish() const {
  for (const YamlKey& key : node_.keys) {
    if (std::find(asked_.begin(), asked_.end(), key.text) == asked_.end()) {
      return yaml_error(file_, key.place,
                        unknown_name_message(fmt::format("key of {}", what_), key.text, asked_));
    }
  }
  return first_error_;
}

}  // namespace dfsim::inline hardware
