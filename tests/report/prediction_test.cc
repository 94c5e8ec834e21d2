#include "study/prediction/prediction.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "report/predictions/prediction_views.h"
#include "tests/report/small_prediction.h"

namespace dfsim {
namespace {

using Json = nlohmann::json;

TEST_CASE("Prediction: totals equal the sums computed by hand") {
  const Prediction prediction = small_prediction().prediction;
  CHECK(prediction.latency_ns == 240);
  CHECK(prediction.macs == 32);
  CHECK(prediction.flops == 72);
  CHECK(prediction.parameters == 32);
  CHECK(prediction.weight_bytes == 128);
  CHECK(prediction.input_bytes == 16);
  CHECK(prediction.peak_activation_bytes == 64);
  CHECK(prediction.peak_memory_bytes == 128 + 16 + 64);
  CHECK(prediction.throughput_per_s == Approx(1.0 / 240e-9));
  CHECK(prediction.achieved_flops_per_s == Approx(72.0 / 240e-9));
  CHECK(prediction.peak_flops_per_s == 1e9);
  CHECK(prediction.critical_path_ns == 240);
  CHECK(prediction.ops[0].critical);
  CHECK(prediction.ops[1].critical);
  CHECK(prediction.view_ops == 1);
  CHECK(prediction.folded_ops == 0);
  REQUIRE(prediction.ops.size() == 2);
  CHECK(prediction.ops[0].op_type == "MatMul");
  CHECK(prediction.ops[0].duration_ns == 176);
  CHECK(prediction.ops[0].bound == Bound::kMemory);
  CHECK(prediction.ops[0].source == CostSource::kBoundOnly);
  CHECK(prediction.ops[1].start_ns == 176);
  CHECK(prediction.ops[1].duration_ns == 64);
  REQUIRE(prediction.classes.size() == 2);
  CHECK(prediction.classes[0].name == "matmul");
  CHECK(prediction.classes[0].fraction == Approx(176.0 / 240));
}

TEST_CASE("Prediction: the JSON has the documented fields") {
  const Json json = Json::parse(prediction_json(small_prediction().prediction));
  CHECK(json["schema"] == "dfsim.predict/1");
  for (const char* field :
       {"model", "hardware", "batch", "latency_ms", "throughput_per_s", "macs", "flops",
        "parameters", "weight_bytes", "peak_memory_bytes", "critical_path_ms", "sources", "ops"}) {
    INFO(field);
    CHECK(json.contains(field));
  }
  CHECK(json["latency_ms"] == 0.00024);
  REQUIRE(json["ops"].size() == 2);
  for (const char* field : {"name", "op_type", "class", "device", "start_us", "duration_us",
                            "flops", "bytes", "bound", "source"}) {
    INFO(field);
    CHECK(json["ops"][0].contains(field));
  }
  CHECK(json["ops"][1]["start_us"] == 0.176);
  CHECK(json["ops"][1]["wait_us"]["dependency"] == 0.176);
  CHECK(json["sources"][0]["name"] == "bound-only");
  CHECK(json["sources"][0]["ops"] == 2);
}

TEST_CASE("Prediction: two predictions of one model are the same bytes") {
  CHECK(prediction_json(small_prediction().prediction) ==
        prediction_json(small_prediction().prediction));
  CHECK(small_prediction().trace == small_prediction().trace);
}

TEST_CASE("Prediction: the CSV has one row per executed op and quotes fields that need it") {
  Prediction prediction = small_prediction().prediction;
  prediction.ops[0].name = "a,\"b\"";
  const std::string csv = ops_csv(prediction);
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 3);
  CHECK(csv.starts_with("name,op_type,class,device,queue,start_us,duration_us,"));
  CHECK(csv.find("\"a,\"\"b\"\"\",MatMul,matmul,gpu0,0,0,0.176,32,64,176,float32,memory,") !=
        std::string::npos);
}

TEST_CASE("Prediction: the summary fits 100 columns, also with long names") {
  Prediction prediction = small_prediction().prediction;
  prediction.ops[0].name = std::string(300, 'n');
  prediction.host_busy_ns = prediction.latency_ns;  // the longest reason
  prediction.weight_bytes = 123'456'789'000;
  prediction.peak_memory_bytes = 234'567'890'000;
  prediction.memory_bytes = 85'899'345'920;
  const std::string text = summary_text(prediction);
  size_t start = 0;
  for (size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', start)) {
    INFO(text.substr(start, end - start));
    CHECK(end - start <= 100);
    start = end + 1;
  }
  CHECK(text.find("latency        ≥ 240 ns") != std::string::npos);
}

TEST_CASE("Prediction: the summary reports a model that does not fit the device") {
  Prediction prediction = small_prediction().prediction;
  prediction.memory_bytes = 100;
  CHECK(summary_text(prediction).find("MORE than its 100 B") != std::string::npos);
}

TEST_CASE("Prediction: lists unresolved ops") {
  Prediction prediction = small_prediction().prediction;
  prediction.unresolved.push_back({"node7", "Mystery", "operator Mystery is not known"});
  const std::string text = summary_text(prediction);
  CHECK(text.find("1 operator of the file could not be resolved") != std::string::npos);
  CHECK(text.find("Mystery 'node7': operator Mystery is not known") != std::string::npos);
  CHECK(Json::parse(prediction_json(prediction))["unresolved"][0]["name"] == "node7");
}

}  // namespace
}  // namespace dfsim
