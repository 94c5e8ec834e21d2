// tune_on_host() with a program in place of Python and ONNX Runtime, which says that pinned threads
// take half the time: no prediction knows that, so the search has to find it by measuring.
#include "study/tuning/tune.h"

#include <algorithm>
#include <fstream>

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

TEST_CASE("tune: what was measured once is not measured again") {
  const Host host("again");
  REQUIRE(tune_on_host(host.options).ok());
  const size_t first = host.calls();
  const auto again = tune_on_host(host.options);
  REQUIRE(again.ok());
  // Only the closing comparison of the best and the default is repeated.
  CHECK(host.calls() == first + 1);
  CHECK(again->candidates[again->best].setting.pinned);
}

TEST_CASE("tune: a cancelled search goes on where it stopped") {
  const Host host("cancelled");
  Listener listener("measuring ");
  const auto cancelled = tune_on_host(host.options, listener.progress());
  REQUIRE_FALSE(cancelled.ok());
  CHECK(cancelled.status().message().starts_with("cancelled at: measuring "));
  CHECK(host.calls() == 0);
  CHECK(tune_on_host(host.options).ok());
}

TEST_CASE("tune: a machine without a hardware file is an error that says what to do") {
  Host host("bare");
  host.options.hardware.clear();
  const auto result = tune_on_host(host.options);
  REQUIRE_FALSE(result.ok());
  CHECK(result.status().code() == StatusCode::kNotFound);
  CHECK(result.status().message().find("dfsim calibrate") != std::string::npos);
}
