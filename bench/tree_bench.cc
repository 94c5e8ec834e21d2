// trees/*: reading the trees of a part from its file, which `dfsim predict` does for every part of
// a model that it uses, with dfsim's reader and with the libraries that could do it instead.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/io/file.h"
#include "opmodel/trees/forest.h"
#include "opmodel/trees/tree_file.h"
#include "opmodel/trees/xgboost_adapter.h"

namespace dfsim {
namespace {

constexpr size_t kRows = 500;

std::string compact_bytes() {
  const std::string file =
      DFSIM_SOURCE_DIR "/opmodel/pretrained/a100/conv-dense-conv-launch-inclusive-85ff.ubj";
  return read_file(file, int64_t{1} << 30).value();
}

std::string xgboost_bytes() { return xgboost_trees(read_trees(compact_bytes(), "m").value()); }

void BM_ForestOfCompactTrees(benchmark::State& state) {
  const std::string bytes = compact_bytes();
  for (auto step : state) {
    benchmark::DoNotOptimize(Forest::parse(bytes, "m").value());
  }
  state.counters["bytes"] = static_cast<double>(bytes.size());
}
BENCHMARK(BM_ForestOfCompactTrees)->Name("trees/dfsim_compact")->Unit(benchmark::kMillisecond);

void BM_ForestOfXgboostTrees(benchmark::State& state) {
  const std::string bytes = xgboost_bytes();
  for (auto step : state) {
    benchmark::DoNotOptimize(Forest::parse(bytes, "m").value());
  }
  state.counters["bytes"] = static_cast<double>(bytes.size());
}
BENCHMARK(BM_ForestOfXgboostTrees)->Name("trees/dfsim_xgboost")->Unit(benchmark::kMillisecond);

// The library that trains: the same trees, in its own layout.
void BM_XgboostReads(benchmark::State& state) {
  const std::string bytes = xgboost_bytes();
  const uint64_t checksum = checksum64(bytes);
  for (auto step : state) {
    benchmark::DoNotOptimize(Booster::load(bytes, checksum, "m").value());
  }
}
BENCHMARK(BM_XgboostReads)->Name("trees/xgboost_library")->Unit(benchmark::kMillisecond);

// The JSON library, which reads UBJSON too: only into its own values.
void BM_NlohmannReads(benchmark::State& state) {
  const std::string bytes = state.range(0) != 0 ? xgboost_bytes() : compact_bytes();
  for (auto step : state) {
    benchmark::DoNotOptimize(nlohmann::json::from_ubjson(bytes));
  }
}
BENCHMARK(BM_NlohmannReads)
    ->Name("trees/nlohmann")
    ->ArgName("xgboost_layout")
    ->Arg(0)
    ->Arg(1)
    ->Unit(benchmark::kMillisecond);

void BM_Predict(benchmark::State& state) {
  const std::string bytes = xgboost_bytes();
  const auto forest = Forest::parse(bytes, "m").value();
  const auto booster = Booster::load(bytes, checksum64(bytes), "m").value();
  const std::vector<float> rows(kRows * forest.columns(), 1.5F);
  std::vector<float> out(kRows);
  for (auto step : state) {
    if (state.range(0) != 0) {
      benchmark::DoNotOptimize(booster.predict(rows, out).ok());
    } else {
      forest.predict(rows, out);
    }
    benchmark::ClobberMemory();
  }
}
BENCHMARK(BM_Predict)
    ->Name("trees/predict_500_rows")
    ->ArgName("library")
    ->Arg(0)
    ->Arg(1)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace dfsim
