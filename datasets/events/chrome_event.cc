// Takes the fields of an event that every dialect has out of its text; arguments only when asked
// for.
#include "datasets/events/chrome_event.h"

#include <algorithm>

#include "datasets/events/json_text.h"
#include "datasets/tables/numbers.h"

namespace dfsim::inline datasets {
namespace {

// A time that can be calculated with; 1e17 us are three thousand years.
double usable_time(double us) {
  constexpr double kMaxUs = 1e17;
  return std::abs(us) <= kMaxUs ? us : ChromeEvent::kMissing;
}

bool read_time(JsonField& field, double* us) {
  double number = ChromeEvent::kMissing;
  if (!field.number(&number)) {
    return false;
  }
  *us = usable_time(number);
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

bool read_event_field(JsonField& field, ChromeEvent* event) {
  const std::string_view key = field.key();
  if (key == "args") {
    return field.raw(&event->raw_args);
  }
  if (key == "ph") {
    return field.text(&event->phase);
  }
  if (key == "cat") {
    return field.text(&event->category);
  }
  if (key == "name") {
    return field.text(&event->name);
  }
  if (key == "pid") {
    return field.text(&event->process);
  }
  if (key == "tid") {
    return field.text(&event->thread);
  }
  if (key == "id" || key == "bind_id") {
    return field.text(&event->id);
  }
  if (key == "ts") {
    return read_time(field, &event->start_us);
  }
  if (key == "dur") {
    return read_time(field, &event->duration_us);
  }
  std::string_view ignored;
  return field.raw(&ignored);
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

bool ChromeEventParser::parse(std::string_view json, ChromeEvent* event) {
  event->phase = event->category = event->name = event->process = event->thread = event->id = "";
  event->start_us = event->duration_us = ChromeEvent::kMissing;
  event->clear_args();
  return parser_.each_field(json,
                            [event](JsonField& field) { return read_event_field(field, event); });
}

}  // namespace dfsim::inline datasets
