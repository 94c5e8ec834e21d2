// JSON files read as a stream: what comes out, and what is wrong with a file at which line.
#include <fmt/format.h>
#include <zlib.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "base/json/json_events.h"
#include "base/json/json_stream.h"
#include "base/json/json_value.h"

namespace dfsim {
namespace {

using Mode = JsonStream::Mode;
using Lists = std::vector<std::string>;

// "KIND PATH=TEXT@LINE" of each item, or the error behind them.
std::string items_of(JsonStream stream) {
  const char* const kinds[] = {"element", "field", "open", "close"};
  std::string out;
  while (true) {
    const auto item = stream.next();
    if (!item.ok()) {
      return out + "! " + item.status().message();
    }
    if (item->kind == JsonItem::Kind::kEnd) {
      return out;
    }
    out += fmt::format("{} {}={}@{}; ", kinds[static_cast<size_t>(item->kind)], item->path,
                       item->json, item->line);
  }
}

std::string strict(const std::string& text, Lists lists = {"a"}) {
  return items_of(JsonStream::from_text("f.json", text, std::move(lists), Mode::kStrict));
}

class EventLog : public JsonListener {
 public:
  Status on_event(const JsonEvent& event) override {
    if (event.path == refused) {
      return invalid_input("is refused");
    }
    log += fmt::format("{}:{}", event.line(), event.path);
    if (event.is_scalar()) {
      log += event.kind == JsonEvent::Kind::kNumber ? fmt::format("={}", event.number)
                                                    : fmt::format("={}", event.text);
    }
    log += ' ';
    return ok_status();
  }
  std::string log;
  std::string refused = "?";
};

std::string events_of(const std::string& text, Lists lists = {"a"}, const char* refused = "?") {
  JsonStream stream = JsonStream::from_text("f.json", text, std::move(lists), Mode::kStrict);
  EventLog events;
  events.refused = refused;
  const Status status = read_json_events(stream, events);
  return status.ok() ? events.log : status.message();
}

TEST_CASE("JsonStream: gives elements of lists one by one and other fields as a whole") {
  CHECK(strict("{\"x\": [1, 2],\n \"a\": [{}, 3\n, \"s\"]}") ==
        "field x=[1, 2]@1; open a=[@2; element a/*={}@2; element a/*=3\n@2; element a/*=\"s\"@3; "
        "close a=]@3; ");
  CHECK(strict("[]").empty());
  CHECK(strict(" [ 1 ]\n") == "element *=1 @1; ");
  CHECK(strict("{\"w\": {\"b\": {\"a\": [1], \"c\": {}}, \"d\": 2}}", {"w/b/a"}) ==
        "open w={@1; open w/b={@1; open w/b/a=[@1; element w/b/a/*=1@1; close w/b/a=]@1; "
        "field w/b/c={}@1; close w/b=}@1; field w/d=2@1; close w=}@1; ");
}

TEST_CASE("JsonStream: a strict stream refuses malformed JSON and gives its line") {
  CHECK(strict("{\"a\": [1,\n, 2]}").find("! f.json:2: malformed JSON at ','") !=
        std::string::npos);
  CHECK(strict("{\"a\": [1,\n]}").find("! f.json:2: malformed JSON at ']'") != std::string::npos);
  CHECK(strict("{\"a\": [{} {}]}").find("expected ',' or ']'") != std::string::npos);
  CHECK(strict("{\"a\": 1 \"b\": 2}").find("expected ',' or '}'") != std::string::npos);
  CHECK(strict("{\"a\" 1}").find("expected ':' behind a key") != std::string::npos);
  CHECK(strict("{a: 1}").find("expected a key in quotes") != std::string::npos);
  CHECK(strict("{\"a\": [1]} x").find("expected the end of the file") != std::string::npos);
  CHECK(strict("{\"a\": [1],\n").find("! f.json:2: the file ends here") != std::string::npos);
  CHECK(strict("{\"a\": [{\"b\": \"c").find("expected this value to end") != std::string::npos);
  CHECK(strict("{\"b\": " + std::string(100, '[')).find("f.json:1: nested over 64 levels") !=
        std::string::npos);
  CHECK(strict("").find("is empty") != std::string::npos);
  CHECK(strict("7").find("begins with '7'") != std::string::npos);
}

TEST_CASE("JsonStream: a repaired stream keeps the values before the damage") {
  JsonStream stream =
      JsonStream::from_text("f.json", R"({"a": [{"x":1},,{"x":2}, 5, {"x":3},], "b": 1)", {"a"});
  std::string out;
  for (auto item = stream.next(); item.ok() && item->kind != JsonItem::Kind::kEnd;
       item = stream.next()) {
    out += item->kind == JsonItem::Kind::kElement ? std::string(item->json) : "";
  }
  CHECK(out == R"({"x":1}{"x":2}{"x":3})");
  CHECK(stream.repairs().commas == 2);
  CHECK(stream.repairs().strange_values == 1);
  CHECK(stream.repairs().cut_off);
}

TEST_CASE("JsonStream: lines and values are the same when they come in small pieces") {
  std::string text = "{\"a\": [\n";
  for (int i = 0; i < 200; ++i) {
    text += fmt::format("{{\"i\": {},\n\"s\": \"{}\"}}{}\n", i, std::string(i, 'x'),
                        i < 199 ? "," : "]}");
  }
  size_t at = 0;
  auto pieces = [&text, &at](char* to, size_t size) {
    const size_t count = std::min<size_t>({size, 7, text.size() - at});
    text.copy(to, count, at);
    at += count;
    return count;
  };
  CHECK(items_of(JsonStream::from_source("f.json", pieces, {"a"}, Mode::kStrict)) == strict(text));
}

TEST_CASE("JsonStream: reads gzip, and refuses a folder and a damaged file") {
  const auto path = std::filesystem::temp_directory_path() / "dfsim_json_test.json.gz";
  gzFile_s* const file = gzopen(path.c_str(), "wb");
  gzputs(file, "{\"a\": [1, 2]}");
  gzclose(file);
  const auto open = [](const std::string& name) {
    auto stream = JsonStream::open(name, {"a"}, Mode::kStrict);
    return stream.ok() ? items_of(*std::move(stream)) : stream.status().message();
  };
  CHECK(open(path.string()).find("element a/*=2@1") != std::string::npos);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 9);
  CHECK(open(path.string()).find("may be damaged") != std::string::npos);
  std::filesystem::remove(path);
  CHECK(open("/").find("is a folder") != std::string::npos);
  CHECK(open("/nonexistent").find("no such file") != std::string::npos);
}

TEST_CASE("read_json_events: reports each value with its path and line") {
  CHECK(events_of("{\"n\": null, \"t\": true,\n \"a\": [{\"k\": [1.5]},\n -2e3, \"\\u00e9\"]}") ==
        "1:n= 1:t=true 2:a 2:a/* 2:a/*/k 2:a/*/k/*=1.5 2:a/*/k 2:a/* 3:a/*=-2000 3:a/*=\xC3\xA9 "
        "3:a ");
  CHECK(events_of(R"({"a/b": 1, "*": 2, "~": {"": 3}, "": {"a": 4}})") ==
        "1:a~1b=1 1:~2=2 1:~0 1:~0/~3=3 1:~0 1:~3 1:~3/a=4 1:~3 ");
  CHECK(events_of("{\"big\": 123456789012345678901234567890}") == "1:big=1.2345678901234568e+29 ");
}

TEST_CASE(
    "read_json_events: names the line of malformed values and of values that a listener refuses") {
  CHECK(events_of("{\"a\": [1,\nNaN]}").find("f.json:2: malformed JSON at 'NaN'") == 0);
  CHECK(events_of("{\"a\": [1,\n1e400]}") == "f.json:2: a number is out of range");
  CHECK(events_of("{\"a\": [{\"x\": 1,\n\"y\" 2}]}").find("f.json:") == 0);
  CHECK(events_of("{\"a\": [tru]}").find("malformed JSON at 'tru'") != std::string::npos);
  CHECK(events_of("{\"a\": [01]}").find("malformed JSON at '01'") != std::string::npos);
  CHECK(events_of("{\"a\": [1 2]}").find("malformed JSON") != std::string::npos);
  CHECK(events_of("{\"a\": [\"\\q\"]}").find("valid escapes") != std::string::npos);
  CHECK(events_of("{\"b\": 1,\n\"b\": 2}") == "f.json:2: the key 'b' stands twice");
  CHECK(events_of("{\"a\": [{\n\"x\":\n1}]}", {"a"}, "a/*/x") == "f.json:3: is refused");
  CHECK(events_of("{\"c\": [[" + std::string(70, '[') + std::string(70, ']') + "]]}")
            .find("nested over 64") != std::string::npos);
}

TEST_CASE("JsonParser: a tree gives values by key and pointer, and nothing for missing keys") {
  const PaddedJson text(
      R"({"a": {"b": [1, -2.5, "x\n", true, null]}, "big": 18446744073709551615})");
  JsonParser parser;
  JsonValue top;
  REQUIRE(parser.parse_object(text.view(), &top));
  int64_t whole = 7;
  double real = 0;
  bool truth = false;
  std::string_view word;
  CHECK((top.at("/a/b/0").get(&whole) && whole == 1));
  CHECK((top.at("/a/b/1").get(&real) && real == -2.5));
  CHECK_FALSE(top.at("/a/b/1").get(&whole));
  CHECK((top.at("/a/b/0").get(&real) && real == 1));
  CHECK((top["a"]["b"].at("/2").get(&word) && word == "x\n"));
  CHECK((top.at("/a/b/3").get(&truth) && truth));
  CHECK(top.at("/a/b/4").is(JsonKind::kNull));
  CHECK_FALSE(top["big"].get(&whole));
  CHECK(whole == 1);
  CHECK(top["none"]["at all"].at("/0").is(JsonKind::kMissing));
  CHECK(top["a"].minified() == R"({"b":[1,-2.5,"x\n",true,null]})");
  CHECK(top["a"]["b"].size() == 5);
  std::string keys;
  top.each_member([&keys](std::string_view key, const JsonValue&) { keys += key; });
  CHECK(keys == "abig");
  const PaddedJson list("[1]");
  CHECK_FALSE(parser.parse_object(list.view(), &top));
  CHECK_FALSE(parser.error().empty());
  const PaddedJson broken("{\"a\": ");
  CHECK_FALSE(parser.parse(broken.view(), &top));
}

TEST_CASE("JsonParser: fields come in order, as text or as numbers") {
  JsonParser parser;
  const PaddedJson text(R"({"n": "3.5", "m": 4, "o": [1, {"x": 2}], "s": "a\tb", "bad": "q"})");
  std::string out;
  CHECK(parser.each_field(text.view(), [&out](JsonField& field) {
    double number = 0;
    std::string_view raw;
    const bool fine = field.key() == "o"   ? field.raw(&raw)
                      : field.key() == "s" ? field.text(&raw)
                                           : field.number(&number);
    out += fmt::format("{}={}{} ", field.key(), raw, number);
    return fine;
  }));
  CHECK(out == "n=3.5 m=4 o=[1, {\"x\": 2}]0 s=a\tb0 bad=nan ");
  const PaddedJson broken(R"({"n": 1, "m" 2})");
  CHECK_FALSE(parser.each_field(broken.view(), [](JsonField&) { return true; }));
}

}  // namespace
}  // namespace dfsim
