// Trees are written as nlohmann's ordered_json writes the same value.
#include "base/json/json_tree.h"

#include <array>
#include <catch2/catch.hpp>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

namespace dfsim {
namespace {

using Reference = nlohmann::ordered_json;

std::string reference_text(const Reference& json) {
  return json.dump(2, ' ', false, Reference::error_handler_t::replace) + "\n";
}

// Makes the same random value twice, in both ways.
std::pair<JsonTree, Reference> random_value(std::mt19937_64& random, int depth) {
  switch (random() % (depth > 3 ? 6 : 8)) {
    case 0:
      return {nullptr, nullptr};
    case 1: {
      const bool value = random() % 2 == 0;
      return {value, value};
    }
    case 2: {
      const auto value = static_cast<int64_t>(random());
      return {value, value};
    }
    case 3:
      return {uint64_t{1} << 63, uint64_t{1} << 63};
    case 4: {
      const double value =
          std::ldexp(static_cast<double>(random()), static_cast<int>(random() % 200) - 130);
      return {value, value};
    }
    case 5: {
      std::string text;
      for (size_t i = random() % 12; i > 0; --i) {
        text += static_cast<char>(random());
      }
      return {text, text};
    }
    case 6: {
      std::pair<JsonTree, Reference> list = {JsonTree::array(), Reference::array()};
      for (size_t i = random() % 4; i > 0; --i) {
        auto [ours, theirs] = random_value(random, depth + 1);
        list.first.push_back(std::move(ours));
        list.second.push_back(std::move(theirs));
      }
      return list;
    }
    default: {
      std::pair<JsonTree, Reference> object = {JsonTree::object(), Reference::object()};
      for (size_t i = random() % 4; i > 0; --i) {
        const std::string name = "key" + std::to_string(random() % 3);
        auto [ours, theirs] = random_value(random, depth + 1);
        object.first[name] = std::move(ours);
        object.second[name] = std::move(theirs);
      }
      return object;
    }
  }
}

TEST_CASE("JSON trees: random values are written as nlohmann writes them") {
  std::mt19937_64 random(7);
  for (int i = 0; i < 3000; ++i) {
    const auto [ours, theirs] = random_value(random, 0);
    REQUIRE(ours.text() == reference_text(theirs));
    REQUIRE(ours.compact_text() ==
            theirs.dump(-1, ' ', false, Reference::error_handler_t::replace));
  }
}

TEST_CASE("JSON trees: braces of names and values make objects, others make arrays") {
  const JsonTree tree = {{"name", "x"}, {"sizes", {1, 2}}, {"pair", {"a", 1}}, {"none", nullptr}};
  CHECK(tree.compact_text() == R"({"name":"x","sizes":[1,2],"pair":["a",1],"none":null})");
  CHECK(JsonTree({{"a", 1}}).compact_text() == R"({"a":1})");
  CHECK(JsonTree({{"a", 1}, 2}).compact_text() == R"([["a",1],2])");
  CHECK(JsonTree::array({{"a", 1}}).compact_text() == R"([["a",1]])");
}

TEST_CASE("JSON trees: containers become arrays and maps become objects") {
  CHECK(JsonTree(std::vector<std::string>{"a", "b"}).compact_text() == R"(["a","b"])");
  CHECK(JsonTree(std::array{1.5, 2.0}).compact_text() == "[1.5,2.0]");
  CHECK(JsonTree(std::set<int>{2, 1}).compact_text() == "[1,2]");
  CHECK(JsonTree(std::map<std::string, int>{{"b", 1}, {"a", 2}}).compact_text() ==
        R"({"a":2,"b":1})");
  CHECK(JsonTree(std::vector<bool>{true, false}).compact_text() == "[true,false]");
}

TEST_CASE("JSON trees: members keep their order and are replaced in place") {
  JsonTree tree;
  tree["z"] = 1;
  tree["a"]["inner"].push_back(2);
  tree["z"] = 3;
  tree.update({{"a", nullptr}, {"new", 4}});
  CHECK(tree.text() == "{\n  \"z\": 3,\n  \"a\": null,\n  \"new\": 4\n}\n");
}

TEST_CASE("JSON trees: numbers that JSON cannot hold are null, and bad UTF-8 is replaced") {
  CHECK(JsonTree(std::numeric_limits<double>::infinity()).compact_text() == "null");
  CHECK(JsonTree("a\xff\"\n").compact_text() == "\"a\xef\xbf\xbd\\\"\\n\"");
}

}  // namespace
}  // namespace dfsim
