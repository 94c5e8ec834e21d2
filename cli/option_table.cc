// What the parser and the documentation both ask of an option table.
#include "cli/option_table.h"

#include <type_traits>

#include "base/text.h"

namespace dfsim::cli {
namespace {

template <typename T>
struct IsVector : std::false_type {};
template <typename T>
struct IsVector<std::vector<T>> : std::true_type {};

}  // namespace

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

bool takes_many(const OptionSpec& option) {
  return std::visit(
      [](const auto& target) {
        return IsVector<std::remove_pointer_t<std::decay_t<decltype(target)>>>::value;
      },
      option.target);
}

}  // namespace dfsim::cli
