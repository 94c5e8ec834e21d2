// Edit distance and near names for messages, and small conversions of text.
#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <numeric>

#include "base/utf8.h"

namespace dfsim::inline base {
namespace {

constexpr size_t kMaxListedNames = 40;

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t substitute = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, row[j + 1] + 1, substitute});
    }
  }
  return row[b.size()];
}

// Names of a family, for one who gave only the family: "rtx" -> rtx-3090, rtx-4090. None when there
// are too many to choose from.
std::vector<std::string> names_with(std::string_view part, const std::vector<std::string>& names) {
  constexpr size_t kShortestPart = 3;
  constexpr size_t kMostMeant = 5;
  std::vector<std::string> found;
  if (part.size() >= kShortestPart) {
    const std::string wanted = to_lower(part);
    std::ranges::copy_if(names, std::back_inserter(found), [&](const std::string& candidate) {
      return to_lower(candidate).find(wanted) != std::string::npos;
    });
  }
  return found.size() > kMostMeant ? std::vector<std::string>() : found;
}

}  // namespace

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) {
    return text;
  }
  std::string quoted = "\"";
  for (const char c : text) {
    quoted += c == '"' ? "\"\"" : std::string(1, c);
  }
  return quoted + "\"";
}

std::string to_lower(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

std::string nearest_name(std::string_view name, const std::vector<std::string>& names) {
  constexpr size_t kLongestCompared = 200;
  if (name.size() > kLongestCompared) {
    return "";
  }
  const std::string wanted = to_lower(name);
  std::string best;
  size_t best_distance = SIZE_MAX;
  for (const std::string& candidate : names) {
    if (candidate.size() > kLongestCompared) {
      continue;
    }
    // Two other letters turn a name of three letters into another name, unless they changed places.
    const size_t longer = std::max(candidate.size(), name.size());
    const bool same_letters = std::ranges::is_permutation(wanted, to_lower(candidate));
    const size_t limit = longer <= 3 && !same_letters ? 1 : std::max<size_t>(2, longer / 3);
    const size_t distance = edit_distance(wanted, to_lower(candidate));
    if (distance <= limit && distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string unknown_name_message(std::string_view kind, std::string_view name,
                                 std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  std::vector<std::string> meant = names_with(name, names);
  if (meant.empty()) {
    if (const std::string nearest = nearest_name(name, names); !nearest.empty()) {
      meant.push_back(nearest);
    }
  }
  for (std::string& each : meant) {
    each = fmt::format("'{}'", printable(each));
  }
  std::string message = fmt::format("unknown {} '{}'", kind, printable(name));
  message += meant.empty() ? "; " : fmt::format("; did you mean {}? ", join(meant, " or "));
  const size_t hidden = names.size() > kMaxListedNames ? names.size() - kMaxListedNames : 0;
  names.resize(names.size() - hidden);
  std::transform(names.begin(), names.end(), names.begin(),
                 [](const std::string& valid) { return printable(valid); });
  message += "Valid: " + (names.empty() ? "none" : join(names, ", "));
  if (hidden > 0) {
    message += fmt::format(" and {} more", hidden);
  }
  return message;
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  return fmt::format("{}", fmt::join(parts, separator));
}

std::string printable(std::string_view text, size_t max_chars) {
  std::string safe;
  const bool cut = text.size() > max_chars;
  const std::string_view head = cut ? text.substr(0, max_chars * 2 / 3) : text;
  const std::string_view tail = cut ? text.substr(text.size() - max_chars / 4) : "";
  const auto append = [&safe](std::string_view part) {
    while (!part.empty()) {
      const size_t length = utf8_sequence_length(part);
      const bool control = length == 1 && std::iscntrl(static_cast<unsigned char>(part[0])) != 0;
      safe += length == 0 || control ? "?" : std::string(part.substr(0, length));
      part.remove_prefix(std::max<size_t>(length, 1));
    }
  };
  append(head);
  if (cut) {
    safe += "...";
    append(tail);
  }
  return safe;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  size_t start = 0;
  for (size_t end = text.find(separator); end != std::string_view::npos;
       end = text.find(separator, start)) {
    parts.emplace_back(text.substr(start, end - start));
    start = end + 1;
  }
  parts.emplace_back(text.substr(start));
  return parts;
}

}  // namespace dfsim::inline base
