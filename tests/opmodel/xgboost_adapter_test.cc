#include "opmodel/trees/xgboost_adapter.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "base/rng.h"

namespace dfsim {
namespace {

// y = 3 x0 - 2 [x1 > 0.5], with a third column that means nothing and is often missing.
struct Rows {
  std::vector<float> values;
  std::vector<float> labels;
};

Rows make_rows(size_t count, uint64_t seed) {
  Rng rng(seed);
  Rows rows;
  for (size_t i = 0; i < count; ++i) {
    const auto x0 = static_cast<float>(rng.uniform());
    const auto x1 = static_cast<float>(rng.uniform());
    const auto noise = static_cast<float>(rng.uniform());
    rows.values.insert(rows.values.end(),
                       {x0, x1, noise < 0.3F ? std::numeric_limits<float>::quiet_NaN() : noise});
    rows.labels.push_back(3 * x0 - (x1 > 0.5F ? 2.0F : 0.0F));
  }
  return rows;
}

const BoosterParams kParams = {{"objective", "reg:squarederror"},
                               {"eval_metric", "mae"},
                               {"max_depth", "4"},
                               {"eta", "0.2"},
                               {"tree_method", "hist"},
                               {"nthread", "1"},
                               {"seed", "7"},
                               {"base_score", "0"}};

Booster train(size_t rounds) {
  const Rows rows = make_rows(2000, 1);
  const auto matrix = TrainingMatrix::create(
      {.values = rows.values, .columns = 3, .labels = rows.labels, .weights = {}}, 1);
  REQUIRE(matrix.ok());
  const TrainingMatrix* const matrices[] = {&*matrix};
  auto booster = Booster::create(kParams, matrices);
  REQUIRE(booster.ok());
  for (size_t round = 0; round < rounds; ++round) {
    REQUIRE(booster->update(static_cast<int>(round), *matrix).ok());
  }
  return std::move(booster).value();
}

TEST_CASE("a booster learns a function with a step and survives saving and loading") {
  const Booster trained = train(60);
  CHECK(trained.columns() == 3);
  const auto bytes = trained.save();
  REQUIRE(bytes.ok());
  const auto loaded = Booster::load(*bytes, checksum64(*bytes), "model.ubj");
  REQUIRE(loaded.ok());
  CHECK(loaded->columns() == 3);

  const Rows unseen = make_rows(500, 2);
  std::vector<float> before(500);
  std::vector<float> after(500);
  REQUIRE(trained.predict(unseen.values, before).ok());
  REQUIRE(loaded->predict(unseen.values, after).ok());
  CHECK(before == after);
  double error = 0;
  for (size_t i = 0; i < before.size(); ++i) {
    error += std::abs(before[i] - unseen.labels[i]) / 500;
  }
  CHECK(error < 0.1);
  const auto importance = trained.importance();
  REQUIRE(importance.ok());
  REQUIRE(importance->size() >= 2);
  CHECK((*importance)[0].second + (*importance)[1].second > 0.99);
  CHECK((*importance)[0].first <= 1);
  CHECK((*importance)[1].first <= 1);
}

TEST_CASE("the same rows and seed give the same model bytes") {
  CHECK(train(20).save().value() == train(20).save().value());
}

TEST_CASE("the first rounds of a model are a model of their own") {
  const Booster all = train(20);
  const auto part = all.first_rounds(5);
  REQUIRE(part.ok());
  const Rows rows = make_rows(10, 3);
  std::vector<float> from_part(10);
  std::vector<float> from_short(10);
  REQUIRE(part->predict(rows.values, from_part).ok());
  REQUIRE(train(5).predict(rows.values, from_short).ok());
  CHECK(from_part == from_short);
  CHECK_FALSE(all.first_rounds(21).ok());
}

TEST_CASE("damaged models are refused, whatever the damage") {
  const std::string bytes = train(5).save().value();
  const uint64_t checksum = checksum64(bytes);
  for (const size_t size :
       {size_t{0}, size_t{1}, size_t{100}, bytes.size() / 2, bytes.size() - 1}) {
    const auto loaded = Booster::load(bytes.substr(0, size), checksum, "cut.ubj");
    REQUIRE_FALSE(loaded.ok());
    CHECK(loaded.status().code() == StatusCode::kInvalidInput);
    CHECK(loaded.status().message().starts_with("cut.ubj: "));
  }
  Rng rng(11);
  for (int trial = 0; trial < 200; ++trial) {
    std::string damaged = bytes;
    damaged[rng.below(damaged.size())] ^= static_cast<char>(1U << rng.below(8));
    CHECK_FALSE(Booster::load(damaged, checksum, "flipped.ubj").ok());
    std::string noise(rng.below(300), '\0');
    for (char& byte : noise) {
      byte = static_cast<char>(rng.below(256));
    }
    CHECK_FALSE(Booster::load(noise, checksum, "noise.ubj").ok());
  }
}

TEST_CASE("a file that is no model but has the right checksum is an error, not a crash") {
  for (const std::string text : {"{}", "{\"learner\":1}", "{L", "not a model"}) {
    CHECK_FALSE(Booster::load(text, checksum64(text), "text.ubj").ok());
  }
}

TEST_CASE("bad parameters and sizes are errors with XGBoost's reason") {
  const Rows rows = make_rows(10, 1);
  const auto matrix = TrainingMatrix::create(
      {.values = rows.values, .columns = 3, .labels = rows.labels, .weights = {}}, 1);
  REQUIRE(matrix.ok());
  const TrainingMatrix* const matrices[] = {&*matrix};
  auto booster = Booster::create({{"max_depth", "minus one"}}, matrices);
  if (booster.ok()) {  // the library looks at values when it first trains
    const Status status = booster->update(0, *matrix);
    REQUIRE_FALSE(status.ok());
    CHECK(status.message().find("max_depth") != std::string::npos);
  }
  CHECK_FALSE(TrainingMatrix::create(
                  {.values = rows.values, .columns = 4, .labels = rows.labels, .weights = {}}, 1)
                  .ok());
  CHECK_FALSE(TrainingMatrix::create(
                  {.values = rows.values, .columns = 0, .labels = rows.labels, .weights = {}}, 1)
                  .ok());
  std::vector<float> out(9);
  CHECK_FALSE(train(1).predict(rows.values, out).ok());
}

TEST_CASE("the checksum sees every bit, the order of blocks and the length") {
  const std::string text(100, 'a');
  CHECK(checksum64(text) == checksum64(std::string(100, 'a')));
  CHECK(checksum64(text) != checksum64(std::string(101, 'a')));
  for (size_t i = 0; i < text.size(); ++i) {
    std::string other = text;
    other[i] = 'b';
    CHECK(checksum64(other) != checksum64(text));
  }
  const std::string swapped = std::string(32, 'x') + std::string(32, 'y');
  CHECK(checksum64(swapped) != checksum64(std::string(32, 'y') + std::string(32, 'x')));
}

}  // namespace
}  // namespace dfsim
