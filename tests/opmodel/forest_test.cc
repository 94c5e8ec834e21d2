#include "opmodel/trees/forest.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "base/rng.h"
#include "opmodel/trees/compact_trees.h"
#include "opmodel/trees/tree_file.h"
#include "opmodel/trees/xgboost_adapter.h"

namespace dfsim {
namespace {

constexpr size_t kColumns = 12;

std::vector<float> random_rows(size_t count, uint64_t seed) {
  Rng rng(seed);
  std::vector<float> values;
  for (size_t i = 0; i < count * kColumns; ++i) {
    const auto value = static_cast<float>(std::round(rng.uniform() * 40) / 4);
    values.push_back(rng.uniform() < 0.1 ? std::numeric_limits<float>::quiet_NaN() : value);
  }
  return values;
}

std::string trained_model() {
  const std::vector<float> values = random_rows(3000, 5);
  std::vector<float> labels;
  for (size_t i = 0; i < 3000; ++i) {
    float label = 0;
    for (size_t j = 0; j < 6; ++j) {
      const float x = values[i * kColumns + j];
      label += std::isnan(x) ? 2.5F : std::sin(x * static_cast<float>(j + 1));
    }
    labels.push_back(label);
  }
  const auto matrix = TrainingMatrix::create(
      {.values = values, .columns = kColumns, .labels = labels, .weights = {}}, 1);
  REQUIRE(matrix.ok());
  const TrainingMatrix* const matrices[] = {&*matrix};
  auto booster = Booster::create({{"max_depth", "7"},
                                  {"eta", "0.1"},
                                  {"tree_method", "hist"},
                                  {"nthread", "1"},
                                  {"base_score", "0.4582"}},
                                 matrices);
  REQUIRE(booster.ok());
  for (int round = 0; round < 80; ++round) {
    REQUIRE(booster->update(round, *matrix).ok());
  }
  return booster->save().value();
}

TEST_CASE("Forest: predicts the same bits as XGBoost, including missing values") {
  const std::string bytes = trained_model();
  const auto booster = Booster::load(bytes, checksum64(bytes), "m");
  const auto forest = Forest::parse(bytes, "m");
  REQUIRE(booster.ok());
  REQUIRE(forest.ok());
  CHECK(forest->columns() == kColumns);
  CHECK(forest->trees() == 80);
  for (const size_t rows : {1, 7, 8, 9, 500}) {
    const std::vector<float> values = random_rows(rows, 77 + rows);
    std::vector<float> library(rows);
    std::vector<float> ours(rows);
    REQUIRE(booster->predict(values, library).ok());
    forest->predict(values, ours);
    CHECK(library == ours);
  }
}

TEST_CASE("Forest: compact trees predict as before in a tenth of the bytes, and train further") {
  const std::string bytes = trained_model();
  const auto trees = read_trees(bytes, "m");
  REQUIRE(trees.ok());
  const std::string compact = compact_trees(*trees);
  CHECK(are_compact_trees(compact));
  CHECK_FALSE(are_compact_trees(bytes));
  CHECK(compact.size() * 10 < bytes.size());
  const auto forest = Forest::parse(compact, "m");
  REQUIRE(forest.ok());
  CHECK(forest->trees() == 80);
  const auto rounded = read_trees(compact, "m");
  REQUIRE(rounded.ok());
  CHECK(compact_trees(*rounded) == compact);
  const std::string full = xgboost_trees(*rounded);
  const auto original = Booster::load(bytes, checksum64(bytes), "m");
  const auto restored = Booster::load(full, checksum64(full), "m");
  REQUIRE(original.ok());
  INFO(restored.status().message());
  REQUIRE(restored.ok());
  const std::vector<float> values = random_rows(500, 31);
  std::vector<float> library(500);
  std::vector<float> ours(500);
  std::vector<float> again(500);
  REQUIRE(original->predict(values, library).ok());
  REQUIRE(restored->predict(values, again).ok());
  forest->predict(values, ours);
  CHECK(ours == again);
  // Leaves are rounded, at most by 1/32767 of the largest one: 80 of them.
  float largest = 0;
  for (size_t i = 0; i < trees->values.size(); ++i) {
    largest = trees->features[i] < 0 ? std::max(largest, std::abs(trees->values[i])) : largest;
  }
  for (size_t i = 0; i < ours.size(); ++i) {
    CHECK(std::abs(ours[i] - library[i]) < 80 * largest / 32767);
  }

  auto resumed = Booster::resume(full, {{"tree_method", "hist"}, {"nthread", "1"}});
  REQUIRE(resumed.ok());
  CHECK(resumed->rounds().value() == 80);
  const std::vector<float> labels(500, 1.0F);
  const auto matrix = TrainingMatrix::create(
      {.values = values, .columns = kColumns, .labels = labels, .weights = {}}, 1);
  REQUIRE(matrix.ok());
  REQUIRE(resumed->update(80, *matrix).ok());
  CHECK(resumed->rounds().value() == 81);
}

TEST_CASE("Compact trees: splits are exact, leaves are multiples of a power of two") {
  TreeFile trees;
  trees.base_score = 0.25F;
  trees.columns = 3;
  trees.nodes = {1, 5};
  trees.features = {-1, 2, 0, -1, -1, -1};
  trees.values = {-0.5F, 0.1F, -7.25F, 0.3F, 1e-7F, 0.0F};
  trees.missing_left = {0, 1, 0, 0, 0, 0};
  const auto read = read_trees(compact_trees(trees), "m");
  REQUIRE(read.ok());
  CHECK(read->base_score == trees.base_score);
  CHECK(read->columns == 3);
  CHECK(read->nodes == trees.nodes);
  CHECK(read->features == trees.features);
  CHECK(read->missing_left == trees.missing_left);
  // 0.5 needs 2^-15 (16384 of them): 0.3 becomes 9830 of them, 1e-7 none.
  CHECK(read->values == std::vector<float>{-0.5F, 0.1F, -7.25F, 9830.0F / 32768, 0.0F, 0.0F});
}

TEST_CASE("Compact trees: more than 256 thresholds of a feature keep their places") {
  TreeFile trees;
  trees.columns = 1;
  for (int i = 0; i < 300; ++i) {  // stumps
    trees.nodes.push_back(3);
    trees.features.insert(trees.features.end(), {0, -1, -1});
    trees.values.insert(trees.values.end(), {static_cast<float>(i) / 7, 1.0F, -1.0F});
    trees.missing_left.insert(trees.missing_left.end(), {0, 0, 0});
  }
  const auto read = read_trees(compact_trees(trees), "m");
  REQUIRE(read.ok());
  CHECK(read->values == trees.values);
}

// Cuts a model everywhere and flips its bits: refused, or a forest that predicts without a crash.
void damage(const std::string& bytes) {
  for (size_t size = 0; size < bytes.size(); size += bytes.size() / 500) {
    CHECK_FALSE(Forest::parse(bytes.substr(0, size), "cut.ubj").ok());
  }
  const std::vector<float> values = random_rows(16, 3);
  Rng rng(9);
  int refused = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    std::string damaged = bytes;
    for (int flips = 0; flips < 5; ++flips) {
      // Half of the flips hit the beginning, where the structure is dense.
      const uint64_t range = rng.below(2) == 0 ? 4000 : damaged.size();
      damaged[rng.below(range)] ^= static_cast<char>(1U << rng.below(8));
    }
    const auto forest = Forest::parse(damaged, "flipped.ubj");
    if (!forest.ok()) {
      ++refused;
      CHECK(forest.status().code() == StatusCode::kInvalidInput);
    } else if (forest->columns() == kColumns) {
      std::vector<float> out(16);
      forest->predict(values, out);
    }
  }
  CHECK(refused > 0);
}

TEST_CASE("Forest: cut and damaged models are errors or predict without a crash") {
  const std::string bytes = trained_model();
  damage(bytes);
  damage(compact_trees(read_trees(bytes, "m").value()));
}

TEST_CASE("Forest: UBJSON that is not a model is refused with a reason") {
  for (const std::string text : {"", "{", "{}", "[]", "{i\x07learnerS", "{\x7f"}) {
    const auto forest = Forest::parse(text, "other.ubj");
    REQUIRE_FALSE(forest.ok());
    CHECK(forest.status().message().find("other.ubj: not a usable XGBoost model") == 0);
  }
  // A hundred thousand nested arrays must not overflow the stack.
  std::string deep = "{i\x01x";
  deep.append(100'000, '[');
  CHECK_FALSE(Forest::parse(deep, "deep.ubj").ok());
}

}  // namespace
}  // namespace dfsim
