// Measured deployments: how rows are read, which contradict each other, and a fit that finds the
// parameters of deployments that were simulated with known ones.
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "graphs/llm/llm_config_reader.h"
#include "serving/validation/benchmark_client.h"
#include "serving/validation/fit_serving.h"
#include "serving/validation/measured_runs.h"
#include "serving/validation/validate_serving.h"
#include "tests/llm/configs.h"

namespace dfsim {
namespace {

constexpr const char* kHeader =
    "id,silicon_data_source,backend,backend_version,model_path,system,isl,osl,gemm_quant_mode,"
    "batch_size,tp_size,pp_size,attention_dp_size,moe_tp_size,moe_ep_size,silicon_ttft_ms,"
    "silicon_tpot_ms\n";

class RunsFile {
 public:
  explicit RunsFile(const std::string& rows) {
    path_ = (std::filesystem::temp_directory_path() /
             ("dfsim-runs-" + std::to_string(reinterpret_cast<uintptr_t>(this)) + ".csv"))
                .string();
    std::ofstream(path_) << kHeader << rows;
  }
  ~RunsFile() { std::filesystem::remove(path_); }
  RunsFile(const RunsFile&) = delete;
  RunsFile& operator=(const RunsFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string runs_error_of(const std::string& rows) {
  const RunsFile file(rows);
  const auto runs = read_measured_runs(file.path());
  REQUIRE_FALSE(runs.ok());
  return runs.status().message();
}

MeasuredRun run_with(int64_t users, double tpot_ms, const std::string& version = "1") {
  MeasuredRun run;
  run.framework = "vllm";
  run.version = version;
  run.model = "org/llama";
  run.system = "h100_sxm";
  run.isl = 1024;
  run.osl = 128;
  run.users = users;
  run.ttft_ms = 100;
  run.tpot_ms = tpot_ms;
  return run;
}

TEST_CASE("Measured runs: the load generator's concurrency counts, where it is recorded") {
  const RunsFile file(
      "a,silicon_concurrency=320; measured=2026-03-18,trtllm,1.3,org/m,h100_sxm,4000,1000,,80,4,1,,"
      "2,2,1275,47.5\n"
      "b,campaign,vllm,0.12,org/m,h100_sxm,1024,128,,16,2,1,,1,1,100,9.5\n");
  const auto runs = read_measured_runs(file.path());
  INFO(runs.status().message());
  REQUIRE(runs.ok());
  REQUIRE(runs->size() == 2);
  CHECK((*runs)[0].users == 320);
  CHECK((*runs)[1].users == 16);
  CHECK((*runs)[1].line == 3);
  CHECK((*runs)[0].moe_ep == 2);
}

TEST_CASE("Measured runs: a broken row is named by its line") {
  CHECK(runs_error_of("a,s,vllm,1,m,h100_sxm,1024,128,,0,1,1,,1,1,100,9\n")
            .find("line 2: column "
                  "batch_size is '0'") != std::string::npos);
  CHECK(runs_error_of("a,s,vllm,1,m,h100_sxm,1024\n").find("line 2: 7 fields, expected 17") !=
        std::string::npos);
  CHECK(runs_error_of("").find("no rows below the header") != std::string::npos);
}

TEST_CASE("Contradictions: a row whose users wait though the cache has room lacks a limit") {
  RunPrediction row;
  row.run = run_with(512, 4);
  row.run.osl = 1001;  // 4 s of decoding
  row.run.ttft_ms = 12'000;
  CHECK(row.run.mean_running() == Approx(512 * 4.0 / 16.0));  // a quarter of them
  row.cache_share = 0.4;
  const auto found = find_unrecorded_limits({row});
  REQUIRE(found.size() == 1);
  CHECK(found[0].first == 0);
  CHECK(found[0].second == 0);
  CHECK(
      found[0].what ==
      "128 of 512 users run at a time though the cache is 40 % full; the row does not record what "
      "held the others back");
  RunPrediction full = row;  // a full cache is a reason to wait
  full.cache_share = 0.9;
  RunPrediction quick = row;  // more than half of the users run
  quick.run.ttft_ms = 3'900;
  RunPrediction unknown = row;  // nothing was simulated
  unknown.failure = "no such kernel";
  CHECK(find_unrecorded_limits({full, quick, unknown}).empty());
}

TEST_CASE("Contradictions: a busier server gives no user tokens faster") {
  // 64 users at 7 ms and 512 at 3.5: contradicted, also by another version's row.
  auto found = find_contradictions({run_with(64, 7), run_with(512, 3.5, "2")}, 1.25);
  REQUIRE(found.size() == 1);
  CHECK(found[0].first == 0);
  CHECK(found[0].second == 1);
  CHECK(found[0].what == "512 users get tokens 2.00 times as fast as 64 (another version)");
  // The newer version may be faster at equal load, and equal versions may not.
  CHECK(find_contradictions({run_with(64, 7), run_with(64, 3.5, "2")}, 1.25).empty());
  CHECK(find_contradictions({run_with(64, 7), run_with(64, 3.5)}, 1.25).size() == 1);
  CHECK(find_contradictions({run_with(64, 7), run_with(512, 12)}, 1.25).empty());
}

TEST_CASE("Halves: rows that differ in load or version only are in the same half") {
  const bool half = in_fit_half(run_with(8, 5));
  CHECK(in_fit_half(run_with(512, 20)) == half);
  CHECK(in_fit_half(run_with(8, 5, "0.18.0")) == half);
}

TEST_CASE("Errors: mean, median and bias of rows by hand, end to end from the sum") {
  RunPrediction row;
  row.run = run_with(8, 10);
  row.tpot_ms = {11, 9, 12};   // +10 %
  row.ttft_ms = {50, 40, 60};  // -50 %
  RunPrediction other = row;
  other.tpot_ms = {7, 6, 8};  // -30 %
  other.ttft_ms = {100, 90, 110};
  RunPrediction failed = row;
  failed.failure = "does not fit";
  const ErrorSummary summary = summarize_errors("all", {row, other, failed});
  CHECK(summary.rows == 2);
  CHECK(summary.tpot_mean == Approx(0.2));
  CHECK(summary.tpot_bias == Approx(-0.1));
  CHECK(summary.tpot_inside == Approx(0.5));
  CHECK(summary.ttft_mean == Approx(0.25));
  // (50 + 127 x 11) / (100 + 127 x 10) - 1 and (100 + 127 x 7) / 1370 - 1.
  CHECK(summary.e2e_bias == Approx((1447.0 / 1370 - 1 + 989.0 / 1370 - 1) / 2));
}

// Deployments "measured" by the simulator with parameters that the fit does not know.
std::vector<MeasuredRun> simulated_runs(const FrameworkProfile& truth,
                                        const std::map<std::string, LlmConfig>& models) {
  std::vector<MeasuredRun> runs;
  for (const int64_t isl : {256, 512, 1024, 2048, 4096}) {
    for (const int tp : {1, 2}) {
      for (const int64_t users : {2, 16}) {
        MeasuredRun run = run_with(users, 1);
        run.isl = isl;
        run.osl = 16;
        run.tp = tp;
        runs.push_back(run);
      }
    }
  }
  FrameworkProfiles profiles;
  profiles[truth.framework] = truth;
  const auto rows = predict_runs(runs, models, profiles, 1);
  REQUIRE(rows.ok());
  for (size_t i = 0; i < runs.size(); ++i) {
    REQUIRE((*rows)[i].failure.empty());
    runs[i].ttft_ms = (*rows)[i].ttft_ms.value;
    runs[i].tpot_ms = (*rows)[i].tpot_ms.value;
  }
  return runs;
}

TEST_CASE("Fit: parameters found on simulated deployments predict those that were held out") {
  std::map<std::string, LlmConfig> models;
  models["org/llama"] = *parse(kLlama32_1b);
  FrameworkProfile truth = framework_profile(LlmFramework::kVllm);
  truth.runtime.step_us += 3000;
  truth.runtime.per_sequence_us += 40;
  const std::vector<MeasuredRun> runs = simulated_runs(truth, models);
  ServingFitOptions options;
  options.threads = 1;
  options.ridge = 0;
  options.rounds = 2;
  const auto fit = fit_framework(LlmFramework::kVllm, runs, models, options);
  INFO(fit.status().message());
  REQUIRE(fit.ok());
  CHECK(fit->loss_after < 0.25 * fit->loss_before);
  CHECK(fit->rows > 0);
  CHECK(fit->rows < static_cast<int64_t>(runs.size()));  // the other half was not looked at
  FrameworkProfiles fitted;
  fitted[LlmFramework::kVllm] = fit->profile;
  std::vector<MeasuredRun> held_out;
  for (const MeasuredRun& run : runs) {
    if (!in_fit_half(run)) {
      held_out.push_back(run);
    }
  }
  const auto rows = predict_runs(held_out, models, fitted, 1);
  REQUIRE(rows.ok());
  CHECK(summarize_errors("held out", *rows).tpot_mean < 0.08);
}

TEST_CASE("Fit: a framework without rows is refused, and a cancelled fit says so") {
  std::map<std::string, LlmConfig> models;
  models["org/llama"] = *parse(kLlama32_1b);
  const auto none = fit_framework(LlmFramework::kSglang, {run_with(8, 5)}, models, {});
  REQUIRE_FALSE(none.ok());
  CHECK(none.status().message().find("no rows of sglang") != std::string::npos);
  std::vector<MeasuredRun> runs;
  for (const int64_t isl : {256, 512, 1024, 2048}) {
    runs.push_back(run_with(4, 5));
    runs.back().isl = isl;
  }
  ServingFitOptions options;
  options.threads = 1;
  CHECK_FALSE(fit_framework(LlmFramework::kVllm, runs, models, options, [](int64_t, int64_t) {
                return false;
              }).ok());
}

TEST_CASE("Clients: InferenceMAX's products of tp and ep are corrected") {
  MeasuredRun run = run_with(16, 7);
  run.framework = "trtllm";
  run.dp_recorded = true;
  run.tp = 16;
  run.moe_tp = 4;
  run.moe_ep = 4;
  run.osl = 1024;
  const auto deployment = deployment_of(run, *parse(kGptOss20b));
  REQUIRE(deployment.ok());
  CHECK(deployment->parallelism.tp == 4);
  CHECK(client_of(run).name == "InferenceMAX");
  CHECK(base_model_name("nvidia/Llama-3.1-8B-Instruct-FP8") == "llama-3.1-8b");
  // The same with data-parallel attention: 8 GPUs, recorded as 64.
  run.tp = 8;
  run.dp = 8;
  run.moe_tp = 8;
  run.moe_ep = 8;
  const auto ranks = deployment_of(run, *parse(kGptOss20b));
  REQUIRE(ranks.ok());
  CHECK(ranks->parallelism.tp == 1);
  CHECK(ranks->parallelism.dp == 8);
  CHECK(ranks->parallelism.gpus() == 8);
  CHECK(setup_of(run).workload.users.users == 16);
}

TEST_CASE("Clients: with data-parallel attention, tp may be recorded as the number of GPUs") {
  MeasuredRun run = run_with(64, 7);
  run.tp = 8;
  run.dp = 4;
  run.moe_tp = 1;
  run.moe_ep = 8;
  const auto counted = deployment_of(run, *parse(kQwen3Moe30b));
  REQUIRE(counted.ok());
  CHECK(counted->parallelism.tp == 2);
  CHECK(counted->parallelism.gpus() == 8);
  run.tp = 2;  // as the experts count
  CHECK(deployment_of(run, *parse(kQwen3Moe30b))->parallelism.tp == 2);
}

TEST_CASE("Clients: models of one shape share a configuration") {
  CHECK(base_model_name("deepseek-ai/DeepSeek-R1-0528") == "deepseek-v3");
  CHECK(base_model_name("nvidia/Llama-3.3-70B-Instruct-FP8") == "llama-3.1-70b");
  CHECK(base_model_name("Qwen/Qwen3-235B-A22B-Instruct-2507-FP8") == "qwen3-235b-a22b");
  CHECK(base_model_name("mistralai/Mixtral-8x7B-Instruct-v0.1") == "mixtral-8x7b");
}

}  // namespace
}  // namespace dfsim
