// The trees of every model that ships predict what XGBoost itself predicts with them.
#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "base/io/file.h"
#include "base/rng.h"
#include "opmodel/trees/compact_trees.h"
#include "opmodel/trees/forest.h"
#include "opmodel/trees/tree_file.h"
#include "opmodel/trees/xgboost_adapter.h"

namespace dfsim {
namespace {

std::vector<std::string> shipped_files() {
  std::vector<std::string> files;
  for (const std::string folder : {"/opmodel/pretrained", "/serving/kernels/pretrained"}) {
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(DFSIM_SOURCE_DIR + folder)) {
      if (entry.path().extension() == ".ubj") {
        files.push_back(entry.path().string());
      }
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

// Rows that go everywhere in the trees: thresholds that the model splits by, the numbers next to
// them on both sides, random ones in between, and missing ones.
std::vector<float> rows_around(const TreeFile& trees, size_t count, Rng& rng) {
  std::vector<std::vector<float>> thresholds(trees.columns);
  for (size_t i = 0; i < trees.features.size(); ++i) {
    if (trees.features[i] >= 0) {
      thresholds[static_cast<size_t>(trees.features[i])].push_back(trees.values[i]);
    }
  }
  std::vector<float> rows;
  for (size_t i = 0; i < count * trees.columns; ++i) {
    const std::vector<float>& known = thresholds[i % trees.columns];
    if (known.empty() || rng.below(8) == 0) {
      rows.push_back(std::numeric_limits<float>::quiet_NaN());
      continue;
    }
    const float value = known[rng.below(known.size())];
    switch (rng.below(4)) {
      case 0:
        rows.push_back(value);
        break;
      case 1:
        rows.push_back(std::nextafter(value, -std::numeric_limits<float>::infinity()));
        break;
      case 2:
        rows.push_back(std::nextafter(value, std::numeric_limits<float>::infinity()));
        break;
      default:
        rows.push_back(value + static_cast<float>(rng.uniform() - 0.5));
        break;
    }
  }
  return rows;
}

TEST_CASE("Shipped trees: every model predicts the same bits as XGBoost") {
  const std::vector<std::string> files = shipped_files();
  REQUIRE(files.size() > 100);
  Rng rng(17);
  size_t predictions = 0;
  for (const std::string& file : files) {
    INFO(file);
    const auto bytes = read_file(file, int64_t{1} << 30);
    REQUIRE(bytes.ok());
    const auto trees = read_trees(*bytes, file);
    const auto forest = Forest::parse(*bytes, file);
    REQUIRE(trees.ok());
    REQUIRE(forest.ok());
    const std::string layout = xgboost_trees(*trees);
    const auto booster = Booster::load(layout, checksum64(layout), file);
    INFO(booster.status().message());
    REQUIRE(booster.ok());
    REQUIRE(booster->columns() == forest->columns());
    const size_t count = 64;
    const std::vector<float> rows = rows_around(*trees, count, rng);
    std::vector<float> ours(count);
    std::vector<float> library(count);
    forest->predict(rows, ours);
    REQUIRE(booster->predict(rows, library).ok());
    const bool same = std::equal(ours.begin(), ours.end(), library.begin(), [](float a, float b) {
      return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
    });
    CHECK(same);
    CHECK(compact_trees(*trees) == *bytes);
    predictions += count;
  }
  CHECK(predictions == files.size() * 64);
}

TEST_CASE("Tree files: members of both layouts in one file are an error") {
  TreeFile trees;
  trees.columns = 1;
  trees.nodes = {1};
  trees.features = {-1};
  trees.values = {1.5F};
  trees.missing_left = {0};
  // An array of XGBoost's layout would be replaced by a longer one of the other.
  std::string layout = xgboost_trees(trees);
  REQUIRE(read_trees(layout, "m").ok());
  layout.pop_back();
  layout +=
      "i\x08"
      "features[$U#i\x03";
  layout += std::string("\0\0\0}", 4);
  const auto read = read_trees(layout, "m");
  REQUIRE_FALSE(read.ok());
  CHECK(read.status().message().find("both layouts") != std::string::npos);
  CHECK_FALSE(read_trees("{}", "m").ok());
}

TEST_CASE("Tree files: a base score in brackets, as XGBoost 3.1 writes it, is read") {
  // One leaf of 1.5, as compact trees, rewritten with the newer spelling.
  TreeFile trees;
  trees.base_score = 0.25F;
  trees.columns = 1;
  trees.nodes = {1};
  trees.features = {-1};
  trees.values = {1.5F};
  trees.missing_left = {0};
  std::string layout = xgboost_trees(trees);
  const std::string old_length(
      "S"
      "L\0\0\0\0\0\0\0\x04"
      "0.25",
      14);
  const std::string new_length(
      "S"
      "L\0\0\0\0\0\0\0\x08"
      "[2.5E-1]",
      18);
  const size_t at = layout.find(old_length);
  REQUIRE(at != std::string::npos);
  layout.replace(at, old_length.size(), new_length);
  const auto read = read_trees(layout, "m");
  INFO(read.status().message());
  REQUIRE(read.ok());
  CHECK(read->base_score == 0.25F);
}

}  // namespace
}  // namespace dfsim
