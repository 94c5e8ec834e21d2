// Matches figures with their sources. Only figures that the file has can be cited, so that a
// misspelt key in `cite` is an error and not a citation of nothing.
#include "hardware/sources.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace dfsim::inline hardware {
namespace {

constexpr size_t kMaxSources = 200;

std::vector<std::string> ids_of(const SourceTable& sources) {
  std::vector<std::string> ids;
  for (const auto& [id, words] : sources) {
    ids.push_back(id);
  }
  return ids;
}

const YamlNode* value_of(const YamlNode& map, std::string_view key) {
  for (size_t i = 0; i < map.keys.size(); ++i) {
    if (map.keys[i].text == key) {
      return &map.items[i];
    }
  }
  return nullptr;
}

// Every name that `cite` may use: the figures that are there and their subkeys.
std::vector<std::string> citable(const YamlNode& node, const std::vector<std::string>& figures) {
  std::vector<std::string> names = {"default"};
  for (const std::string& figure : figures) {
    const YamlNode* value = value_of(node, figure);
    if (value == nullptr) {
      continue;
    }
    names.push_back(figure);
    for (const YamlKey& key : value->keys) {
      names.push_back(figure + "." + key.text);
    }
  }
  return names;
}

}  // namespace

SourceTable read_sources(YamlFields& fields) {
  SourceTable sources;
  const YamlNode* map = fields.map("sources");
  if (map == nullptr) {
    return sources;
  }
  if (map->keys.size() > kMaxSources) {
    fields.error("sources", fmt::format("found {} sources, expected at most {}; shorten the list",
                                        map->keys.size(), kMaxSources));
    return sources;
  }
  YamlFields entries(*map, fields.file(), "sources");
  for (const YamlKey& key : map->keys) {
    entries.text(key.text, &sources[key.text]);
  }
  fields.error(entries.finish());
  return sources;
}

std::string read_source(YamlFields& fields, const SourceTable& sources) {
  std::string id;
  if (!fields.text("source", &id)) {
    return "";
  }
  const auto it = sources.find(id);
  if (it == sources.end()) {
    fields.error("source", unknown_name_message("source", id, ids_of(sources)));
    return "";
  }
  return it->second;
}

std::vector<Citation> read_citations(YamlFields& fields, const YamlNode& node,
                                     const std::vector<std::string>& figures,
                                     const SourceTable& sources) {
  const YamlNode* map = fields.map("cite");
  if (map == nullptr) {
    return {};
  }
  YamlFields entries(*map, fields.file(), "cite");
  std::map<std::string, std::string> cited;
  const std::vector<std::string> names = citable(node, figures);
  for (const std::string& name : names) {
    std::string id;
    if (!entries.text(name, &id)) {
      continue;
    }
    const auto it = sources.find(id);
    if (it == sources.end()) {
      entries.error(name, unknown_name_message("source", id, ids_of(sources)));
    } else {
      cited[name] = it->second;
    }
  }
  fields.error(entries.finish());
  std::vector<Citation> citations;
  for (const std::string& name : names) {
    const bool is_subkey = name.find('.') != std::string::npos;
    const auto own = cited.find(name);
    const auto by_default = cited.find("default");
    if (own != cited.end() && name != "default") {
      citations.push_back({name, own->second});
    } else if (!is_subkey && name != "default" && by_default != cited.end()) {
      citations.push_back({name, by_default->second});
    }
  }
  return citations;
}

}  // namespace dfsim::inline hardware
