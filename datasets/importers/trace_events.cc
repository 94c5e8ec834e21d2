#include "datasets/importers/trace_events.h"

#include <fmt/format.h>
#include <simdjson.h>

#include "base/io/text_file.h"
#include "base/text.h"
#include "datasets/importers/tensor_lists.h"
#include "datasets/tables/numbers.h"

namespace dfsim::inline datasets {
namespace {

namespace od = simdjson::ondemand;
using simdjson::error_code;
using simdjson::SUCCESS;

// simdjson's own limit is 4 GB.
constexpr int64_t kMaxBytes = int64_t{4'000'000'000};

error_code raw_text(od::value value, std::string_view* text) {
  od::json_type type{};
  if (const error_code error = value.type().get(type)) {
    return error;
  }
  if (type == od::json_type::array) {
    od::array array;
    const error_code error = value.get_array().get(array);
    return error != SUCCESS ? error : array.raw_json().get(*text);
  }
  if (type == od::json_type::object) {
    od::object object;
    const error_code error = value.get_object().get(object);
    return error != SUCCESS ? error : object.raw_json().get(*text);
  }
  *text = value.raw_json_token();
  while (!text->empty() && std::isspace(static_cast<unsigned char>(text->back())) != 0) {
    text->remove_suffix(1);
  }
  return SUCCESS;
}

error_code read_args(od::value value, TraceEvent* event) {
  od::object args;
  if (value.get_object().get(args) != SUCCESS) {
    std::string_view ignored;
    return raw_text(value, &ignored);
  }
  for (auto item : args) {
    od::field field;
    std::string_view key;
    std::string_view text;
    if (const error_code error = std::move(item).get(field)) {
      return error;
    }
    if (const error_code error = field.unescaped_key().get(key)) {
      return error;
    }
    if (const error_code error = raw_text(field.value(), &text)) {
      return error;
    }
    event->args.emplace_back(key, text);
  }
  return SUCCESS;
}

error_code read_field(std::string_view key, od::value value, TraceEvent* event) {
  if (key == "args") {
    return read_args(value, event);
  }
  std::string_view text;
  if (const error_code error = raw_text(value, &text)) {
    return error;
  }
  if (key == "ph") {
    event->phase = unquote_json(text);
  } else if (key == "cat") {
    event->category = unquote_json(text);
  } else if (key == "name") {
    event->name = unquote_json(text);
  } else if (key == "tid") {
    event->thread = text;
  } else if (key == "ts") {
    event->start_us = parse_number<double>(unquote_json(text)).value_or(-1);
  } else if (key == "dur") {
    event->duration_us = parse_number<double>(unquote_json(text)).value_or(-1);
  }
  return SUCCESS;
}

error_code read_event(od::value value, TraceEvent* event) {
  od::object object;
  if (const error_code error = value.get_object().get(object)) {
    return error;
  }
  for (auto item : object) {
    od::field field;
    std::string_view key;
    if (const error_code error = std::move(item).get(field)) {
      return error;
    }
    if (const error_code error = field.unescaped_key().get(key)) {
      return error;
    }
    if (const error_code error = read_field(key, field.value(), event)) {
      return error;
    }
  }
  return SUCCESS;
}

}  // namespace

std::string_view TraceEvent::arg(std::string_view key) const {
  for (const auto& [name, value] : args) {
    if (name == key) {
      return value;
    }
  }
  return "";
}

std::string_view unquote_json(std::string_view json) {
  return json.size() >= 2 && json.front() == '"' ? json.substr(1, json.size() - 2) : json;
}

std::vector<std::string_view> split_json_array(std::string_view json) {
  std::vector<std::string_view> items;
  json = trim(json);
  if (json.size() < 2 || json.front() != '[' || json.back() != ']') {
    return items;
  }
  json = json.substr(1, json.size() - 2);
  int depth = 0;
  bool quoted = false;
  size_t begin = 0;
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (quoted) {
      i += c == '\\' ? 1 : 0;
      quoted = c != '"';
    } else if (c == '"') {
      quoted = true;
    } else if (c == '[' || c == '{') {
      ++depth;
    } else if (c == ']' || c == '}') {
      --depth;
    } else if (c == ',' && depth == 0) {
      items.push_back(trim(json.substr(begin, i - begin)));
      begin = i + 1;
    }
  }
  if (const std::string_view last = trim(json.substr(begin)); !last.empty()) {
    items.push_back(last);
  }
  return items;
}

bool parse_json_extents(std::string_view json, std::vector<int64_t>* extents) {
  json = trim(json);
  if (json.size() < 2 || json.front() != '[' || json.back() != ']') {
    return false;
  }
  for (const std::string_view item : split_json_array(json)) {
    const auto extent = parse_number<int64_t>(item);
    if (!extent.has_value() || *extent < -1 || *extent > kMaxExtent) {
      return false;
    }
    extents->push_back(*extent);
  }
  return true;
}

struct TraceEvents::State {
  std::string path;
  std::string text;
  od::parser parser;
  TraceEvent event;

  // `count` is of events read so far.
  Status problem(error_code error, int64_t count) const {
    return invalid_input(fmt::format("{}: event {}: {}; the file is cut off or not JSON", path,
                                     count + 1, simdjson::error_message(error)));
  }
  Status read_array(od::array events, const OnEvent& on_event);
  Status read_object(od::object top, const OnEvent& on_event, const OnField& on_field);
};

Status TraceEvents::State::read_array(od::array events, const OnEvent& on_event) {
  event.index = 0;
  for (auto item : events) {
    const int64_t index = event.index;
    event.phase = event.category = event.name = event.thread = "";
    event.start_us = event.duration_us = -1;
    event.args.clear();
    od::value value;
    // simdjson gives values only to rvalues.
    // NOLINTNEXTLINE(performance-move-const-arg)
    if (const error_code error = std::move(item).get(value)) {
      return problem(error, index);
    }
    if (const error_code error = read_event(value, &event)) {
      return problem(error, index);
    }
    event.index = index + 1;
    on_event(event);
  }
  return ok_status();
}

Status TraceEvents::State::read_object(od::object top, const OnEvent& on_event,
                                       const OnField& on_field) {
  bool found = false;
  for (auto item : top) {
    od::field field;
    std::string_view key;
    if (const error_code error = std::move(item).get(field)) {
      return problem(error, event.index);
    }
    if (const error_code error = field.unescaped_key().get(key)) {
      return problem(error, event.index);
    }
    if (key == "traceEvents") {
      od::array events;
      if (const error_code error = field.value().get_array().get(events)) {
        return problem(error, 0);
      }
      found = true;
      DFSIM_RETURN_IF_ERROR(read_array(events, on_event));
      continue;
    }
    std::string_view text;
    if (const error_code error = raw_text(field.value(), &text)) {
      return problem(error, event.index);
    }
    on_field(key, text);
  }
  return found ? ok_status()
               : invalid_input(fmt::format("{}: a JSON object without traceEvents", path));
}

TraceEvents::TraceEvents(std::unique_ptr<State> state) : state_(std::move(state)) {}
TraceEvents::TraceEvents(TraceEvents&&) noexcept = default;
TraceEvents::~TraceEvents() = default;

StatusOr<TraceEvents> TraceEvents::open(const std::string& path) {
  auto state = std::make_unique<State>();
  state->path = path;
  DFSIM_ASSIGN_OR_RETURN(state->text, read_text_file(path, kMaxBytes));
  if (trim(state->text).empty()) {
    return invalid_input(fmt::format("{}: is empty, expected a JSON trace", path));
  }
  state->text.reserve(state->text.size() + simdjson::SIMDJSON_PADDING);
  return TraceEvents(std::move(state));
}

Status TraceEvents::for_each(const OnEvent& on_event, const OnField& on_field) {
  State& s = *state_;
  od::document document;
  od::json_type type{};
  if (const error_code error =
          s.parser.iterate(s.text.data(), s.text.size(), s.text.capacity()).get(document)) {
    return s.problem(error, 0);
  }
  if (const error_code error = document.type().get(type)) {
    return s.problem(error, 0);
  }
  if (type == od::json_type::array) {
    od::array events;
    if (const error_code error = document.get_array().get(events)) {
      return s.problem(error, 0);
    }
    return s.read_array(events, on_event);
  }
  od::object top;
  if (const error_code error = document.get_object().get(top)) {
    return invalid_input(fmt::format("{}: expected a JSON array or object of trace events: {}",
                                     s.path, simdjson::error_message(error)));
  }
  return s.read_object(top, on_event, on_field);
}

}  // namespace dfsim::inline datasets
