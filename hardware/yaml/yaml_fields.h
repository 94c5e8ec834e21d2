// YamlFields: reads the keys of one map, strictly and with one error for the whole map.
//
// Usage: ask for every key the map may hold, then look at finish(). Asking registers the key, so an
// unknown one is found without a second list. Getters leave `out` alone when the key is absent.
// finish() reports, in this order: a key that nobody asked for (with the nearest valid one), else
// the first thing that was wrong.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "hardware/yaml/yaml_tree.h"

namespace dfsim::inline hardware {

enum class Need { kOptional, kRequired };

// Closed interval of a number; `unit` is only for messages.
struct YamlRange {
  double min = 0;
  double max = 0;
  const char* unit = "";
};

class YamlFields {
 public:
  // `what` names the map in messages: "a device". Both references outlive this object. A node that
  // is no map is an error of finish().
  // `page` is where the keys are described.
  YamlFields(const YamlNode& node, const std::string& file, std::string what,
             std::string page = "docs/reference/hardware.md");

  bool has(std::string_view key) const { return find(key) != nullptr; }
  // The value as it stands, or nullptr when absent; `kind` is checked.
  const YamlNode* map(std::string_view key, Need need = Need::kOptional);
  const YamlNode* list(std::string_view key, Need need = Need::kOptional);

  // Each returns whether the key was there and fine.
  bool text(std::string_view key, std::string* out, Need need = Need::kOptional);
  bool texts(std::string_view key, std::vector<std::string>* out, Need need = Need::kOptional);
  bool number(std::string_view key, YamlRange range, double* out, Need need = Need::kOptional);
  bool integer(std::string_view key, YamlRange range, int* out, Need need = Need::kOptional);
  bool boolean(std::string_view key, bool* out, Need need = Need::kOptional);
  // Index of the text in `choices`.
  bool choice(std::string_view key, const std::vector<std::string>& choices, size_t* out,
              Need need = Need::kOptional);

  // Adds an error of the caller's at the value of `key`, or at the map when it is absent.
  void error(std::string_view key, std::string_view message);
  // Adds a status of something read from inside this map.
  void error(Status status);

  bool failed() const { return !first_error_.ok(); }
  Status finish() const;
  const std::string& file() const { return file_; }

 private:
  const YamlNode* find(std::string_view key) const;
  const YamlNode* ask(std::string_view key, Need need);
  const YamlNode* ask_kind(std::string_view key, Need need, YamlNode::Kind kind, const char* name);

  const YamlNode& node_;
  const std::string& file_;
  std::string what_;
  std::string page_;
  std::vector<std::string> asked_;
  Status first_error_;
};

// A scalar as a finite number, or the error that says what was found.
StatusOr<double> yaml_number(const YamlNode& node, const std::string& file, YamlRange range);

}  // namespace dfsim::inline hardware
