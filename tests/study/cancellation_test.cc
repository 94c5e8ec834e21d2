// Studies end inside their long steps when their caller no longer wants the result.
#include "study/partitioning/partition.h"
#include "study/prediction/predict.h"
#include "study/roofline/study_roofline.h"
#include "tests/base/cancel_checks.h"
#include "tests/study/study_inputs.h"

using namespace dfsim;
using namespace dfsim::testing;

TEST_CASE("Cancellation: ends a prediction while it imports, costs and simulates") {
  PredictOptions options;
  options.model = zoo_model("bert_large");
  options.hardware = "a100";
  options.repeat = 20;
  // Each repetition simulates some hundred operators.
  check_cancels([&] { return predict(options).status(); }, 60);
}

TEST_CASE("Cancellation: ends a partitioning while it searches") {
  PartitionOptions options;
  options.model = zoo_model("bert_base");
  options.model.batch = 8;
  options.hardware = "dgx-a100";
  options.strategy = "search";
  check_cancels([&] { return partition_model(options, {}).status(); }, 100);
}

TEST_CASE("Cancellation: ends a roofline between its operators") {
  RooflineOptions roofline;
  roofline.source.model = zoo_model("bert_base");
  roofline.source.hardware = "a100";
  roofline.sweep = {"batch=1,2,4"};
  check_cancels([&] { return study_roofline(roofline, {}).status(); }, 20);
}
