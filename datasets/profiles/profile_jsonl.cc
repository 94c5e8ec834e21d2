#include "datasets/profiles/profile_jsonl.h"

#include <fmt/format.h>

#include "base/json/json_value.h"
#include "base/text.h"

namespace dfsim::inline datasets {
namespace {

void append_json_text(std::string_view text, std::string* out) {
  *out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      *out += '\\';
      *out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      fmt::format_to(std::back_inserter(*out), "\\u{:04x}", static_cast<unsigned>(c));
    } else {
      *out += c;
    }
  }
  *out += '"';
}

}  // namespace

struct ProfileLineParser::State {
  JsonParser parser;
  PaddedJson line;
  std::array<std::string, kProfileColumnCount> numbers;  // texts of cells that are JSON numbers

  std::string read_cell(std::string_view key, const JsonValue& value, ProfileCells* cells);
};

ProfileLineParser::ProfileLineParser() : state_(std::make_unique<State>()) {}
ProfileLineParser::~ProfileLineParser() = default;

// "" or what is wrong.
std::string ProfileLineParser::State::read_cell(std::string_view key, const JsonValue& value,
                                                ProfileCells* cells) {
  const int column = find_profile_column(key);
  if (column < 0) {
    return unknown_name_message("key", key, profile_column_names());
  }
  std::string_view& cell = (*cells)[static_cast<size_t>(column)];
  if (value.is(JsonKind::kNumber)) {
    std::string& number = numbers[static_cast<size_t>(column)];
    number = value.minified();
    cell = number;
  } else if (!value.get(&cell) && !value.is(JsonKind::kNull)) {
    return fmt::format("{} is neither text nor a number", key);
  }
  return "";
}

std::string ProfileLineParser::parse(std::string_view line, ProfileCells* cells) {
  JsonValue object;
  state_->line.assign(line);
  if (!state_->parser.parse_object(state_->line.view(), &object)) {
    return fmt::format("not a JSON object: {}", state_->parser.error());
  }
  std::string problem;
  object.each_member([&](std::string_view key, const JsonValue& value) {
    problem = problem.empty() ? state_->read_cell(key, value, cells) : problem;
  });
  if (!problem.empty()) {
    return problem;
  }
  for (size_t i = 0; i < kProfileColumnCount; ++i) {
    if (profile_columns()[i].required && (*cells)[i].data() == nullptr) {
      return fmt::format("key '{}' is missing", profile_columns()[i].name);
    }
  }
  return "";
}

void append_profile_line(const Profile& profile, const ProfileRow& row, std::string* out) {
  std::string cell;
  *out += '{';
  for (size_t i = 0; i < kProfileColumnCount; ++i) {
    const ProfileColumnInfo& column = profile_columns()[i];
    cell.clear();
    append_cell(profile, row, static_cast<ProfileColumn>(i), &cell);
    if (cell.empty() && !column.required) {
      continue;
    }
    *out += i == 0 ? "\"" : ",\"";
    *out += column.name;
    *out += "\":";
    if (column.number) {
      *out += cell;
    } else {
      append_json_text(cell, out);
    }
  }
  *out += '}';
}

}  // namespace dfsim::inline datasets
