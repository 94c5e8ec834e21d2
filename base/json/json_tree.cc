// Building and writing of JSON trees. The layout is written here; numbers and strings as nlohmann's
// library writes them, since its digits are the shortest that read back as the same number.
#include "base/json/json_tree.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/check.h"

namespace dfsim::inline base {
namespace {

std::string scalar_text(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void write_string(const std::string& text, std::string* out) {
  const bool plain = std::ranges::all_of(
      text, [](char c) { return c >= ' ' && c < 0x7f && c != '"' && c != '\\'; });
  if (plain) {
    *out += '"';
    *out += text;
    *out += '"';
  } else {
    *out += scalar_text(text);
  }
}

}  // namespace

JsonTree::JsonTree(std::initializer_list<JsonTree> items) {
  if (!std::ranges::all_of(items, &JsonTree::is_member)) {
    value_ = Elements(items);
    return;
  }
  value_ = Members();
  for (const JsonTree& item : items) {
    const Elements& pair = std::get<Elements>(item.value_);
    add(std::get<std::string>(pair[0].value_), pair[1]);
  }
}

JsonTree JsonTree::array(std::initializer_list<JsonTree> items) {
  JsonTree tree;
  tree.value_ = Elements(items);
  return tree;
}

JsonTree JsonTree::object() {
  JsonTree tree;
  tree.value_ = Members();
  return tree;
}

JsonTree& JsonTree::operator[](std::string_view name) {
  if (std::holds_alternative<std::monostate>(value_)) {
    value_ = Members();
  }
  Members& members = std::get<Members>(value_);
  const auto found =
      std::ranges::find_if(members, [&](const auto& member) { return member.first == name; });
  return found != members.end() ? found->second
                                : members.emplace_back(std::string(name), JsonTree()).second;
}

void JsonTree::push_back(JsonTree element) {
  if (std::holds_alternative<std::monostate>(value_)) {
    value_ = Elements();
  }
  std::get<Elements>(value_).push_back(std::move(element));
}

void JsonTree::update(const JsonTree& other) {
  for (const auto& [name, value] : std::get<Members>(other.value_)) {
    (*this)[name] = value;
  }
}

size_t JsonTree::size() const {
  if (const auto* elements = std::get_if<Elements>(&value_)) {
    return elements->size();
  }
  if (const auto* members = std::get_if<Members>(&value_)) {
    return members->size();
  }
  return std::holds_alternative<std::monostate>(value_) ? 0 : 1;
}

bool JsonTree::is_member() const {
  const auto* pair = std::get_if<Elements>(&value_);
  return pair != nullptr && pair->size() == 2 &&
         std::holds_alternative<std::string>((*pair)[0].value_);
}

void JsonTree::add(std::string name, JsonTree value) {
  // The first of several members of one name stays.
  Members& members = std::get<Members>(value_);
  if (std::ranges::none_of(members, [&](const auto& member) { return member.first == name; })) {
    members.emplace_back(std::move(name), std::move(value));
  }
}

std::string JsonTree::text() const { return indented_text(0) + "\n"; }

std::string JsonTree::indented_text(int depth) const {
  std::string out;
  write(2, depth, &out);
  return out;
}

std::string JsonTree::compact_text() const {
  std::string out;
  write(-1, 0, &out);
  return out;
}

void JsonTree::write(int indent, int depth, std::string* out) const {
  // The text before an item, and before the bracket that closes the items.
  const auto break_line = [&](int levels) {
    if (indent >= 0) {
      *out += '\n';
      out->append(static_cast<size_t>(indent) * static_cast<size_t>(levels), ' ');
    }
  };
  if (const auto* elements = std::get_if<Elements>(&value_)) {
    *out += '[';
    for (size_t i = 0; i < elements->size(); ++i) {
      *out += i > 0 ? "," : "";
      break_line(depth + 1);
      (*elements)[i].write(indent, depth + 1, out);
    }
    if (!elements->empty()) {
      break_line(depth);
    }
    *out += ']';
  } else if (const auto* members = std::get_if<Members>(&value_)) {
    *out += '{';
    for (size_t i = 0; i < members->size(); ++i) {
      *out += i > 0 ? "," : "";
      break_line(depth + 1);
      write_string((*members)[i].first, out);
      *out += indent >= 0 ? ": " : ":";
      (*members)[i].second.write(indent, depth + 1, out);
    }
    if (!members->empty()) {
      break_line(depth);
    }
    *out += '}';
  } else if (const auto* text = std::get_if<std::string>(&value_)) {
    write_string(*text, out);
  } else if (const auto* flag = std::get_if<bool>(&value_)) {
    *out += *flag ? "true" : "false";
  } else if (const auto* whole = std::get_if<int64_t>(&value_)) {
    *out += std::to_string(*whole);
  } else if (const auto* natural = std::get_if<uint64_t>(&value_)) {
    *out += std::to_string(*natural);
  } else if (const auto* real = std::get_if<double>(&value_)) {
    *out += scalar_text(*real);
  } else {
    *out += "null";
  }
}

}  // namespace dfsim::inline base
