// Parts of the server without sockets: weights of uploads, fields of questions, routes, the store.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <random>
#include <string>

#include "base/io/data_dir.h"
#include "base/io/file.h"
#include "base/json/json_value.h"
#include "graphs/onnx/slim.h"
#include "server/api/metrics.h"
#include "server/api/question_fields.h"
#include "server/api/questions.h"
#include "server/api/routes.h"
#include "server/models/model_store.h"

using namespace dfsim;
using namespace dfsim::server;

namespace {

void put_varint(uint64_t value, std::string* out) {
  while (value >= 0x80) {
    *out += static_cast<char>((value & 0x7F) | 0x80);
    value >>= 7;
  }
  *out += static_cast<char>(value);
}
std::string proto_bytes(uint64_t field, const std::string& content) {
  std::string out;
  put_varint(field << 3 | 2, &out);
  put_varint(content.size(), &out);
  return out + content;
}
std::string proto_number(uint64_t field, uint64_t value) {
  std::string out;
  put_varint(field << 3, &out);
  put_varint(value, &out);
  return out;
}

// A float tensor of that many values, with its values as raw data.
std::string tensor(const std::string& name, size_t values) {
  return proto_number(1, values) + proto_number(2, 1) + proto_bytes(8, name) +
         proto_bytes(9, std::string(values * 4, 'w'));
}

// An ONNX model with one large and one small initializer and a large constant.
std::string model_with_weights() {
  const std::string attribute =
      proto_bytes(1, "value") + proto_bytes(5, tensor("c", 30'000)) + proto_number(20, 4);
  const std::string constant =
      proto_bytes(2, "k") + proto_bytes(4, "Constant") + proto_bytes(5, attribute);
  const std::string node =
      proto_bytes(1, "x") + proto_bytes(1, "w") + proto_bytes(2, "y") + proto_bytes(4, "Mul");
  const std::string graph = proto_bytes(1, constant) + proto_bytes(5, tensor("w", 100'000)) +
                            proto_bytes(1, node) + proto_bytes(5, tensor("small", 100));
  return proto_number(1, 8) + proto_bytes(7, graph) + proto_bytes(8, proto_number(2, 17));
}

struct Skipped {
  std::string file;  // with zeros where bytes were skipped
  uint64_t kept = 0;
};
Skipped skip_weights(const std::string& file, size_t piece) {
  WeightSkipper skipper;
  Skipped out;
  for (size_t at = 0; at < file.size(); at += piece) {
    skipper.take(
        std::string_view(file).substr(at, piece),
        [&](std::string_view bytes) {
          out.file += bytes;
          out.kept += bytes.size();
        },
        [&](uint64_t count) { out.file.append(count, '\0'); });
  }
  return out;
}

Status read_json(const std::string& text, const QuestionFields& fields) {
  const PaddedJson padded(text);
  JsonParser parser;
  JsonValue value;
  REQUIRE(parser.parse(padded.view(), &value));
  return read_fields(value, fields);
}

}  // namespace

TEST_CASE("WeightSkipper: leaves out large payloads, and the importer sees the same model") {
  const std::string file = model_with_weights();
  for (const size_t piece : {1, 7, 4096, 1'000'000}) {
    const Skipped skipped = skip_weights(file, piece);
    CHECK(skipped.kept == file.size() - 400'000 - 120'000);
    REQUIRE(skipped.file.size() == file.size());
    const auto slim = slim_model(file);
    const auto slim_of_skipped = slim_model(skipped.file);
    REQUIRE(slim.ok());
    REQUIRE(slim_of_skipped.ok());
    CHECK(*slim == *slim_of_skipped);
  }
}

TEST_CASE("WeightSkipper: keeps other files, byte for byte") {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    std::string bytes = round % 2 == 0 ? std::string() : model_with_weights().substr(0, 500);
    for (int i = 0; i < 2000; ++i) {
      bytes += static_cast<char>(random());
    }
    const Skipped skipped = skip_weights(bytes, 1 + random() % 300);
    CHECK(skipped.file.size() == bytes.size());
    if (skipped.kept == bytes.size()) {
      CHECK(skipped.file == bytes);
    }
  }
  const std::string gzip = "\x1f\x8b\x08" + std::string(100'000, 'x');
  CHECK(skip_weights(gzip, 4096).file == gzip);
}

TEST_CASE("WeightSkipper: shipped models are unchanged") {
  const auto path = find_data_file("graphs/zoo/swin_t.onnx");
  REQUIRE(path.ok());
  const auto file = read_file(*path, 1 << 28);
  REQUIRE(file.ok());
  const Skipped skipped = skip_weights(*file, 1000);
  CHECK(skipped.kept == file->size());
  CHECK(skipped.file == *file);
}

TEST_CASE("Fields: JSON and queries become options") {
  bool flag = true;
  std::string text;
  int64_t number = 0;
  std::vector<std::string> list;
  double real = 0;
  const QuestionFields fields = {{"flag", &flag, "", 0, 0, FieldKind::kText, {}, false, false},
                                 {"text", &text, "", 0, 0, FieldKind::kText, {"a", "b c"}},
                                 {"number", &number, "", 1, 10},
                                 {"list", &list, ""},
                                 {"real", &real, "", 0, 1}};
  REQUIRE(read_json(R"({"flag":true,"text":"b c","number":10,"list":["x","y"],"real":0.5})", fields)
              .ok());
  CHECK_FALSE(flag);
  CHECK(text == "b c");
  CHECK(number == 10);
  CHECK(list == std::vector<std::string>{"x", "y"});
  CHECK(real == 0.5);
  list.clear();
  const auto query = parse_query("flag=false&text=b+c&number=3&list=x%3D1&list=y&real=1");
  REQUIRE(query.ok());
  REQUIRE(read_fields(*query, fields).ok());
  CHECK(flag);
  CHECK(number == 3);
  CHECK(list == std::vector<std::string>{"x=1", "y"});
  for (const char* bad :
       {R"({"number":0})", R"({"number":11})", R"({"number":1.5})", R"({"number":"3"})",
        R"({"text":"c"})", R"({"text":3})", R"({"flag":1})", R"({"real":2})", R"({"list":[[1]]})",
        R"({"number":null})", R"({"nmber":1})", R"({"number":1,"number":2})", R"([1])",
        R"({"list":{}})"}) {
    INFO(bad);
    CHECK_FALSE(read_json(bad, fields).ok());
  }
  for (const char* bad :
       {"number=x", "number=", "number=1e99", "flag=yes", "text=%zz", "text=%2", "other=1"}) {
    INFO(bad);
    const auto parameters = parse_query(bad);
    CHECK_FALSE((parameters.ok() && read_fields(*parameters, fields).ok()));
  }
}

TEST_CASE("Fields: names are not paths") {
  std::string name;
  const QuestionFields fields = {{"hw", &name, "", 0, 0, FieldKind::kName}};
  for (const char* bad :
       {"/etc/passwd", "../a100", ".hidden", "a/b", "a\\b", "a b", "CMakeLists.txt/"}) {
    INFO(bad);
    CHECK_FALSE(read_fields(QueryParameters{{"hw", bad}}, fields).ok());
  }
  CHECK(read_fields(QueryParameters{{"hw", "8xdgx-a100"}}, fields).ok());
}

TEST_CASE("Questions: fields have unique names and targets of their own") {
  for (const QuestionKind& kind : question_kinds()) {
    INFO(kind.name);
    const auto question = kind.make();
    std::vector<std::string> names;
    for (const QuestionField& field : question->fields()) {
      CHECK(field.help != "");
      CHECK(std::find(names.begin(), names.end(), field.name) == names.end());
      names.push_back(field.name);
    }
    CHECK(names.size() > 5);
  }
}

TEST_CASE("Routes: methods, parameters and the description of each") {
  std::string parameter;
  std::string allowed;
  const Route* route = find_route("GET", "/v1/hardware/a100", &parameter, &allowed);
  REQUIRE(route != nullptr);
  CHECK(route->kind == RouteKind::kHardware);
  CHECK(parameter == "a100");
  CHECK(find_route("HEAD", "/health", &parameter, &allowed) != nullptr);
  CHECK(find_route("PUT", "/v1/models", &parameter, &allowed) == nullptr);
  CHECK(allowed == "GET, POST");
  for (const char* path : {"/v1/hardware/a/b", "/v1/hardware/", "/v1", "/../x", "", "/health/"}) {
    INFO(path);
    CHECK(find_route("GET", path, &parameter, &allowed) == nullptr);
  }
  const PaddedJson padded(openapi_json("1"));
  JsonParser parser;
  JsonValue description;
  REQUIRE(parser.parse_object(padded.view(), &description));
  size_t described = 0;
  description["paths"].each_member(
      [&](std::string_view, const JsonValue& methods) { described += methods.size(); });
  CHECK(described == routes().size());
  for (const Route& each : routes()) {
    INFO(each.path);
    std::string method = each.method;
    std::transform(method.begin(), method.end(), method.begin(), ::tolower);
    CHECK(description["paths"][each.path][method]["responses"].size() > 5);
    std::string path = each.path;
    if (const size_t brace = path.find('{'); brace != std::string::npos) {
      path = path.substr(0, brace) + "x";
    }
    CHECK(find_route(each.method, path, &parameter, &allowed) == &each);
  }
}

TEST_CASE("ModelStore: names, limits and the oldest goes first") {
  StoreLimits limits;
  limits.model_bytes = 1000;
  limits.upload_bytes = 5000;
  limits.stored_bytes = 250;
  auto store = ModelStore::create(limits);
  REQUIRE(store.ok());
  std::vector<std::string> ids;
  std::string first_path;
  for (int i = 0; i < 4; ++i) {
    auto upload = (*store)->begin("../../etc/pass wd.onnx");
    REQUIRE(upload.ok());
    REQUIRE((*upload)->take(std::string(100, '\xff')).ok());
    auto model = (*upload)->finish();
    REQUIRE(model.ok());
    CHECK((*model)->name == "pass_wd.onnx");
    CHECK((*model)->kept_bytes == 100);
    ids.push_back((*model)->id);
    first_path = i == 0 ? (*model)->path : first_path;
    CHECK(std::filesystem::exists((*model)->path));
    CHECK((*store)->without_directory((*model)->path + ": bad") == "pass_wd.onnx: bad");
    (*store)->add(std::move(*model));
    if (i == 1) {
      CHECK((*store)->find(ids[0]) != nullptr);  // the first is used again, so the second goes
    }
  }
  CHECK((*store)->find(ids[1]) == nullptr);
  CHECK((*store)->list().size() == 2);
  const auto held = (*store)->find(ids[3]);
  REQUIRE(held != nullptr);
  CHECK((*store)->remove(ids[3]));
  CHECK_FALSE((*store)->remove(ids[3]));
  CHECK(std::filesystem::exists(held->path));  // somebody still reads it
  auto large = (*store)->begin("");
  REQUIRE(large.ok());
  CHECK((*large)->take(std::string(1001, '\xff')).code() == StatusCode::kUnsupported);
  auto empty = (*store)->begin("x");
  REQUIRE(empty.ok());
  CHECK((*empty)->finish().status().code() == StatusCode::kInvalidInput);
  const auto folder = std::filesystem::path(first_path).parent_path().parent_path();
  CHECK(std::filesystem::exists(folder));
  large->reset();
  empty->reset();
  store->reset();
  CHECK(std::filesystem::exists(held->path) == false);
}

TEST_CASE("Metrics: counts by route and status") {
  Metrics metrics;
  metrics.begin();
  metrics.begin();
  metrics.end("/v1/predict", 200, std::chrono::milliseconds(30));
  const std::string text = metrics.text();
  CHECK(text.find("dfsim_requests_total{route=\"/v1/predict\",status=\"200\"} 1\n") !=
        std::string::npos);
  CHECK(text.find("dfsim_request_seconds_bucket{route=\"/v1/predict\",le=\"0.02\"} 0\n") !=
        std::string::npos);
  CHECK(text.find("dfsim_request_seconds_bucket{route=\"/v1/predict\",le=\"0.05\"} 1\n") !=
        std::string::npos);
  CHECK(text.find("dfsim_requests_in_flight 1\n") != std::string::npos);
}
