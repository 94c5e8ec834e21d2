// Gives out the values of a JSON file: a stack says which lists and objects are open, the window
// (json_window.cc) where the next value ends.
#include "base/json/json_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/json/json_event.h"
#include "base/json/json_window_internal.h"
#include "base/text.h"

namespace dfsim::inline base {
namespace {

namespace fs = std::filesystem;

std::string field_path(std::string parent, std::string_view key) {
  append_json_key(parent, key);
  return parent;
}

std::string element_path(const std::string& parent) { return parent.empty() ? "*" : parent + "/*"; }

}  // namespace

static_assert(JsonStream::kMaxItemBytes == JsonWindow::kMaxBytes);

struct JsonStream::State : JsonWindow {
  // A list or object that is open.
  struct Level {
    bool array = false;
    std::string path;
    int64_t count = 0;  // of values in it
  };

  std::vector<std::string> lists;
  Mode mode = Mode::kRepair;
  bool started = false;
  bool done = false;
  int64_t elements = 0;
  std::vector<Level> levels;
  std::string key_text;
  std::string path_text;
  Repairs repairs;

  State(std::string name, std::vector<std::string> wanted, Mode how)
      : lists(std::move(wanted)), mode(how) {
    path = std::move(name);
    count_lines = strict();
    max_depth = strict() ? static_cast<int64_t>(kMaxJsonDepth) : max_depth;
  }
  bool strict() const { return mode == Mode::kStrict; }
  StatusOr<JsonItem> next_element();
  StatusOr<JsonItem> next_field();
  StatusOr<std::string> read_key();
  StatusOr<JsonItem> open_field(std::string key);
  StatusOr<JsonItem> whole_field();
  Status start();
  Status expect_end();
  StatusOr<bool> take_commas(std::string_view otherwise, char closing);
  StatusOr<JsonItem> finish(std::string_view reason);
  JsonItem close();
  JsonItem item(JsonItem::Kind kind, size_t length);
  Status malformed(std::string_view expected);
  bool leads_to_list(const std::string& field) const;
  bool is_list(const std::string& field) const;
};

Status JsonStream::State::malformed(std::string_view expected) {
  std::string_view found(buffer.data() + begin, std::min<size_t>(end - begin, 24));
  found = found.substr(0, found.find_first_of(",}] \t\r\n", 1));
  const size_t at = line_here();
  return invalid_input(found.empty() ? fmt::format("{}:{}: the file ends here; {}; is it cut off?",
                                                   path, at, expected)
                                     : fmt::format("{}:{}: malformed JSON at '{}'; {}", path, at,
                                                   printable(found, 40), expected));
}

bool JsonStream::State::is_list(const std::string& field) const {
  return std::find(lists.begin(), lists.end(), field) != lists.end();
}

bool JsonStream::State::leads_to_list(const std::string& field) const {
  return std::any_of(lists.begin(), lists.end(), [&field](const std::string& list) {
    return list.size() > field.size() && list.starts_with(field) && list[field.size()] == '/';
  });
}

// The `length` bytes at the beginning as an item; they are given out.
JsonItem JsonStream::State::item(JsonItem::Kind kind, size_t length) {
  JsonItem item;
  item.kind = kind;
  item.line = strict() ? line_here() : 0;
  item.json = {buffer.data() + begin, length};
  item.depth = levels.size();
  begin += length;
  return item;
}

// Ends the file: where it should, with "" as the reason, or before.
StatusOr<JsonItem> JsonStream::State::finish(std::string_view reason) {
  if (strict() && !reason.empty()) {
    return malformed(reason);
  }
  done = true;
  if (!damage.empty()) {
    reason = damage;
  }
  if (!reason.empty() && !repairs.cut_off) {
    repairs.cut_off = true;
    repairs.cut_off_reason = reason;
  }
  return JsonItem{};
}

// The end of the innermost level, whose bracket is next.
JsonItem JsonStream::State::close() {
  JsonItem closed = item(JsonItem::Kind::kClose, 1);
  closed.array = levels.back().array;
  path_text = levels.back().path;
  closed.path = path_text;
  levels.pop_back();
  closed.depth = levels.size();
  return closed;
}

// Skips what stands between two values; false at the closing bracket. `otherwise` is what a strict
// file must have here.
StatusOr<bool> JsonStream::State::take_commas(std::string_view otherwise, char closing) {
  const bool first = levels.back().count == 0;
  bool comma = false;
  while (true) {
    DFSIM_ASSIGN_OR_RETURN(const bool more, skip_blanks());
    if (!more && strict()) {
      return malformed(otherwise);
    }
    if (!more) {
      DFSIM_RETURN_IF_ERROR(
          finish(closing == ']' ? "the list of events does not end" : "the top object does not end")
              .status());
      return false;
    }
    const char c = buffer[begin];
    if (c == ',' && strict() && (first || comma)) {
      return malformed("expected a value and no second ','");
    }
    if (c == ',') {
      ++begin;
      // Extra ones are counted between elements only.
      repairs.commas += closing == ']' && (first || comma) ? 1 : 0;
      comma = true;
      continue;
    }
    if (c == closing) {
      if (strict() && comma) {
        return malformed("expected a value behind the ','");
      }
      // A comma before the bracket is one too many.
      repairs.commas += closing == ']' && !first && comma ? 1 : 0;
      return false;
    }
    if (strict() && !first && !comma) {
      return malformed(otherwise);
    }
    return true;
  }
}

StatusOr<JsonItem> JsonStream::State::next_element() {
  while (true) {
    DFSIM_ASSIGN_OR_RETURN(const bool more, take_commas("expected ',' or ']'", ']'));
    if (!more) {
      return done ? JsonItem{} : close();
    }
    const char c = buffer[begin];
    bool complete = true;
    DFSIM_ASSIGN_OR_RETURN(const size_t length, value_length(&complete));
    if (!complete) {
      if (length > kMaxItemBytes) {
        return invalid_input(
            fmt::format("{}: event {} is longer than {} MB; is a quote or bracket "
                        "missing?",
                        path, elements + 1, kMaxItemBytes >> 20));
      }
      return strict() ? malformed("expected this value to end before the file does")
                      : finish(fmt::format("it ends inside event {}", elements + 1));
    }
    if (strict() && length == 0) {
      return malformed("expected a value");
    }
    ++levels.back().count;
    JsonItem element = item(JsonItem::Kind::kElement, length);
    begin += length == 0 ? 1 : 0;  // a stray bracket
    if (c != '{' && !strict()) {
      ++repairs.strange_values;
      continue;
    }
    ++elements;
    keep_damaged = !strict();
    path_text = element_path(levels.back().path);
    element.path = path_text;
    return element;
  }
}

// The key and the colon behind it; in repaired files "" with `done` set where there is none.
StatusOr<std::string> JsonStream::State::read_key() {
  bool complete = true;
  const char c = buffer[begin];
  DFSIM_ASSIGN_OR_RETURN(const size_t key_length, value_length(&complete));
  if (c != '"' || !complete) {
    DFSIM_RETURN_IF_ERROR(
        finish(strict() ? "expected a key in quotes" : "the top object is not valid JSON")
            .status());
    return std::string();
  }
  std::string key(buffer.data() + begin + 1, key_length - 2);
  begin += key_length;
  DFSIM_ASSIGN_OR_RETURN(const bool colon, skip_blanks());
  if (!colon || buffer[begin] != ':') {
    DFSIM_RETURN_IF_ERROR(
        finish(strict() ? "expected ':' behind a key" : "the top object is not valid JSON")
            .status());
    return std::string();
  }
  ++begin;
  return key;
}

// A field's value as a whole; its key is in key_text.
StatusOr<JsonItem> JsonStream::State::whole_field() {
  bool complete = true;
  DFSIM_ASSIGN_OR_RETURN(const size_t length, value_length(&complete));
  if (!complete && strict()) {
    return malformed(length > kMaxItemBytes ? "expected a shorter value"
                                            : "expected this value to end before the file does");
  }
  if (!complete) {
    return finish(fmt::format("field \"{}\" {}", printable(key_text, 40),
                              length > kMaxItemBytes ? "is too long" : "does not end"));
  }
  if (strict() && length == 0) {
    return malformed("expected a value");
  }
  ++levels.back().count;
  JsonItem field = item(JsonItem::Kind::kField, length);
  field.key = key_text;
  field.path = path_text;
  return field;
}

// The value behind a key: the beginning of a list, an object on the way to one, or a whole field.
StatusOr<JsonItem> JsonStream::State::open_field(std::string key) {
  DFSIM_ASSIGN_OR_RETURN(const bool value, skip_blanks());
  key_text = std::move(key);
  path_text = field_path(levels.back().path, key_text);
  const char c = value ? buffer[begin] : ' ';
  const bool list = c == '[' && is_list(path_text);
  if (!list && !(c == '{' && leads_to_list(path_text))) {
    return whole_field();
  }
  ++levels.back().count;
  JsonItem opened = item(JsonItem::Kind::kOpen, 1);
  opened.array = list;
  opened.key = key_text;
  opened.path = path_text;
  levels.push_back({list, path_text, 0});
  return opened;
}

StatusOr<JsonItem> JsonStream::State::next_field() {
  DFSIM_ASSIGN_OR_RETURN(const bool more, take_commas("expected ',' or '}'", '}'));
  if (!more) {
    return done ? JsonItem{} : close();
  }
  DFSIM_ASSIGN_OR_RETURN(std::string key, read_key());
  return done ? JsonItem{} : open_field(std::move(key));
}

Status JsonStream::State::start() {
  started = true;
  DFSIM_ASSIGN_OR_RETURN(const bool three, have(2));
  if (three && std::memcmp(buffer.data() + begin, "\xEF\xBB\xBF", 3) == 0) {
    begin += 3;
  }
  DFSIM_ASSIGN_OR_RETURN(const bool more, skip_blanks());
  if (!more) {
    return invalid_input(fmt::format("{}: is empty, expected a JSON trace", path));
  }
  const char c = buffer[begin];
  if (c != '[' && c != '{') {
    return invalid_input(fmt::format("{}: begins with '{}', expected a JSON array or object", path,
                                     printable(std::string_view(&buffer[begin], 1))));
  }
  ++begin;
  levels.push_back({c == '[', "", 0});
  return ok_status();
}

// Behind the root there are blanks only; a repaired file may have anything there.
Status JsonStream::State::expect_end() {
  done = true;
  if (strict()) {
    DFSIM_ASSIGN_OR_RETURN(const bool more, skip_blanks());
    if (more) {
      return malformed("expected the end of the file");
    }
  }
  return ok_status();
}

JsonStream::JsonStream(std::unique_ptr<State> state) : state_(std::move(state)) {}
JsonStream::JsonStream(JsonStream&&) noexcept = default;
JsonStream& JsonStream::operator=(JsonStream&&) noexcept = default;
JsonStream::~JsonStream() = default;

StatusOr<JsonStream> JsonStream::open(const std::string& path, std::vector<std::string> lists,
                                      Mode mode) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) {
    return not_found(fmt::format("{}: no such file; check the path", path));
  }
  if (fs::is_directory(status)) {
    return invalid_input(fmt::format("{}: is a folder, expected a trace file", path));
  }
  if (!fs::is_regular_file(status)) {
    return invalid_input(fmt::format("{}: is not a regular file; write the JSON to a file", path));
  }
  auto state = std::make_unique<State>(path, std::move(lists), mode);
  state->file.reset(gzopen(path.c_str(), "rb"));
  if (state->file == nullptr) {
    return invalid_input(fmt::format("{}: cannot be read: {}", path, std::strerror(errno)));
  }
  gzbuffer(state->file.get(), 1U << 18);
  state->file_bytes = static_cast<int64_t>(fs::file_size(path, error));
  return JsonStream(std::move(state));
}

void JsonStream::set_progress(ReadProgress report) { state_->progress = std::move(report); }

JsonStream JsonStream::from_text(std::string name, std::string text, std::vector<std::string> lists,
                                 Mode mode) {
  auto state = std::make_unique<State>(std::move(name), std::move(lists), mode);
  state->buffer.assign(text.begin(), text.end());
  state->buffer.resize(text.size() + kJsonPaddingBytes);
  state->end = text.size();
  return JsonStream(std::move(state));
}

JsonStream JsonStream::from_source(std::string name, Source source, std::vector<std::string> lists,
                                   Mode mode) {
  auto state = std::make_unique<State>(std::move(name), std::move(lists), mode);
  state->source = std::move(source);
  return JsonStream(std::move(state));
}

StatusOr<JsonItem> JsonStream::next() {
  State& s = *state_;
  if (!s.started) {
    DFSIM_RETURN_IF_ERROR(s.start());
  }
  if (s.done) {
    return JsonItem{};
  }
  DFSIM_ASSIGN_OR_RETURN(JsonItem item, s.levels.back().array ? s.next_element() : s.next_field());
  if (s.levels.empty()) {
    DFSIM_RETURN_IF_ERROR(s.expect_end());
    JsonItem ended;
    ended.array = item.array;
    return ended;
  }
  return item;
}

const JsonStream::Repairs& JsonStream::repairs() const { return state_->repairs; }

const std::string& JsonStream::path() const { return state_->path; }

int64_t JsonStream::bytes() const { return state_->consumed + static_cast<int64_t>(state_->begin); }

}  // namespace dfsim::inline base
