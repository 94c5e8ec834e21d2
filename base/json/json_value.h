// One JSON value: its fields one after another, as a tree, or as a sequence of events.
//
// Purpose: what JsonStream (json_stream.h) gives out is text; this takes the text apart. simdjson
//   stays inside json_value.cc, the only file of the project that includes it.
// Texts that are handed in must have kJsonPaddingBytes readable bytes behind them, as the items of
//   a JsonStream have; PaddedJson makes such a text. Texts and values that come out live until the
//   parser's next call.
// Paper: Langdale, Lemire 2019, "Parsing gigabytes of JSON per second",
// doi:10.1007/s00778-019-00578-5
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/json/json_event.h"

namespace dfsim::inline base {

// Bytes that must be readable behind a text, whatever they are.
inline constexpr size_t kJsonPaddingBytes = 64;

// A copy of a text with the bytes behind it.
class PaddedJson {
 public:
  PaddedJson() = default;
  explicit PaddedJson(std::string_view json) { assign(json); }
  void assign(std::string_view json) {
    size_ = json.size();
    text_.clear();
    text_.reserve(size_ + kJsonPaddingBytes);
    text_.assign(json);
    text_.append(kJsonPaddingBytes, ' ');
  }
  std::string_view view() const { return std::string_view(text_).substr(0, size_); }

 private:
  std::string text_;
  size_t size_ = 0;
};

enum class JsonKind : uint8_t { kMissing, kNull, kBool, kNumber, kString, kArray, kObject };

// A value of a tree that a JsonParser holds. Cheap to copy.
class JsonValue {
 public:
  JsonValue() = default;  // kMissing

  JsonKind kind() const;
  bool is(JsonKind wanted) const { return kind() == wanted; }
  // False, and `value` stays as it is, when the value is of another kind or out of range. A real
  // number is no int64_t; a whole one is a double.
  bool get(int64_t* value) const;
  bool get(double* value) const;
  bool get(bool* value) const;
  bool get(std::string_view* value) const;
  // The field of an object, or what is at a pointer such as "/ids/0/handle" (RFC 6901); kMissing
  // when there is none.
  JsonValue operator[](std::string_view key) const;
  JsonValue at(std::string_view pointer) const;
  // Elements of an array, fields of an object.
  size_t size() const;
  // Calls f(JsonValue) for each element of an array; nothing for other kinds.
  template <typename F>
  void each_element(F&& f) const {
    each_element(&f, [](void* call, const JsonValue& value) {
      (*static_cast<std::remove_reference_t<F>*>(call))(value);
    });
  }
  // Calls f(std::string_view key, JsonValue) for each field of an object; nothing for other kinds.
  template <typename F>
  void each_member(F&& f) const {
    each_member(&f, [](void* call, std::string_view key, const JsonValue& value) {
      (*static_cast<std::remove_reference_t<F>*>(call))(key, value);
    });
  }
  // The value as text without blanks.
  std::string minified() const;

 private:
  friend class JsonParser;
  friend struct JsonValueAccess;
  void each_element(void* call, void (*function)(void*, const JsonValue&)) const;
  void each_member(void* call, void (*function)(void*, std::string_view, const JsonValue&)) const;

  const void* tree_ = nullptr;  // simdjson's element is this pair
  size_t place_ = 0;
};

// One field while JsonParser::each_field() reads its object. One of the functions that read the
// value may be called, once; each gives false for malformed JSON.
class JsonField {
 public:
  std::string_view key() const { return key_; }
  // The value as it stands in the file.
  bool raw(std::string_view* text);
  // The text of a string with its escapes resolved; other values as they stand.
  bool text(std::string_view* text);
  // Numbers, also those between quotes; NaN for what is neither.
  bool number(double* value);

 private:
  friend class JsonParser;
  JsonField(std::string_view key, void* value) : key_(key), value_(value) {}

  std::string_view key_;
  void* value_;
};

class JsonParser {
 public:
  JsonParser();
  ~JsonParser();
  JsonParser(const JsonParser&) = delete;
  JsonParser& operator=(const JsonParser&) = delete;

  // The whole value as a tree. On false error() says what is wrong.
  bool parse(std::string_view json, JsonValue* value);
  // The same, and false unless the value is an object.
  bool parse_object(std::string_view json, JsonValue* value);
  const std::string& error() const;

  // Calls f(JsonField&) for each field of an object, which gives false to stop. False when it was
  // stopped, for malformed JSON, and when the value is no object. Builds no tree.
  template <typename F>
  bool each_field(std::string_view json, F&& f) {
    return each_field(json, &f, [](void* call, JsonField& field) -> bool {
      return (*static_cast<std::remove_reference_t<F>*>(call))(field);
    });
  }

  // Tells `listener` of the value and all inside it, as it stands at `path` of its file. `line` is
  // the line where `json` begins. Errors (kInvalidInput, "LINE: what"): malformed JSON, nesting
  // over kMaxJsonDepth levels counted from the file's root, whatever the listener objects to.
  Status walk(std::string_view json, std::string_view path, size_t depth, size_t line,
              JsonListener& listener);

 private:
  struct State;
  bool each_field(std::string_view json, void* call, bool (*function)(void*, JsonField&));

  std::unique_ptr<State> state_;
};

}  // namespace dfsim::inline base
