#include "report/recordings/trace_labels.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "base/text.h"

namespace dfsim::inline report {
namespace {

constexpr size_t kMostKernelChars = 120;
constexpr size_t kMostShapeChars = 80;
constexpr std::string_view kAnonymous = "(anonymous namespace)";

// Where the list of parameters begins; the whole length when there is none.
size_t parameters_begin(std::string_view name) {
  int depth = 0;
  for (size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '<') {
      ++depth;
    } else if (name[i] == '>') {
      --depth;
    } else if (name[i] == '(' && depth == 0) {
      if (name.substr(i).starts_with(kAnonymous)) {
        i += kAnonymous.size() - 1;
      } else if (i > 0 && name[i - 1] != ' ') {
        return i;
      }
    }
  }
  return name.size();
}

void erase_all(std::string_view part, std::string* text) {
  for (size_t at = text->find(part); at != text->npos; at = text->find(part, at)) {
    text->erase(at, part.size());
  }
}

// Reads the array of shapes and the array of types behind it.
class ShapesReader {
 public:
  explicit ShapesReader(std::string_view text) : text_(text) {}

  std::optional<std::string> read() {
    std::vector<std::string> shapes;
    std::vector<std::string> types;
    if (!read_list(&shapes) || (peek() == '[' && !read_types(&types)) || peek() != '\0') {
      return std::nullopt;
    }
    while (!shapes.empty() && shapes.back() == "-") {
      shapes.pop_back();
    }
    shapes.insert(shapes.end(), types.begin(), types.end());
    return shapes.empty() ? std::nullopt : std::optional(join(shapes, " "));
  }

 private:
  char peek() {
    while (at_ < text_.size() && text_[at_] == ' ') {
      ++at_;
    }
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) {
    const bool is_there = peek() == c;
    at_ += is_there ? 1 : 0;
    return is_there;
  }

  // "[128, 5]" is 128x5, "[]" is -, and a list of tensors is (128x5 128).
  std::optional<std::string> read_shape(int depth) {
    constexpr int kDeepest = 4;
    if (!take('[') || depth > kDeepest) {
      return std::nullopt;
    }
    std::vector<std::string> parts;
    bool is_list = false;
    while (!take(']')) {
      if (!parts.empty() && !take(',')) {
        return std::nullopt;
      }
      if (peek() == '[') {
        const std::optional<std::string> inner = read_shape(depth + 1);
        if (!inner) {
          return std::nullopt;
        }
        is_list = true;
        parts.push_back(*inner);
        continue;
      }
      const size_t end = std::min(text_.find_first_not_of("0123456789-", at_), text_.size());
      if (end == at_) {
        return std::nullopt;
      }
      parts.emplace_back(text_.substr(at_, end - at_));
      at_ = end;
    }
    return parts.empty() ? "-" : is_list ? "(" + join(parts, " ") + ")" : join(parts, "x");
  }

  bool read_list(std::vector<std::string>* shapes) {
    if (!take('[')) {
      return false;
    }
    while (!take(']')) {
      if (!shapes->empty() && !take(',')) {
        return false;
      }
      const std::optional<std::string> shape = read_shape(0);
      if (!shape) {
        return false;
      }
      shapes->push_back(*shape);
    }
    return true;
  }

  bool read_types(std::vector<std::string>* types) {
    static constexpr std::array<std::string_view, 4> kOfScalars = {"", "Scalar", "ScalarList",
                                                                   "TensorList"};
    bool is_first = true;
    for (take('['); !take(']'); is_first = false) {
      if ((!is_first && !take(',')) || !take('"')) {
        return false;
      }
      const size_t end = text_.find('"', at_);
      if (end == text_.npos) {
        return false;
      }
      const std::string type(text_.substr(at_, end - at_));
      at_ = end + 1;
      if (std::ranges::find(kOfScalars, type) == kOfScalars.end() &&
          std::ranges::find(*types, type) == types->end()) {
        types->push_back(type);
      }
    }
    return true;
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

std::string kernel_label(std::string_view name) {
  constexpr std::string_view kResult = "void ";
  if (name.starts_with(kResult)) {
    name.remove_prefix(kResult.size());
  }
  std::string label(name.substr(0, parameters_begin(name)));
  for (const std::string_view part :
       {std::string_view("(anonymous namespace)::"), std::string_view("at::native::"),
        std::string_view("(at::TensorIteratorBase&)"), std::string_view("::operator()() const")}) {
    erase_all(part, &label);
  }
  return printable(label, kMostKernelChars);
}

std::string shapes_label(std::string_view detail) {
  return printable(ShapesReader(detail).read().value_or(std::string(detail)), kMostShapeChars);
}

}  // namespace dfsim::inline report
