// Splits short JSON texts that stand inside profiles and traces, such as shapes.
#include "datasets/events/json_text.h"

#include "datasets/importers/tensor_lists.h"
#include "datasets/tables/numbers.h"

namespace dfsim::inline datasets {

std::string_view unquote_json(std::string_view json) {
  return json.size() >= 2 && json.front() == '"' ? json.substr(1, json.size() - 2) : json;
}

std::vector<std::string_view> split_json_array(std::string_view json) {
  std::vector<std::string_view> items;
  json = trim(json);
  if (json.size() < 2 || json.front() != '[' || json.back() != ']') {
    return items;
  }
  json = json.substr(1, json.size() - 2);
  int depth = 0;
  bool quoted = false;
  size_t begin = 0;
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (quoted) {
      i += c == '\\' ? 1 : 0;
      quoted = c != '"';
    } else if (c == '"') {
      quoted = true;
    } else if (c == '[' || c == '{') {
      ++depth;
    } else if (c == ']' || c == '}') {
      --depth;
    } else if (c == ',' && depth == 0) {
      items.push_back(trim(json.substr(begin, i - begin)));
      begin = i + 1;
    }
  }
  if (const std::string_view last = trim(json.substr(begin)); !last.empty()) {
    items.push_back(last);
  }
  return items;
}

bool parse_json_extents(std::string_view json, std::vector<int64_t>* extents) {
  json = trim(json);
  if (json.size() < 2 || json.front() != '[' || json.back() != ']') {
    return false;
  }
  for (const std::string_view item : split_json_array(json)) {
    const auto extent = parse_number<int64_t>(item);
    if (!extent.has_value() || *extent < -1 || *extent > kMaxExtent) {
      return false;
    }
    extents->push_back(*extent);
  }
  return true;
}

}  // namespace dfsim::inline datasets
