#include "graphs/taskgraph/json_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/text.h"

namespace dfsim::inline graphs::taskgraph {
namespace {

using Json = nlohmann::json;

constexpr size_t kMaxDepth = 64;

// Feeds the parser character by character, so that the line is known at each event.
class SourceIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  SourceIterator() = default;  // the end
  explicit SourceIterator(CharSource& source) : source_(&source) { load(); }

  reference operator*() const { return current_; }
  SourceIterator& operator++() {
    source_->get();
    load();
    return *this;
  }
  SourceIterator operator++(int) {
    SourceIterator old = *this;
    ++*this;
    return old;
  }
  bool operator==(const SourceIterator& other) const { return source_ == other.source_; }
  bool operator!=(const SourceIterator& other) const { return source_ != other.source_; }

 private:
  void load() {
    const int c = source_->peek();
    if (c == CharSource::kEnd) {
      source_ = nullptr;
    } else {
      current_ = static_cast<char>(c);
    }
  }

  CharSource* source_ = nullptr;
  char current_ = 0;
};

class Handler : public nlohmann::json_sax<Json> {
 public:
  Handler(CharSource& source, JsonListener& listener) : source_(source), listener_(listener) {}

  const Status& status() const { return status_; }

  bool null() override { return scalar(JsonEvent::Kind::kNull, 0, {}); }
  bool boolean(bool value) override {
    return scalar(JsonEvent::Kind::kBool, value ? 1 : 0, value ? "true" : "false");
  }
  bool number_integer(number_integer_t value) override {
    return scalar(JsonEvent::Kind::kNumber, static_cast<double>(value), {});
  }
  bool number_unsigned(number_unsigned_t value) override {
    return scalar(JsonEvent::Kind::kNumber, static_cast<double>(value), {});
  }
  bool number_float(number_float_t value, const string_t&) override {
    return scalar(JsonEvent::Kind::kNumber, value, {});
  }
  bool string(string_t& value) override { return scalar(JsonEvent::Kind::kString, 0, value); }
  bool binary(binary_t&) override { return false; }
  bool start_object(size_t) override { return begin(JsonEvent::Kind::kBeginObject, false); }
  bool end_object() override { return end(JsonEvent::Kind::kEndObject); }
  bool start_array(size_t) override { return begin(JsonEvent::Kind::kBeginArray, true); }
  bool end_array() override { return end(JsonEvent::Kind::kEndArray); }
  bool key(string_t& value) override {
    path_.resize(levels_.back().path_size);
    path_ += path_.empty() ? "" : "/";
    path_ += value;
    if (levels_.size() == 1 && !root_keys_.insert(value).second) {
      return stop(fmt::format("the key '{}' stands twice", printable(value, 40)));
    }
    return true;
  }
  bool parse_error(size_t, const std::string& token, const Json::exception& error) override {
    const std::string_view message = error.what();
    const size_t colon = message.rfind("; expected");
    const bool number = error.id == 406;
    return stop(number ? std::string("a number is out of range")
                       : fmt::format("malformed JSON at '{}'{}", printable(token, 40),
                                     colon == std::string_view::npos ? "" : message.substr(colon)));
  }

 private:
  struct Level {
    size_t path_size;
    bool array;
  };

  bool emit(JsonEvent::Kind kind, double number, std::string_view text) {
    JsonEvent event;
    event.kind = kind;
    event.number = number;
    event.text = text;
    event.path = path_;
    const Status status = listener_.on_event(event);
    return status.ok() || stop(status.message());
  }
  bool stop(std::string_view message) {
    if (status_.ok()) {
      status_ = source_.error(message);
    }
    return false;
  }
  void enter_element() {
    if (!levels_.empty() && levels_.back().array) {
      path_.resize(levels_.back().path_size);
      path_ += path_.empty() ? "*" : "/*";
    }
  }
  bool scalar(JsonEvent::Kind kind, double number, std::string_view text) {
    enter_element();
    return emit(kind, number, text);
  }
  bool begin(JsonEvent::Kind kind, bool array) {
    enter_element();
    if (levels_.size() >= kMaxDepth) {
      return stop(fmt::format("nested over {} levels deep", kMaxDepth));
    }
    levels_.push_back({path_.size(), array});
    return emit(kind, 0, {});
  }
  bool end(JsonEvent::Kind kind) {
    path_.resize(levels_.back().path_size);
    levels_.pop_back();
    return emit(kind, 0, {});
  }

  CharSource& source_;
  JsonListener& listener_;
  Status status_;
  std::string path_;
  std::vector<Level> levels_;
  std::set<std::string> root_keys_;
};

}  // namespace

std::string_view json_kind_name(JsonEvent::Kind kind) {
  switch (kind) {
    case JsonEvent::Kind::kNull:
      return "null";
    case JsonEvent::Kind::kBool:
      return "true or false";
    case JsonEvent::Kind::kNumber:
      return "a number";
    case JsonEvent::Kind::kString:
      return "a text";
    case JsonEvent::Kind::kBeginObject:
    case JsonEvent::Kind::kEndObject:
      return "an object";
    case JsonEvent::Kind::kBeginArray:
    case JsonEvent::Kind::kEndArray:
      return "an array";
  }
  return "?";
}

Status stream_json(CharSource& source, JsonListener& listener) {
  Handler handler(source, listener);
  const bool done = Json::sax_parse(SourceIterator(source), SourceIterator(), &handler);
  if (!done && handler.status().ok()) {
    return source.error("malformed JSON");
  }
  return handler.status();
}

}  // namespace dfsim::inline graphs::taskgraph
