// Queries on an option table that the parser and the documentation share.
#include "cli/option_table.h"

#include <fmt/format.h>

#include <charconv>
#include <system_error>
#include <type_traits>

#include "base/text.h"

namespace dfsim::cli {
namespace {

template <typename T>
struct IsVector : std::false_type {};
template <typename T>
struct IsVector<std::vector<T>> : std::true_type {};

template <typename Number>
bool holds_number(const std::string& text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

bool is_plain_whole_number(const std::string& text, bool negative_too) {
  const size_t first = negative_too && text.starts_with('-') ? 1 : 0;
  const bool whole = negative_too ? holds_number<int64_t>(text) : holds_number<uint64_t>(text);
  return whole && (text.size() == first + 1 || text[first] != '0');
}

OptionTable joined(std::initializer_list<OptionTable> tables) {
  OptionTable all;
  for (const OptionTable& table : tables) {
    all.insert(all.end(), table.begin(), table.end());
  }
  return all;
}

std::vector<std::string> listed(const char* text) {
  return text == nullptr ? std::vector<std::string>() : split(text, ',');
}

bool is_argument(const OptionSpec& option) { return option.names[0] != '-'; }

bool is_flag(const OptionSpec& option) { return std::holds_alternative<bool*>(option.target); }

bool writes_file(const OptionSpec& option) {
  return listed(option.names).front() == "-o" ||
         (option.value != nullptr && std::string_view(option.value).starts_with("OUT"));
}

bool takes_many(const OptionSpec& option) {
  return std::visit(
      [](const auto& target) {
        return IsVector<std::remove_pointer_t<std::decay_t<decltype(target)>>>::value;
      },
      option.target);
}

std::string footer_of(const CommandSpec& spec, const std::string& common) {
  std::vector<std::string> parts;
  if (!spec.footer.empty()) {
    parts.push_back(spec.footer);
  }
  if (!spec.examples.empty()) {
    std::string lines = spec.examples.size() == 1 ? "Example:" : "Examples:";
    for (const CommandExample& example : spec.examples) {
      lines += fmt::format("\n  {}\n      {}", example.line, example.shows);
    }
    parts.push_back(std::move(lines));
  }
  if (common != spec.footer && !common.empty()) {
    parts.push_back(common);
  }
  return join(parts, "\n\n");
}

}  // namespace dfsim::cli
