// One table of fields per question reads JSON bodies and query strings and writes the OpenAPI
// schema, so that the description cannot differ from what the server accepts. Values go through
// the same checks either way.
#include "server/api/question_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>

#include "base/text.h"

namespace dfsim::server {
namespace {

constexpr size_t kMostValues = 64;
constexpr size_t kLongestValue = 4096;

Status field_error(const QuestionField& field, std::string_view found, std::string_view expected) {
  return invalid_input(fmt::format("{}: found {}, expected {}; see /openapi.json", field.name,
                                   printable(found, 80), expected));
}

bool is_plain_name(const std::string& text) {
  std::error_code error;
  return !text.starts_with('.') &&
         text.find_first_not_of(
             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
             "._+-") == std::string::npos &&
         !std::filesystem::exists(text, error);
}

Status check_text(const QuestionField& field, const std::string& text) {
  if (text.size() > kLongestValue) {
    return field_error(field, fmt::format("{} bytes", text.size()),
                       fmt::format("at most {}", kLongestValue));
  }
  if (field.kind == FieldKind::kName && !is_plain_name(text)) {
    return field_error(field, "'" + text + "'", "the name of one that ships with dfsim");
  }
  if (!field.choices.empty() &&
      std::find(field.choices.begin(), field.choices.end(), text) == field.choices.end()) {
    return invalid_input(unknown_name_message(field.name, text, field.choices));
  }
  return ok_status();
}

// Sets a target from a number or a text; both JSON and queries come down to these.
class FieldSetter {
 public:
  explicit FieldSetter(const QuestionField& field) : field_(field) {}

  Status set(bool value) const {
    if (bool* const* target = std::get_if<bool*>(&field_.target)) {
      **target = value == field_.sets;
      return ok_status();
    }
    return field_error(field_, value ? "true" : "false", wanted());
  }

  Status set(double value) const {
    return std::visit(
        [&]<typename Target>(Target target) -> Status {
          using Value = std::remove_pointer_t<Target>;
          if constexpr (std::is_same_v<Value, bool>) {
            return field_error(field_, fmt::format("{}", value), wanted());
          } else if constexpr (std::is_arithmetic_v<Value>) {
            DFSIM_RETURN_IF_ERROR(check_number(value, std::is_integral_v<Value>));
            *target = static_cast<Value>(value);
            return ok_status();
          } else if constexpr (std::is_same_v<Value, std::vector<uint64_t>>) {
            DFSIM_RETURN_IF_ERROR(check_number(value, true));
            target->push_back(static_cast<uint64_t>(value));
            return check_count(target->size());
          } else {
            return field_error(field_, fmt::format("the number {}", value), wanted());
          }
        },
        field_.target);
  }

  Status set(const std::string& text) const {
    return std::visit(
        [&]<typename Target>(Target target) -> Status {
          using Value = std::remove_pointer_t<Target>;
          if constexpr (std::is_same_v<Value, std::string>) {
            DFSIM_RETURN_IF_ERROR(check_text(field_, text));
            *target = text;
            return ok_status();
          } else if constexpr (std::is_same_v<Value, std::vector<std::string>>) {
            DFSIM_RETURN_IF_ERROR(check_text(field_, text));
            target->push_back(text);
            return check_count(target->size());
          } else {
            return field_error(field_, "the text '" + text + "'", wanted());
          }
        },
        field_.target);
  }

  // Sets it from a query, where every value is a text.
  Status set_written(const std::string& text) const {
    const bool is_text = std::holds_alternative<std::string*>(field_.target) ||
                         std::holds_alternative<std::vector<std::string>*>(field_.target);
    if (is_text) {
      return set(text);
    }
    if (std::holds_alternative<bool*>(field_.target)) {
      return text == "true" || text == "1"    ? set(true)
             : text == "false" || text == "0" ? set(false)
                                              : field_error(field_, "'" + text + "'", wanted());
    }
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) {
      return field_error(field_, "'" + text + "'", wanted());
    }
    return set(value);
  }

 private:
  std::string wanted() const {
    struct Names {
      const char* operator()(const bool*) const { return "true or false"; }
      const char* operator()(const std::string*) const { return "a text"; }
      const char* operator()(const std::vector<std::string>*) const { return "a list of texts"; }
      const char* operator()(const std::vector<uint64_t>*) const { return "a list of numbers"; }
      const char* operator()(const double*) const { return "a number"; }
      const char* operator()(const void*) const { return "a whole number"; }
    };
    return std::visit(Names(), field_.target);
  }
  Status check_number(double value, bool whole) const {
    if (!(value >= field_.least && value <= field_.greatest) ||
        (whole && value != std::floor(value))) {
      return field_error(field_, fmt::format("{}", value),
                         fmt::format("a {}number from {} to {}", whole ? "whole " : "",
                                     field_.least, field_.greatest));
    }
    return ok_status();
  }
  Status check_count(size_t count) const {
    return count <= kMostValues ? ok_status()
                                : field_error(field_, fmt::format("{} values", count),
                                              fmt::format("at most {}", kMostValues));
  }

  const QuestionField& field_;
};

const QuestionField* find_field(const QuestionFields& fields, std::string_view name) {
  const auto found = std::find_if(fields.begin(), fields.end(),
                                  [&](const QuestionField& field) { return field.name == name; });
  return found == fields.end() ? nullptr : &*found;
}

Status unknown_field(const QuestionFields& fields, std::string_view name) {
  std::vector<std::string> names;
  for (const QuestionField& field : fields) {
    names.push_back(field.name);
  }
  return invalid_input(unknown_name_message("field", std::string(name), names));
}

Status set_json(const QuestionField& field, const JsonValue& value) {
  const FieldSetter setter(field);
  bool flag = false;
  double number = 0;
  std::string_view text;
  if (value.get(&flag)) {
    return setter.set(flag);
  }
  if (value.get(&number)) {
    return setter.set(number);
  }
  if (value.get(&text)) {
    return setter.set(std::string(text));
  }
  const bool is_list = std::holds_alternative<std::vector<std::string>*>(field.target) ||
                       std::holds_alternative<std::vector<uint64_t>*>(field.target);
  if (!value.is(JsonKind::kArray) || !is_list) {
    return field_error(field, value.is(JsonKind::kNull) ? "null" : value.minified(),
                       "another kind of value");
  }
  Status status;
  value.each_element([&](const JsonValue& element) {
    double each_number = 0;
    std::string_view each_text;
    if (status.ok()) {
      status = element.get(&each_number) ? setter.set(each_number)
               : element.get(&each_text) ? setter.set(std::string(each_text))
                                         : field_error(field, element.minified(), "plain values");
    }
  });
  return status;
}

Status check_required(const QuestionFields& fields, const std::vector<std::string>& given) {
  for (const QuestionField& field : fields) {
    if (field.required && std::find(given.begin(), given.end(), field.name) == given.end()) {
      return invalid_input(
          fmt::format("{}: found none, expected {}; see /openapi.json", field.name, field.help));
    }
  }
  return ok_status();
}

int hex_digit(char c) {
  return c >= '0' && c <= '9'   ? c - '0'
         : c >= 'a' && c <= 'f' ? c - 'a' + 10
         : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                : -1;
}

StatusOr<std::string> unescaped(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i] == '+' ? ' ' : text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
    if (high < 0 || low < 0) {
      return invalid_input(fmt::format("query: found '{}', expected two hexadecimal digits after %",
                                       printable(text, 60)));
    }
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

}  // namespace

StatusOr<QueryParameters> parse_query(std::string_view query) {
  QueryParameters parameters;
  for (const std::string& part : split(query, '&')) {
    if (part.empty()) {
      continue;
    }
    const size_t equals = part.find('=');
    const std::string_view whole = part;
    DFSIM_ASSIGN_OR_RETURN(std::string name, unescaped(whole.substr(0, equals)));
    DFSIM_ASSIGN_OR_RETURN(
        std::string value,
        unescaped(equals == std::string::npos ? std::string_view() : whole.substr(equals + 1)));
    parameters.emplace_back(std::move(name), std::move(value));
  }
  return parameters;
}

Status read_fields(const JsonValue& object, const QuestionFields& fields) {
  if (!object.is(JsonKind::kObject)) {
    return invalid_input(
        "body: found another value, expected an object such as {\"hw\": \"a100\"}");
  }
  Status status;
  std::vector<std::string> given;
  object.each_member([&](std::string_view name, const JsonValue& value) {
    if (!status.ok()) {
      return;
    }
    const QuestionField* field = find_field(fields, name);
    const bool is_twice = std::find(given.begin(), given.end(), name) != given.end();
    status = field == nullptr ? unknown_field(fields, name)
             : is_twice       ? field_error(*field, "it twice", "it once")
                              : set_json(*field, value);
    given.emplace_back(name);
  });
  return status.ok() ? check_required(fields, given) : status;
}

Status read_fields(const QueryParameters& parameters, const QuestionFields& fields) {
  std::vector<std::string> given;
  for (const auto& [name, value] : parameters) {
    const QuestionField* field = find_field(fields, name);
    if (field == nullptr) {
      return unknown_field(fields, name);
    }
    DFSIM_RETURN_IF_ERROR(FieldSetter(*field).set_written(value));
    given.push_back(name);
  }
  return check_required(fields, given);
}

JsonTree fields_schema(const QuestionFields& fields) {
  JsonTree properties = JsonTree::object();
  JsonTree required = JsonTree::array();
  for (const QuestionField& field : fields) {
    JsonTree& schema = properties[field.name];
    schema["description"] = field.help;
    std::visit(
        [&]<typename Target>(Target) {
          using Value = std::remove_pointer_t<Target>;
          JsonTree item = JsonTree::object();
          const bool is_list = std::is_same_v<Value, std::vector<std::string>> ||
                               std::is_same_v<Value, std::vector<uint64_t>>;
          const bool is_number = (std::is_arithmetic_v<Value> && !std::is_same_v<Value, bool>) ||
                                 std::is_same_v<Value, std::vector<uint64_t>>;
          item["type"] = std::is_same_v<Value, bool>     ? "boolean"
                         : std::is_same_v<Value, double> ? "number"
                         : is_number                     ? "integer"
                                                         : "string";
          if (is_number) {
            item["minimum"] = field.least;
            item["maximum"] = field.greatest;
          }
          if (!field.choices.empty()) {
            item["enum"] = JsonTree(field.choices);
          }
          if (is_list) {
            schema["type"] = "array";
            schema["items"] = std::move(item);
          } else {
            schema.update(item);
          }
        },
        field.target);
    if (field.required) {
      required.push_back(field.name);
    }
  }
  JsonTree schema = {{"type", "object"}, {"additionalProperties", false}};
  schema["properties"] = std::move(properties);
  if (!required.empty()) {
    schema["required"] = std::move(required);
  }
  return schema;
}

}  // namespace dfsim::server
