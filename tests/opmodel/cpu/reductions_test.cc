// Reductions on CPUs by the axes that they reduce: times by hand.
#include "opmodel/model/laws/cpu/reductions.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/opmodel/cpu/operator_of.h"

namespace dfsim {
namespace {

OpDescriptor reduction(const std::string& type, std::vector<int64_t> x, const std::string& axes) {
  return operator_of(type, {std::move(x)}, {1}, "axes=" + axes + ";keepdims=1");
}

double reduction_us(const std::string& type, std::vector<int64_t> x, const std::string& axes,
                    int cores = 1) {
  return reduction_kernel_us(reduction(type, std::move(x), axes), cores);
}

TEST_CASE("Reductions: rows, the middle, the first axis and all have rates of their own") {
  CHECK(reduction_us("ReduceL1", {10, 10, 10}, "2") == Approx(0.44));
  CHECK(reduction_us("ReduceL1", {10, 500}, "1") == Approx(5 * 0.80));
  CHECK(reduction_us("ReduceL1", {10, 10, 10}, "1") == Approx(0.90));
  CHECK(reduction_us("ReduceL1", {10, 10, 10}, "0") == Approx(0.92));
  CHECK(reduction_us("ReduceL1", {10, 10, 10}, "0,1,2") == Approx(0.11));
  CHECK(reduction_us("ReduceLogSumExp", {10, 10, 10}, "1") == Approx(4.6));
  CHECK(reduction_us("ReduceMin", {10, 10, 10}, "0") == Approx(0.58));
  CHECK(reduction_us("ReduceMin", {10, 10, 10}, "0", 2) == Approx(0.58 * (0.02 + 0.98 / 2)));
  CHECK(reduction_us("ReduceMin", {10, 10, 10}, "0,1,2", 2) == Approx(0.08));
  // Neighbouring axes are one, axes of one element none.
  CHECK(reduction_us("ReduceMax", {10, 1, 10, 20}, "2,3") == Approx(2 * 0.07));
  CHECK(reduction_us("ReduceMax", {1, 10, 10, 10}, "1") == Approx(0.58));
  CHECK(reduction_us("ReduceProd", {10, 10, 200}, "0,2") == Approx(20 * 0.80));
  CHECK(reduction_us("ReduceSum", {10, 10, 10}, "1") == 0);
  CHECK(reduction_us("ReduceMin", {10, 1, 10}, "1") == 0);
}

TEST_CASE("Reductions: rows a multiple of 2 KB apart share few sets of a cache") {
  CHECK(reduction_us("ReduceSumSquare", {2, 16, 512}, "1") == Approx(16.384 * 2.75));
  CHECK(reduction_us("ReduceMin", {16, 1024}, "0") == Approx(16.384 * 0.62));
  CHECK(reduction_us("ReduceSumSquare", {2, 16, 500}, "1") == Approx(16 * 0.90));
  CHECK(reduction_us("ReduceSumSquare", {2, 15, 512}, "1") == Approx(15.36 * 0.90));
}

TEST_CASE("Reductions: models that know the form hear of all axes and of shared sets only") {
  CHECK(reduces_unlike_form(reduction("ReduceMax", {10, 10}, "0,1")));
  CHECK(reduces_unlike_form(reduction("ReduceL2", {2, 16, 512}, "1")));
  CHECK_FALSE(reduces_unlike_form(reduction("ReduceL2", {2, 16, 500}, "1")));
  CHECK_FALSE(reduces_unlike_form(reduction("ReduceMax", {10, 10}, "0")));
  CHECK_FALSE(reduces_unlike_form(reduction("ReduceMean", {10, 10}, "0,1")));
}

}  // namespace
}  // namespace dfsim
