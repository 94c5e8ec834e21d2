// tune_on_host() with a program in place of Python and ONNX Runtime, which says that pinned threads
// take half the time: no prediction knows that, so the search has to find it by measuring.
#include "study/tuning/tune.h"

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "graphs/passes/pipeline.h"
#include "study/chain/machine_source.h"
#include "study/tuning/ort_levels.h"
#include "tests/study/study_inputs.h"

using namespace dfsim;
using namespace dfsim::testing;

namespace {

constexpr const char* kPretender = R"(#!/bin/sh
# Arguments: the helper's script, the file of the request, the file of the result.
exec python3 - "$0.calls" "$2" "$3" <<'END'
import json, sys
calls, request, result = sys.argv[1:]
settings = json.load(open(request))["settings"]
open(calls, "a").write(f"{len(settings)}\n")
times = [[(5.0 if setting["pinned"] else 10.0) * setting["batch"]] * 5 for setting in settings]
json.dump({"times_ms": times, "onnxruntime": "pretended"}, open(result, "w"))
END
)";

struct Host {
  explicit Host(const std::string& name) : folder("tune_" + name) {
    options.model = zoo_model("mobilenet_v2");
    options.hardware = "epyc-genoa";
    options.directory = folder.path();
    options.python = folder.file("python", kPretender);
    std::filesystem::permissions(options.python, std::filesystem::perms::owner_all);
    options.no_install = true;
    options.threads = 2;
    options.budget = 4;
  }

  // How often the program was run.
  size_t calls() const {
    std::ifstream file(options.python + ".calls");
    return static_cast<size_t>(std::count(std::istreambuf_iterator<char>(file), {}, '\n'));
  }

  TemporaryFolder folder;
  TuneOptions options;
};

const TuneCandidate& candidate_of(const TuneResult& result, const TuneSetting& setting) {
  const auto found = std::ranges::find(result.candidates, setting, &TuneCandidate::setting);
  REQUIRE(found != result.candidates.end());
  return *found;
}

}  // namespace

TEST_CASE("tune: the fastest measured setting wins, within the budget") {
  const Host host("best");
  Listener listener;
  const auto result = tune_on_host(host.options, listener.progress());
  INFO(result.status().message());
  REQUIRE(result.ok());
  CHECK_FALSE(result->candidates[0].setting.pinned);
  CHECK(result->candidates[result->best].setting.pinned);
  CHECK(result->ratio == Approx(2));
  CHECK(result->measured <= 4);
  CHECK(result->runtime_version == "pretended");
  CHECK(listener.notes.size() == result->measured);
}

TEST_CASE("tune: does not repeat a measurement") {
  const Host host("again");
  REQUIRE(tune_on_host(host.options).ok());
  const size_t first = host.calls();
  const auto again = tune_on_host(host.options);
  REQUIRE(again.ok());
  // Only the closing comparison of the best and the default is repeated.
  CHECK(host.calls() == first + 1);
  CHECK(again->candidates[again->best].setting.pinned);
}

TEST_CASE("tune: a cancelled search resumes where it stopped") {
  const Host host("cancelled");
  Listener listener("measuring ");
  const auto cancelled = tune_on_host(host.options, listener.progress());
  REQUIRE_FALSE(cancelled.ok());
  CHECK(cancelled.status().message().starts_with("cancelled at: measuring "));
  CHECK(host.calls() == 0);
  CHECK(tune_on_host(host.options).ok());
}

TEST_CASE("tune: the error about a machine without a hardware file names a remedy") {
  Host host("bare");
  host.options.hardware.clear();
  const auto result = tune_on_host(host.options);
  REQUIRE_FALSE(result.ok());
  CHECK(result.status().code() == StatusCode::kNotFound);
  CHECK(result.status().message().find("dfsim calibrate") != std::string::npos);
}

TEST_CASE("tune: each level of optimisation is predicted slower than the next") {
  const Host host("levels");
  const auto result = tune_on_host(host.options);
  REQUIRE(result.ok());
  std::vector<double> predicted;
  for (const int level : {0, 1, 2, 3}) {
    predicted.push_back(candidate_of(*result, {.intra = 2, .level = level}).predicted);
  }
  CHECK(predicted[0] > predicted[1]);
  CHECK(predicted[1] > predicted[2]);
  // Blocks of channels are what the last level adds: measured 1.8 to 2.3 times as fast.
  CHECK(predicted[2] > 1.3 * predicted[3]);
}

TEST_CASE("tune: operators at once cost the cores that each of them lacks") {
  Host host("crowd");
  const auto two_cores = tune_on_host(host.options);
  REQUIRE(two_cores.ok());
  const double crowded = candidate_of(*two_cores, {.intra = 2, .inter = 2}).predicted;
  host.options.threads = 4;
  host.options.directory = host.folder.path() + "/four";
  const auto four_cores = tune_on_host(host.options);
  REQUIRE(four_cores.ok());
  CHECK(crowded == Approx(2 * candidate_of(*four_cores, {.intra = 2, .inter = 2}).predicted));
}

TEST_CASE("ort_levels: a level keeps the passes of those below it") {
  RuntimeSpec runtime;
  runtime.fold_constants = true;
  runtime.fusions = {"hard-swish", "no-ops",  "", "gelu",      "transposes",
                     "",           "nchwc-8", "", "ort-einsum"};
  const auto passes_at = [&runtime](int level) {
    RuntimeSpec limited = runtime;
    limit_ort_level(level, &limited);
    CHECK(limited.fold_constants == (level > 0));
    return limited.fusions;
  };
  using Names = std::vector<std::string>;
  CHECK(passes_at(3) == runtime.fusions);
  CHECK(passes_at(2) ==
        Names{"hard-swish", "no-ops", "", "gelu", "transposes", "", "", "ort-einsum"});
  CHECK(passes_at(1) == Names{"hard-swish", "no-ops", "", "transposes", "", "", "ort-einsum"});
  CHECK(passes_at(0) == Names{"hard-swish", "", "", "", "ort-einsum"});
}

TEST_CASE("ort_levels: every pass of ONNX Runtime's files is known") {
  for (const char* name : {"ort-cpu", "ort-avx512"}) {
    auto platform = load_machine("epyc-genoa", name);
    REQUIRE(platform.ok());
    CHECK(check_passes(pass_stages(platform->runtime.fusions)).ok());
    RuntimeSpec extended = platform->runtime;
    limit_ort_level(kOrtExtended, &extended);
    // Those of the last level: nhwc-int8, nchwc-8 or nchwc-16, conv-sum.
    CHECK(std::ranges::none_of(extended.fusions, [](const std::string& pass) {
      return pass.starts_with("nchwc") || pass == "conv-sum";
    }));
    CHECK(extended.fusions.size() + 3 == platform->runtime.fusions.size());
  }
}
