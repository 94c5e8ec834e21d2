#include "datasets/profiles/profile_jsonl.h"

#include <fmt/format.h>
#include <simdjson.h>

#include "base/text.h"

namespace dfsim::inline datasets {
namespace {

namespace dom = simdjson::dom;

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
  dom::parser parser;
  std::array<std::string, kProfileColumnCount> numbers;  // texts of cells that are JSON numbers
};

ProfileLineParser::ProfileLineParser() : state_(std::make_unique<State>()) {}
ProfileLineParser::~ProfileLineParser() = default;

std::string ProfileLineParser::parse(std::string_view line, ProfileCells* cells) {
  dom::object object;
  const auto error = state_->parser.parse(line.data(), line.size()).get(object);
  if (error != simdjson::SUCCESS) {
    return fmt::format("not a JSON object: {}", simdjson::error_message(error));
  }
  for (const auto [key, value] : object) {
    const int column = find_profile_column(key);
    if (column < 0) {
      return unknown_name_message("key", key, profile_column_names());
    }
    std::string_view& cell = (*cells)[static_cast<size_t>(column)];
    std::string& number = state_->numbers[static_cast<size_t>(column)];
    if (value.is_string()) {
      cell = std::string_view(value.get_c_str().value_unsafe(),
                              value.get_string_length().value_unsafe());
    } else if (value.is_number()) {
      number = fmt::format("{}", simdjson::minify(value));
      cell = number;
    } else if (!value.is_null()) {
      return fmt::format("{} is neither text nor a number", key);
    }
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
