// ConfigFields: a config.json's keys, with the checks and messages that all families share.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace dfsim::inline graphs {

// Reads fields and remembers the first problem; callers go on with harmless values and look at
// status() once. Keys that were read are known; unknown_key() finds those that no reader asked for.
class ConfigFields {
 public:
  // `object` must outlive this. `place` begins messages: "model/config.json".
  ConfigFields(const nlohmann::json& object, std::string place)
      : object_(object), place_(std::move(place)) {}

  // There and not null.
  bool has(std::string_view key);
  // A whole number from 1 (or `least`) below 2^31.
  int64_t count(std::string_view key, int64_t least = 1);
  int64_t count_or(std::string_view key, int64_t fallback, int64_t least = 1);
  bool is_list(std::string_view key);
  bool flag_or(std::string_view key, bool fallback);
  std::string text_or(std::string_view key, std::string_view fallback);
  std::vector<std::string> texts(std::string_view key);
  std::vector<int64_t> counts(std::string_view key);
  const nlohmann::json* object(std::string_view key);
  // Marks keys as understood although their values change nothing here.
  void ignore(std::initializer_list<std::string_view> keys);

  void fail(std::string_view key, const std::string& found, const std::string& expected);
  void fail_unsupported(const std::string& message);
  const Status& status() const { return status_; }
  const std::string& place() const { return place_; }

  // A key that no reader asked for, that is switched on, and whose name speaks of the network's
  // structure;
  // "" when there is none.
  std::string unknown_key() const;

 private:
  const nlohmann::json* find(std::string_view key);

  const nlohmann::json& object_;
  std::string place_;
  std::set<std::string, std::less<>> read_;
  Status status_;
};

}  // namespace dfsim::inline graphs
