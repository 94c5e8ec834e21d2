// A JSON value that is put together and then written.
//
// Purpose: what --json prints, built with braces: {{"schema", "dfsim.ops/1"}, {"operators", list}}.
//   The header costs next to nothing to include; the digits of numbers and the escapes of strings
//   come from nlohmann's library, in json_tree.cc alone. To read JSON, see json_value.h.
// Invariants: members of objects keep the order in which they were added. Infinite and undefined
//   numbers are written as null, bytes that are not UTF-8 as U+FFFD.
// Complexity: operator[] is O(members); all else is O(1) or linear in what it makes.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace dfsim::inline base {

class JsonTree {
 public:
  JsonTree() = default;
  JsonTree(std::nullptr_t) {}                                     // NOLINT
  JsonTree(const char* text) : value_(std::string(text)) {}       // NOLINT
  JsonTree(std::string_view text) : value_(std::string(text)) {}  // NOLINT
  JsonTree(std::string text) : value_(std::move(text)) {}         // NOLINT
  JsonTree(bool value) : value_(value) {}                         // NOLINT
  template <std::signed_integral T>
  JsonTree(T value) : value_(static_cast<int64_t>(value)) {}  // NOLINT
  template <std::unsigned_integral T>
  requires(!std::same_as<T, bool>) JsonTree(T value)
      : value_(static_cast<uint64_t>(value)) {}  // NOLINT
  template <std::floating_point T>
  JsonTree(T value) : value_(static_cast<double>(value)) {}  // NOLINT
  // An array of the elements of a container, or an object of the entries of a map.
  template <typename Range>
  requires requires(const Range& range) {
    range.begin();
    range.end();
    requires !std::convertible_to<const Range&, std::string_view>;
    requires !std::same_as<Range, JsonTree>;
  }
  JsonTree(const Range& range) {  // NOLINT
    if constexpr (requires { typename Range::mapped_type; }) {
      value_ = Members();
      for (const auto& [key, value] : range) {
        add(key, JsonTree(value));
      }
    } else {
      value_ = Elements();
      for (const auto& element : range) {
        push_back(JsonTree(element));
      }
    }
  }
  // An object when every item is a pair of a name and a value, else an array.
  JsonTree(std::initializer_list<JsonTree> items);

  static JsonTree array(std::initializer_list<JsonTree> items = {});
  static JsonTree object();

  // The member of that name, added when there is none; null becomes an object first.
  JsonTree& operator[](std::string_view name);
  // Adds an element; null becomes an array first.
  void push_back(JsonTree element);
  // Sets all members of `other`, an object.
  void update(const JsonTree& other);
  bool empty() const { return size() == 0; }
  size_t size() const;

  // Indented by two columns per level, with a line break at the end.
  std::string text() const;
  // The same as it stands `depth` levels deep in another tree, without the line break.
  std::string indented_text(int depth) const;
  // In one line, without blanks.
  std::string compact_text() const;

 private:
  using Elements = std::vector<JsonTree>;
  using Members = std::vector<std::pair<std::string, JsonTree>>;

  bool is_member() const;
  void add(std::string name, JsonTree value);
  // `indent` < 0: compact.
  void write(int indent, int depth, std::string* out) const;

  std::variant<std::monostate, bool, int64_t, uint64_t, double, std::string, Elements, Members>
      value_;
};

}  // namespace dfsim::inline base
