#include "datasets/traces/chrome/chrome_event.h"

#include <simdjson.h>

#include <algorithm>

#include "datasets/importers/trace_events.h"
#include "datasets/tables/numbers.h"
#include "datasets/traces/json_stream.h"

namespace dfsim::inline datasets {
namespace {

namespace od = simdjson::ondemand;
using simdjson::SUCCESS;

static_assert(JsonStream::kPaddingBytes >= simdjson::SIMDJSON_PADDING);

// The value as text of the file; false on an error.
bool raw_text(od::value value, std::string_view* text) {
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
  *text = trim(value.raw_json_token());
  return true;
}

// A string without escapes, or the text of any other value.
bool plain_text(od::value value, std::string_view* text) {
  od::json_type type{};
  if (value.type().get(type) != SUCCESS) {
    return false;
  }
  if (type == od::json_type::string) {
    return value.get_string().get(*text) == SUCCESS;
  }
  return raw_text(value, text);
}

// A time that can be calculated with; 1e17 us are three thousand years.
double usable_time(double us) {
  constexpr double kMaxUs = 1e17;
  return std::abs(us) <= kMaxUs ? us : ChromeEvent::kMissing;
}

// Numbers, also those between quotes.
bool number(od::value value, double* result) {
  od::json_type type{};
  if (value.type().get(type) != SUCCESS) {
    return false;
  }
  if (type == od::json_type::number) {
    double parsed = 0;
    if (value.get_double().get(parsed) != SUCCESS) {
      return false;
    }
    *result = usable_time(parsed);
    return true;
  }
  std::string_view text;
  if (!plain_text(value, &text)) {
    return false;
  }
  const double parsed = parse_number<double>(text).value_or(ChromeEvent::kMissing);
  *result = usable_time(parsed);
  return true;
}

// The end of the string that begins at `at`, behind its quote.
size_t end_of_string(std::string_view json, size_t at) {
  for (++at; at < json.size() && json[at] != '"'; ++at) {
    at += json[at] == '\\' ? 1 : 0;
  }
  return std::min(at + 1, json.size());
}

// The end of the value that begins at `at`.
size_t end_of_value(std::string_view json, size_t at) {
  int64_t depth = 0;
  while (at < json.size()) {
    switch (json[at]) {
      case '"':
        at = end_of_string(json, at);
        break;
      case '{':
      case '[':
        ++depth;
        ++at;
        break;
      case '}':
      case ']':
        if (depth == 0) {
          return at;
        }
        --depth;
        ++at;
        break;
      case ',':
        if (depth == 0) {
          return at;
        }
        ++at;
        break;
      default:
        ++at;
    }
  }
  return at;
}

bool read_field(std::string_view key, od::value value, ChromeEvent* event) {
  if (key == "args") {
    return raw_text(value, &event->raw_args);
  }
  if (key == "ph") {
    return plain_text(value, &event->phase);
  }
  if (key == "cat") {
    return plain_text(value, &event->category);
  }
  if (key == "name") {
    return plain_text(value, &event->name);
  }
  if (key == "pid") {
    return plain_text(value, &event->process);
  }
  if (key == "tid") {
    return plain_text(value, &event->thread);
  }
  if (key == "id" || key == "bind_id") {
    return plain_text(value, &event->id);
  }
  if (key == "ts") {
    return number(value, &event->start_us);
  }
  if (key == "dur") {
    return number(value, &event->duration_us);
  }
  std::string_view ignored;
  return raw_text(value, &ignored);
}

}  // namespace

const ChromeEvent::Args& ChromeEvent::args() const {
  if (split_) {
    return args_;
  }
  split_ = true;
  const std::string_view json = raw_args;
  size_t at = json.starts_with('{') ? 1 : json.size();
  while ((at = json.find('"', at)) < json.size()) {
    const size_t key_end = end_of_string(json, at);
    const std::string_view key = json.substr(at + 1, key_end - at - 2);
    const size_t colon = json.find(':', key_end);
    if (colon == std::string_view::npos) {
      break;
    }
    const size_t end = end_of_value(json, colon + 1);
    args_.emplace_back(key, trim(json.substr(colon + 1, end - colon - 1)));
    at = end;
  }
  return args_;
}

std::string_view ChromeEvent::arg(std::string_view key) const {
  for (const auto& [name, value] : args()) {
    if (name == key) {
      return value;
    }
  }
  return "";
}

std::string_view ChromeEvent::text_arg(std::string_view key) const {
  return unquote_json(arg(key));
}

int64_t ChromeEvent::int_arg(std::string_view key, int64_t otherwise) const {
  return parse_number<int64_t>(text_arg(key)).value_or(otherwise);
}

double ChromeEvent::number_arg(std::string_view key, double otherwise) const {
  return parse_number<double>(text_arg(key)).value_or(otherwise);
}

struct ChromeEventParser::State {
  od::parser parser;
};

ChromeEventParser::ChromeEventParser() : state_(std::make_unique<State>()) {}
ChromeEventParser::~ChromeEventParser() = default;

bool ChromeEventParser::parse(std::string_view json, ChromeEvent* event) {
  event->phase = event->category = event->name = event->process = event->thread = event->id = "";
  event->start_us = event->duration_us = ChromeEvent::kMissing;
  event->clear_args();
  od::document document;
  od::object object;
  if (state_->parser.iterate(json.data(), json.size(), json.size() + JsonStream::kPaddingBytes)
              .get(document) != SUCCESS ||
      document.get_object().get(object) != SUCCESS) {
    return false;
  }
  for (auto item : object) {
    od::field field;
    std::string_view key;
    // NOLINTNEXTLINE(performance-move-const-arg)
    if (std::move(item).get(field) != SUCCESS || field.unescaped_key().get(key) != SUCCESS ||
        !read_field(key, field.value(), event)) {
      return false;
    }
  }
  return true;
}

}  // namespace dfsim::inline datasets
