// Sweeps as text, and what a point of them sets.
#include "study/roofline/sweep_axis.h"

#include <catch2/catch.hpp>

using namespace dfsim;

TEST_CASE("parse_sweep: numbers rise, names differ") {
  const auto batch = parse_sweep("batch=1,8");
  REQUIRE(batch.ok());
  CHECK(batch->axis == RooflineAxis::kSize);
  CHECK(batch->numbers == std::vector<int64_t>{1, 8});
  const auto precision = parse_sweep("precision=int8,fp32");
  REQUIRE(precision.ok());
  CHECK(precision->axis == RooflineAxis::kPrecision);
  CHECK(precision->numbers.empty());
  CHECK(precision->values == std::vector<std::string>{"int8", "fp32"});
  CHECK(parse_sweep("inter=1,2")->axis == RooflineAxis::kInter);
  CHECK(parse_sweep("placement=free,node")->axis == RooflineAxis::kPlacement);
  // A dimension may be named as it likes.
  CHECK(parse_sweep("inter_size=1,2")->axis == RooflineAxis::kSize);
  CHECK(parse_sweep("a=b=1,2")->name == "a=b");
  for (const char* const text :
       {"", "batch", "=1,2", "batch=2,1", "batch=1", "batch=0,1", "batch=1,x", "precision=fp32",
        "precision=fp32,fp32", "precision=fp32,", "inter=one,two"}) {
    INFO(text);
    const auto sweep = parse_sweep(text);
    REQUIRE_FALSE(sweep.ok());
    CHECK(sweep.status().code() == StatusCode::kInvalidInput);
    CHECK(sweep.status().message().find('\n') == std::string::npos);
  }
}

TEST_CASE("RooflineSetting: sets what its sweeps name") {
  RooflineSetting at;
  at.set(*parse_sweep("batch=1,8"), 1);
  CHECK(at.sizes.at("batch") == 8);
  CHECK_FALSE(at.divides_cores());
  at.set(*parse_sweep("precision=fp32,int8"), 1);
  CHECK(at.precision == "int8");
  CHECK_FALSE(at.divides_cores());
  at.set(*parse_sweep("inter=1,4"), 1);
  CHECK(at.inter == 4);
  CHECK(at.divides_cores());
}
