// Adapts simdjson: its tree (dom) as JsonValue, its lazy reader (ondemand) as fields and events.
//
// The lazy reader looks at each byte once and builds nothing, which is why events of traces and
// tasks of task graphs, of which a file has millions, go through it; the tree is for values whose
// parts are read in another order than they are written.
#include "base/json/json_value.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <limits>

#include "base/text.h"

namespace dfsim::inline base {

namespace dom = simdjson::dom;
namespace od = simdjson::ondemand;
using simdjson::SUCCESS;

static_assert(kJsonPaddingBytes >= simdjson::SIMDJSON_PADDING);

// A JsonValue is the bytes of simdjson's element, so that headers need not know that type.
struct JsonValueAccess {
  struct Bytes {
    const void* tree;
    size_t place;
  };
  static_assert(sizeof(dom::element) == sizeof(Bytes));
  static_assert(std::is_trivially_copyable_v<dom::element>);

  static JsonValue value_of(dom::element element) {
    const auto bytes = std::bit_cast<Bytes>(element);
    JsonValue value;
    value.tree_ = bytes.tree;
    value.place_ = bytes.place;
    return value;
  }
  static dom::element element_of(const JsonValue& value) {
    return std::bit_cast<dom::element>(Bytes{value.tree_, value.place_});
  }
};

namespace {

constexpr std::string_view kJsonBlanks = " \t\r\n";

template <typename T>
bool get_scalar(const JsonValue& value, bool missing, T* out) {
  T found{};
  if (missing || JsonValueAccess::element_of(value).get(found) != SUCCESS) {
    return false;
  }
  *out = found;
  return true;
}

std::string_view without_end_blanks(std::string_view text) {
  const size_t last = text.find_last_not_of(kJsonBlanks);
  return text.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

// The value as written in the file.
bool raw_value(od::value& value, std::string_view* text) {
  od::json_type type{};
  if (value.type().get(type) != SUCCESS) {
    return false;
  }
  if (type == od::json_type::array) {
    od::array array;
    return value.get_array().get(array) == SUCCESS && array.raw_json().get(*text) == SUCCESS;
  }
  if (type == od::json_type::object) {
    od::object object;
    return value.get_object().get(object) == SUCCESS && object.raw_json().get(*text) == SUCCESS;
  }
  *text = without_end_blanks(value.raw_json_token());
  return true;
}

bool text_value(od::value& value, std::string_view* text) {
  od::json_type type{};
  if (value.type().get(type) != SUCCESS) {
    return false;
  }
  return type == od::json_type::string ? value.get_string().get(*text) == SUCCESS
                                       : raw_value(value, text);
}

// The whole of `text` as a number, blanks at its ends apart; NaN when it is none.
double number_in(std::string_view text) {
  const size_t first = text.find_first_not_of(kJsonBlanks);
  text = without_end_blanks(text.substr(first == std::string_view::npos ? text.size() : first));
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = !text.empty() && error == std::errc() && end == text.data() + text.size();
  return whole ? number : std::numeric_limits<double>::quiet_NaN();
}

size_t lines_in(std::string_view text) {
  return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
}

// Visits a value and what is inside it, and tells the listener.
class EventWalker {
 public:
  EventWalker(std::string_view json, std::string_view path, size_t depth, size_t line,
              JsonListener& listener)
      : json_(json), path_(path), depth_(depth), line_(line), listener_(listener) {}

  Status visit(od::value value) {
    const std::string_view token = value.raw_json_token();
    at_ = static_cast<size_t>(token.data() - json_.data());
    od::json_type type{};
    if (value.type().get(type) != SUCCESS) {
      return malformed("expected a value");
    }
    switch (type) {
      case od::json_type::object:
        return visit_object(value);
      case od::json_type::array:
        return visit_array(value);
      case od::json_type::number:
        return visit_number(value, without_end_blanks(token));
      case od::json_type::string: {
        std::string_view text;
        return value.get_string().get(text) == SUCCESS
                   ? emit(JsonEvent::Kind::kString, 0, text)
                   : malformed("expected a text with valid escapes");
      }
      case od::json_type::boolean: {
        bool truth = false;
        return value.get_bool().get(truth) == SUCCESS
                   ? emit(JsonEvent::Kind::kBool, truth ? 1 : 0, truth ? "true" : "false")
                   : malformed("expected true or false");
      }
      case od::json_type::null:
        break;
    }
    return without_end_blanks(token) == "null" ? emit(JsonEvent::Kind::kNull, 0, {})
                                               : malformed("expected null");
  }

  // The error at the place that was visited last.
  Status malformed(std::string_view expected) const {
    std::string_view found = json_.substr(std::min(at_, json_.size()), 24);
    found = found.substr(0, found.find_first_of(",}] \t\r\n", 1));
    return problem(fmt::format("malformed JSON at '{}'; {}", printable(found, 40), expected));
  }

 private:
  Status problem(std::string_view message) const {
    return invalid_input(fmt::format("{}: {}", line_ + lines_in(json_.substr(0, at_)), message));
  }

  Status emit(JsonEvent::Kind kind, double number, std::string_view text) {
    JsonEvent event;
    event.kind = kind;
    event.number = number;
    event.text = text;
    event.path = path_;
    event.before = json_.substr(0, at_);
    event.first_line = line_;
    const Status status = listener_.on_event(event);
    return status.ok() ? status : problem(status.message());
  }

  Status visit_number(od::value& value, std::string_view token) {
    double number = 0;
    if (value.get_double().get(number) == SUCCESS) {
      return emit(JsonEvent::Kind::kNumber, number, {});
    }
    const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), number);
    const bool whole = end == token.data() + token.size();
    return whole && error == std::errc::result_out_of_range ? problem("a number is out of range")
                                                            : malformed("expected a number");
  }

  Status enter() {
    return ++depth_ > kMaxJsonDepth
               ? problem(fmt::format("nested over {} levels deep", kMaxJsonDepth))
               : ok_status();
  }

  Status visit_object(od::value& value) {
    DFSIM_RETURN_IF_ERROR(enter());
    DFSIM_RETURN_IF_ERROR(emit(JsonEvent::Kind::kBeginObject, 0, {}));
    od::object object;
    if (value.get_object().get(object) != SUCCESS) {
      return malformed("expected an object");
    }
    const size_t path_size = path_.size();
    for (auto item : object) {
      od::field field;
      std::string_view key;
      // NOLINTNEXTLINE(performance-move-const-arg)
      if (std::move(item).get(field) != SUCCESS) {
        return malformed("expected ',' or '}' behind this field, and ':' behind its key");
      }
      at_ = static_cast<size_t>(field.key().raw() - json_.data());
      if (field.unescaped_key().get(key) != SUCCESS) {
        return malformed("expected a key with valid escapes");
      }
      append_json_key(path_, key);
      DFSIM_RETURN_IF_ERROR(visit(field.value()));
      path_.resize(path_size);
    }
    return leave(JsonEvent::Kind::kEndObject);
  }

  Status visit_array(od::value& value) {
    DFSIM_RETURN_IF_ERROR(enter());
    DFSIM_RETURN_IF_ERROR(emit(JsonEvent::Kind::kBeginArray, 0, {}));
    od::array array;
    if (value.get_array().get(array) != SUCCESS) {
      return malformed("expected an array");
    }
    const size_t path_size = path_.size();
    path_ += path_.empty() ? "*" : "/*";
    for (auto item : array) {
      od::value element;
      // NOLINTNEXTLINE(performance-move-const-arg)
      if (std::move(item).get(element) != SUCCESS) {
        return malformed("expected ',' or ']' behind this value");
      }
      DFSIM_RETURN_IF_ERROR(visit(element));
    }
    path_.resize(path_size);
    return leave(JsonEvent::Kind::kEndArray);
  }

  // The end counts as where the last value inside is; what follows it is looked for at the end.
  Status leave(JsonEvent::Kind kind) {
    --depth_;
    return emit(kind, 0, {});
  }

  std::string_view json_;
  std::string path_;
  size_t depth_;
  size_t line_;
  JsonListener& listener_;
  size_t at_ = 0;
};

}  // namespace

JsonKind JsonValue::kind() const {
  if (tree_ == nullptr) {
    return JsonKind::kMissing;
  }
  switch (JsonValueAccess::element_of(*this).type()) {
    case dom::element_type::ARRAY:
      return JsonKind::kArray;
    case dom::element_type::OBJECT:
      return JsonKind::kObject;
    case dom::element_type::INT64:
    case dom::element_type::UINT64:
    case dom::element_type::DOUBLE:
      return JsonKind::kNumber;
    case dom::element_type::STRING:
      return JsonKind::kString;
    case dom::element_type::BOOL:
      return JsonKind::kBool;
    case dom::element_type::NULL_VALUE:
      break;
  }
  return JsonKind::kNull;
}

bool JsonValue::get(int64_t* value) const { return get_scalar(*this, tree_ == nullptr, value); }
bool JsonValue::get(double* value) const { return get_scalar(*this, tree_ == nullptr, value); }
bool JsonValue::get(bool* value) const { return get_scalar(*this, tree_ == nullptr, value); }
bool JsonValue::get(std::string_view* value) const {
  return get_scalar(*this, tree_ == nullptr, value);
}

JsonValue JsonValue::operator[](std::string_view key) const {
  dom::element found;
  const bool there =
      tree_ != nullptr && JsonValueAccess::element_of(*this)[key].get(found) == SUCCESS;
  return there ? JsonValueAccess::value_of(found) : JsonValue();
}

JsonValue JsonValue::at(std::string_view pointer) const {
  dom::element found;
  const bool there = tree_ != nullptr &&
                     JsonValueAccess::element_of(*this).at_pointer(pointer).get(found) == SUCCESS;
  return there ? JsonValueAccess::value_of(found) : JsonValue();
}

size_t JsonValue::size() const {
  dom::array array;
  dom::object object;
  if (tree_ == nullptr) {
    return 0;
  }
  const dom::element element = JsonValueAccess::element_of(*this);
  if (element.get(array) == SUCCESS) {
    return array.size();
  }
  return element.get(object) == SUCCESS ? object.size() : 0;
}

void JsonValue::each_element(void* call, void (*function)(void*, const JsonValue&)) const {
  dom::array array;
  if (tree_ == nullptr || JsonValueAccess::element_of(*this).get(array) != SUCCESS) {
    return;
  }
  for (const dom::element element : array) {
    function(call, JsonValueAccess::value_of(element));
  }
}

void JsonValue::each_member(void* call,
                            void (*function)(void*, std::string_view, const JsonValue&)) const {
  dom::object object;
  if (tree_ == nullptr || JsonValueAccess::element_of(*this).get(object) != SUCCESS) {
    return;
  }
  for (const dom::key_value_pair member : object) {
    function(call, member.key, JsonValueAccess::value_of(member.value));
  }
}

std::string JsonValue::minified() const {
  return tree_ == nullptr ? "" : simdjson::minify(JsonValueAccess::element_of(*this));
}

bool JsonField::raw(std::string_view* text) {
  return raw_value(*static_cast<od::value*>(value_), text);
}

bool JsonField::text(std::string_view* text) {
  return text_value(*static_cast<od::value*>(value_), text);
}

bool JsonField::number(double* value) {
  od::value& field = *static_cast<od::value*>(value_);
  od::json_type type{};
  if (field.type().get(type) != SUCCESS) {
    return false;
  }
  if (type == od::json_type::number) {
    return field.get_double().get(*value) == SUCCESS;
  }
  std::string_view text;
  if (!text_value(field, &text)) {
    return false;
  }
  *value = number_in(text);
  return true;
}

struct JsonParser::State {
  dom::parser trees;
  od::parser fields;
  std::string scratch;
  std::string error;
};

JsonParser::JsonParser() : state_(std::make_unique<State>()) {}
JsonParser::~JsonParser() = default;

bool JsonParser::parse(std::string_view json, JsonValue* value) {
  dom::element element;
  const auto error =
      state_->trees.parse(json.data(), json.size(), /*realloc_if_needed=*/false).get(element);
  if (error != SUCCESS) {
    state_->error = simdjson::error_message(error);
    return false;
  }
  *value = JsonValueAccess::value_of(element);
  return true;
}

bool JsonParser::parse_object(std::string_view json, JsonValue* value) {
  if (!parse(json, value)) {
    return false;
  }
  if (!value->is(JsonKind::kObject)) {
    state_->error = simdjson::error_message(simdjson::INCORRECT_TYPE);
    return false;
  }
  return true;
}

const std::string& JsonParser::error() const { return state_->error; }

bool JsonParser::each_field(std::string_view json, void* call,
                            bool (*function)(void*, JsonField&)) {
  od::document document;
  od::object object;
  if (state_->fields.iterate(json.data(), json.size(), json.size() + kJsonPaddingBytes)
              .get(document) != SUCCESS ||
      document.get_object().get(object) != SUCCESS) {
    return false;
  }
  for (auto item : object) {
    od::field field;
    std::string_view key;
    // NOLINTNEXTLINE(performance-move-const-arg)
    if (std::move(item).get(field) != SUCCESS || field.unescaped_key().get(key) != SUCCESS) {
      return false;
    }
    JsonField seen(key, &field.value());
    if (!function(call, seen)) {
      return false;
    }
  }
  return true;
}

Status JsonParser::walk(std::string_view json, std::string_view path, size_t depth, size_t line,
                        JsonListener& listener) {
  // simdjson reads the root of a text by functions of its own; as the only element of an array the
  // value is one like any other.
  std::string& scratch = state_->scratch;
  scratch.clear();
  scratch += '[';
  scratch += json;
  scratch += ']';
  scratch.append(kJsonPaddingBytes, ' ');
  const std::string_view wrapped(scratch.data(), scratch.size() - kJsonPaddingBytes);
  EventWalker walker(wrapped, path, depth, line, listener);
  od::document document;
  od::array array;
  if (state_->fields.iterate(wrapped.data(), wrapped.size(), wrapped.size() + kJsonPaddingBytes)
              .get(document) != SUCCESS ||
      document.get_array().get(array) != SUCCESS) {
    return walker.malformed("expected a value in UTF-8 whose texts end");
  }
  size_t values = 0;
  for (auto item : array) {
    od::value value;
    // NOLINTNEXTLINE(performance-move-const-arg)
    if (std::move(item).get(value) != SUCCESS || ++values > 1) {
      return walker.malformed("expected one value here");
    }
    DFSIM_RETURN_IF_ERROR(walker.visit(value));
  }
  return values == 1 ? ok_status() : walker.malformed("expected a value");
}

}  // namespace dfsim::inline base
