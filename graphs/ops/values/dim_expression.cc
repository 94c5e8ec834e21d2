// A recursive-descent parser that evaluates while it reads. Anything but sums and products of
// names and whole numbers makes the expression unknown, never an error: exporters write free
// text there.
#include "graphs/ops/values/dim_expression.h"

#include <cctype>
#include <charconv>

namespace dfsim::inline graphs {
namespace {

constexpr size_t kMaxLength = 200;  // also bounds the nesting of parentheses

using Value = std::optional<int64_t>;
using Lookup = std::function<Value(std::string_view)>;

// Recursive descent: sum = product {(+|-) product}, product = factor {* factor}.
class Parser {
 public:
  Parser(std::string_view text, const Lookup& value_of) : text_(text), value_of_(value_of) {}

  Value run() {
    const Value value = sum();
    return peek() == '\0' ? value : std::nullopt;
  }

 private:
  // The next character that is not a blank, or '\0' at the end.
  char peek() {
    while (pos_ < text_.size() && text_[pos_] == ' ') {
      ++pos_;
    }
    return pos_ < text_.size() ? text_[pos_] : '\0';
  }

  Value sum() {
    Value left = product();
    for (char sign = peek(); left && (sign == '+' || sign == '-'); sign = peek()) {
      ++pos_;
      const Value right = product();
      int64_t result = 0;
      const bool overflow =
          !right || (sign == '+' ? __builtin_add_overflow(*left, *right, &result)
                                 : __builtin_sub_overflow(*left, *right, &result));
      left = overflow ? std::nullopt : Value(result);
    }
    return left;
  }

  Value product() {
    Value left = factor();
    while (left && peek() == '*') {
      ++pos_;
      const Value right = factor();
      int64_t result = 0;
      left =
          !right || __builtin_mul_overflow(*left, *right, &result) ? std::nullopt : Value(result);
    }
    return left;
  }

  Value factor() {
    if (peek() == '(') {
      ++pos_;
      const Value inner = sum();
      return peek() == ')' && ++pos_ > 0 ? inner : std::nullopt;
    }
    const size_t start = pos_;
    while (pos_ < text_.size() &&
           std::string_view("+-*() ").find(text_[pos_]) == std::string_view::npos) {
      ++pos_;
    }
    const std::string_view word = text_.substr(start, pos_ - start);
    if (word.empty() || std::isdigit(static_cast<unsigned char>(word[0])) == 0) {
      return word.empty() ? std::nullopt : value_of_(word);
    }
    int64_t number = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    return error == std::errc() && end == word.data() + word.size() ? Value(number) : std::nullopt;
  }

  std::string_view text_;
  const Lookup& value_of_;
  size_t pos_ = 0;
};

}  // namespace

std::optional<int64_t> evaluate_dim_expression(
    std::string_view text,
    const std::function<std::optional<int64_t>(std::string_view)>& value_of) {
  if (text.size() > kMaxLength || text.find_first_of("+-*") == std::string_view::npos) {
    return std::nullopt;
  }
  return Parser(text, value_of).run();
}

}  // namespace dfsim::inline graphs
