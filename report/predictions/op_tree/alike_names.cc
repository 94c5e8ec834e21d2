#include "report/predictions/op_tree/alike_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

namespace dfsim::inline report {
namespace {

constexpr std::string_view kDigits = "0123456789";
constexpr size_t kLongestNumber = 9;  // longer ones are not an index

struct NumberAt {
  size_t begin = 0;
  size_t size = 0;
};

std::vector<NumberAt> numbers_of(std::string_view name) {
  std::vector<NumberAt> numbers;
  for (size_t at = name.find_first_of(kDigits); at != name.npos;) {
    const size_t end = std::min(name.find_first_not_of(kDigits, at), name.size());
    numbers.push_back({at, end - at});
    at = name.find_first_of(kDigits, end);
  }
  return numbers;
}

// The name with a mark in place of its `n`-th number; with all of them replaced for npos.
std::string without_number(std::string_view name, size_t n) {
  std::string text;
  size_t at = 0;
  const std::vector<NumberAt> numbers = numbers_of(name);
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (n == name.npos || i == n) {
      text += name.substr(at, numbers[i].begin - at);
      text += '#';
      at = numbers[i].begin + numbers[i].size;
    }
  }
  return text + std::string(name.substr(at));
}

std::string_view number(std::string_view name, size_t n) {
  const NumberAt at = numbers_of(name)[n];
  return name.substr(at.begin, at.size);
}

// Which number tells the names apart: the last that differs; none when all numbers are the same.
std::optional<size_t> differing_number(const std::vector<std::string_view>& names) {
  std::optional<size_t> differing;
  const size_t count = numbers_of(names.front()).size();
  for (size_t n = 0; n < count; ++n) {
    const std::string_view first = number(names.front(), n);
    if (std::ranges::any_of(names,
                            [&](std::string_view name) { return number(name, n) != first; })) {
      differing = n;
    }
  }
  return differing;
}

// "0..3,5" of numbers in order.
std::string ranges_of(const std::vector<uint32_t>& values) {
  std::string text;
  for (size_t i = 0; i < values.size();) {
    size_t last = i;
    while (last + 1 < values.size() && values[last + 1] == values[last] + 1) {
      ++last;
    }
    text += text.empty() ? "" : ",";
    text += last < i + 2 ? fmt::format("{}", values[i])
                         : fmt::format("{}..{}", values[i], values[last]);
    i = last < i + 2 ? i + 1 : last + 1;
  }
  return text;
}

}  // namespace

std::vector<std::vector<size_t>> alike_names(const std::vector<NamedKind>& names) {
  std::map<std::pair<size_t, std::string>, std::vector<size_t>> by_pattern;
  for (size_t i = 0; i < names.size(); ++i) {
    by_pattern[{names[i].kind, without_number(names[i].name, std::string_view::npos)}].push_back(i);
  }
  std::vector<std::vector<size_t>> groups;
  for (const auto& [pattern, members] : by_pattern) {
    std::vector<std::string_view> texts;
    for (const size_t member : members) {
      texts.push_back(names[member].name);
    }
    const std::optional<size_t> differing = differing_number(texts);
    std::map<std::string, std::vector<size_t>> by_rest;
    for (size_t m = 0; m < members.size(); ++m) {
      const bool is_index = differing && number(texts[m], *differing).size() <= kLongestNumber;
      // Equal names are different things: each stays alone.
      const std::string rest =
          is_index ? without_number(texts[m], *differing) : fmt::format("{}\n{}", texts[m], m);
      by_rest[rest].push_back(members[m]);
    }
    for (auto& [rest, group] : by_rest) {
      groups.push_back(std::move(group));
    }
  }
  std::ranges::sort(groups, {}, [](const std::vector<size_t>& group) { return group.front(); });
  return groups;
}

std::string alike_label(const std::vector<std::string_view>& group) {
  const std::optional<size_t> differing = differing_number(group);
  if (!differing) {
    return std::string(group.front());
  }
  std::vector<uint32_t> values;
  for (const std::string_view name : group) {
    const std::string_view digits = number(name, *differing);
    uint32_t value = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), value);
    values.push_back(value);
  }
  std::ranges::sort(values);
  const NumberAt at = numbers_of(group.front())[*differing];
  return fmt::format("{}{{{}}}{}", group.front().substr(0, at.begin), ranges_of(values),
                     group.front().substr(at.begin + at.size));
}

}  // namespace dfsim::inline report
