// Features of how operators walk through memory: layouts that are the same walk get the same ones.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/opmodel/op_features.h"

namespace dfsim {
namespace {

std::map<std::string, double> walk(std::string type, OpClass op_class, Shapes in, Shapes out,
                                   std::string attributes = "") {
  auto found =
      op_features(std::move(type), op_class, std::move(in), std::move(out), std::move(attributes));
  std::erase_if(found, [](const auto& feature) {
    return !feature.first.starts_with("walk") && feature.first != "exponent";
  });
  return found;
}

std::map<std::string, double> transpose(const std::vector<int64_t>& x, const std::string& perm) {
  return walk("Transpose", OpClass::kDataMovement, {x}, {x}, "perm=" + perm);
}

TEST_CASE("Walk features: transpositions with the same copies have the same features") {
  // Axes of one element are none: [197, 3, 64] with the first two exchanged.
  const auto heads = transpose({1, 197, 1, 3, 64}, "2,0,3,1,4");
  CHECK(heads == transpose({197, 3, 64}, "1,0,2"));
  CHECK(heads.at("walk_axes") == 3);
  CHECK(heads.at("walk_run") == Approx(std::log(64)));
  CHECK(heads.at("walk_moved") == Approx(std::log(197)));
  // Neighbours that stay neighbours are one axis.
  const auto last = transpose({8, 48, 28, 28}, "0,2,3,1");
  CHECK(last == transpose({8, 48, 784}, "0,2,1"));
  CHECK(last.at("walk_run") == Approx(0));
  CHECK(last.at("walk_extent0x0") == Approx(std::log(48)));
  CHECK(last.at("walk_extent1x0") == Approx(std::log(784)));
  // Two axes change places round a third: no single one moves.
  CHECK(transpose({8, 96, 196, 4}, "0,3,2,1").at("walk_moved") == -1);
  // Nothing moves at all.
  const auto copy = transpose({1, 5, 1, 7}, "2,1,0,3");
  CHECK(copy.at("walk_axes") == 1);
  CHECK(copy.at("walk_run") == Approx(std::log(35)));
  CHECK(copy.at("walk_moved") == Approx(0));
}

TEST_CASE("Walk features: invalid permutations are not transpositions") {
  for (const char* perm : {"0,0", "0,7", "0", "x"}) {
    const auto found = transpose({4, 6}, perm);
    CHECK(std::isfinite(found.at("walk_run")));
  }
}

TEST_CASE("Walk features: reductions differ by the reduced axes and the extent inside them") {
  const auto pixels = walk("ReduceMean", OpClass::kReduce, {{8, 64, 14, 14}}, {{8, 64, 1, 1}},
                           "axes=2,3;keepdims=1");
  CHECK(pixels ==
        walk("ReduceMean", OpClass::kReduce, {{512, 196}}, {{512, 1}}, "axes=1;keepdims=1"));
  CHECK(pixels.at("walk_kind0x0") == 1);
  CHECK(pixels.at("walk_extent0x0") == Approx(std::log(196)));
  const auto channels = walk("ReduceMean", OpClass::kReduce, {{8, 64, 14, 14}}, {{8, 1, 14, 14}},
                             "axes=1;keepdims=1");
  CHECK(channels.at("walk_axes") == 3);
  CHECK(channels.at("walk_kind0x0") == 0);
  CHECK(channels.at("walk_kind1x0") == 1);
}

TEST_CASE("Walk features: broadcasts differ by the innermost run of one pattern") {
  const auto channel =
      walk("Mul", OpClass::kElementwise, {{8, 64, 14, 14}, {1, 64, 1, 1}}, {{8, 64, 14, 14}});
  CHECK(channel.at("walk_axes") == 3);
  CHECK(channel.at("walk_run") == Approx(std::log(196)));
  CHECK(channel.at("walk_kind0x0") == 1);  // only the first operand
  CHECK(channel.at("walk_kind1x0") == 3);  // both
  const auto same = walk("Mul", OpClass::kElementwise, {{8, 64}, {8, 64}}, {{8, 64}});
  CHECK(same.at("walk_axes") == 1);
  CHECK(same.at("walk_run") == Approx(std::log(512)));
  // More axes than the result has, as only a damaged profile says.
  CHECK(std::isfinite(walk("Mul", OpClass::kElementwise, {{2, 3, 4}, {4}}, {{4}}).at("walk_run")));
}

TEST_CASE("Walk features: slices differ by the size of a contiguous piece") {
  const auto found =
      walk("Slice", OpClass::kDataMovement, {{2, 20, 12}, {1}, {1}, {1}}, {{2, 5, 12}});
  CHECK(found.at("walk_run") == Approx(std::log(60)));
  CHECK(found.at("walk_extent1x0") == Approx(std::log(2)));
}

TEST_CASE("Walk features: gathers and scatters differ by what is copied for each index") {
  const auto run = [](const std::string& type, const Shapes& in, const Shapes& out,
                      const std::string& attributes) {
    return walk(type, OpClass::kGather, in, out, attributes);
  };
  // Rows of a table, 64 elements each; the windows of a line, one element each.
  const auto rows = run("Gather", {{1000, 64}, {2, 9}}, {{2, 9, 64}}, "axis=0");
  CHECK(rows.at("walk_run") == Approx(std::log(64)));
  CHECK(rows.at("walk_extent1x0") == Approx(std::log(18)));
  CHECK(rows == run("Gather", {{1000, 64}, {2, 9}}, {{2, 9, 64}}, ""));
  const auto windows = run("Gather", {{1, 384, 136}, {9, 128}}, {{1, 384, 9, 128}}, "axis=2");
  CHECK(windows.at("walk_run") == Approx(0));
  CHECK(windows.at("walk_extent1x0") == Approx(std::log(384 * 9 * 128)));
  CHECK(run("GatherElements", {{4, 64}, {4, 8}}, {{4, 8}}, "axis=1").at("walk_run") == Approx(0));
  const Shapes pairs = {{8, 100, 32}, {50, 2}};
  CHECK(run("GatherND", pairs, {{50, 32}}, "").at("walk_run") == Approx(std::log(32)));
  // Scatters: the updates count, here 50 rows of 32 elements and 600 single ones.
  const auto rows_set = run("ScatterND", {{8, 100, 32}, {50, 2}, {50, 32}}, {{8, 100, 32}}, "");
  CHECK(rows_set.at("walk_run") == Approx(std::log(32)));
  CHECK(rows_set.at("walk_extent1x0") == Approx(std::log(50)));
  const auto each = run("ScatterND", {{20, 30}, {20, 30, 2}, {20, 30}}, {{20, 30}}, "");
  CHECK(each.at("walk_run") == Approx(0));
  CHECK(each.at("walk_extent1x0") == Approx(std::log(600)));
  CHECK(run("ScatterElements", {{4, 64}, {4, 8}, {4, 8}}, {{4, 64}}, "axis=1").at("walk_run") ==
        Approx(0));
  // Indices that a damaged profile makes deeper than the table.
  CHECK(run("GatherND", {{4}, {5, 7}}, {{5}}, "").at("walk_run") == Approx(0));
}

TEST_CASE("Walk features: a known integer exponent is a feature") {
  CHECK(walk("Pow", OpClass::kElementwise, {{4, 4}, {}}, {{4, 4}}, "exponent=2").at("exponent") ==
        1);
  CHECK(walk("Pow", OpClass::kElementwise, {{4, 4}, {}}, {{4, 4}}).at("exponent") == 0);
}

}  // namespace
}  // namespace dfsim
