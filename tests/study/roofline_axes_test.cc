// Sweeps over precision, layout, placement and operators at once, on machines and models that ship.
#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "study/roofline/roofline_source.h"
#include "study/roofline/study_roofline.h"
#include "tests/study/study_inputs.h"

using namespace dfsim;
using namespace dfsim::testing;

namespace {

RooflineOptions sweep_of(const std::string& network, const std::string& hardware,
                         const std::vector<std::string>& sweeps) {
  RooflineOptions options;
  options.source.model = zoo_model(network);
  options.source.hardware = hardware;
  options.sweep = sweeps;
  return options;
}

RooflineStudy studied(const RooflineOptions& options) {
  auto study = study_roofline(options);
  INFO(study.status().message());
  REQUIRE(study.ok());
  return std::move(*study);
}

const RooflineReport& at_point(const RooflineStudy& study, const std::string& value) {
  for (const RooflineReport& roofline : study.rooflines) {
    if (roofline.at.front().second == value) {
      return roofline;
    }
  }
  FAIL("no point " << value);
  return study.rooflines.front();
}

std::string refused(const RooflineOptions& options) {
  const auto study = study_roofline(options);
  REQUIRE_FALSE(study.ok());
  const std::string message = study.status().message();
  INFO(message);
  CHECK((study.status().code() == StatusCode::kInvalidInput ||
         study.status().code() == StatusCode::kNotFound));
  CHECK(message.find('\n') == std::string::npos);
  return message;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("Roofline sweeps: a precision is the one that --precision asks for") {
  const RooflineStudy study = studied(sweep_of("resnet18", "xeon-8380", {"precision=fp32,int8"}));
  RooflineOptions alone = sweep_of("resnet18", "xeon-8380", {});
  alone.source.model.precision = "int8";
  const RooflineReport& swept = at_point(study, "int8");
  CHECK(swept.network.time_s == Approx(studied(alone).rooflines.front().network.time_s));
  CHECK(swept.network.conversion_s > 0);
  CHECK(at_point(study, "fp32").network.bytes > 2 * swept.network.bytes);
  const TrajectoryStep& step = study.lines.front().steps.front();
  CHECK(step.from_name == "fp32");
  CHECK(step.gain() == Approx(at_point(study, "fp32").network.time_s / swept.network.time_s));
}

TEST_CASE("Roofline sweeps: blocked channels beat channels first, and reorders cost") {
  const RooflineStudy study =
      studied(sweep_of("mobilenet_v2", "epyc-genoa", {"layout=nchw,blocked"}));
  const RoofPoint& first = at_point(study, "nchw").network;
  const RoofPoint& blocked = at_point(study, "blocked").network;
  // ONNX Runtime 1.23 on such a processor: 2.3 times.
  CHECK(first.time_s / blocked.time_s > 1.4);
  CHECK(first.time_s / blocked.time_s < 3);
  CHECK(first.conversion_s == 0);
  CHECK(blocked.conversion_s > 0);
  CHECK(blocked.conversion_s < 0.2 * blocked.time_s);
}

TEST_CASE("Roofline sweeps: channels last save conversions of 16-bit images on a GPU") {
  RooflineOptions options = sweep_of("resnet50", "rtx-3090", {"layout=nchw,channels-last"});
  options.source.model.precision = "fp16";
  options.source.model.batch = 32;
  const RooflineStudy study = studied(options);
  const RoofPoint& first = at_point(study, "nchw").network;
  const RoofPoint& last = at_point(study, "channels-last").network;
  CHECK(last.time_s < first.time_s);
  CHECK(last.time_s > 0.7 * first.time_s);
  CHECK(last.conversion_s > 0);
  CHECK(at_point(study, "nchw").network.flops == last.flops);
}

TEST_CASE("Roofline sweeps: binding copies to nodes is no slower than leaving them free") {
  const RooflineStudy study =
      studied(sweep_of("gpt2", "xeon-8380-2s", {"placement=free,node", "processes=2,8"}));
  REQUIRE(study.rooflines.size() == 4);
  for (size_t i = 0; i < 4; i += 2) {
    const RooflineReport& free = study.rooflines[i];
    const RooflineReport& bound = study.rooflines[i + 1];
    CHECK(free.at.front().second == "free");
    CHECK(bound.network.time_s <= free.network.time_s);
    CHECK(bound.bytes_per_s > free.bytes_per_s);
    CHECK(bound.network.source == CostSource::kExtrapolated);
    CHECK(has(bound.scaling, "node placement"));
  }
}

TEST_CASE("Roofline sweeps: parallel branches gain from operators at once, a chain does not") {
  RooflineOptions options = sweep_of("resnet18", "xeon-8380", {"inter=1,2"});
  const auto path = find_data_file("datasets/measured/networks/inception_v3.onnx");
  REQUIRE(path.ok());
  const RooflineStudy chain = studied(options);
  options.source.model.path = *path;
  const RooflineStudy branches = studied(options);
  const auto gain = [](const RooflineStudy& study) {
    return at_point(study, "1").network.time_s / at_point(study, "2").network.time_s;
  };
  CHECK(gain(chain) < 1);
  CHECK(gain(branches) > gain(chain));
  CHECK(at_point(branches, "1").pool.empty());
  CHECK(has(at_point(branches, "2").pool, "2 operators at once at most"));
}

TEST_CASE("Roofline sweeps: one operator at once is the sweep without a pool") {
  const RooflineStudy pool = studied(sweep_of("resnet18", "xeon-8380", {"inter=1,2"}));
  const RooflineStudy threads = studied(sweep_of("resnet18", "xeon-8380", {"threads=20,40"}));
  CHECK(at_point(pool, "1").network.time_s == Approx(at_point(threads, "40").network.time_s));
}

TEST_CASE("Roofline: the kind of a file follows from its name or content") {
  const std::string folder = DFSIM_SOURCE_DIR "/datasets/measured/";
  CHECK(*roofline_kind(DFSIM_SOURCE_DIR "/examples/llm/qwen3-8b.json") == RooflineKind::kModel);
  for (const auto& [file, kind] : {std::pair{"networks/resnet34.onnx.gz", RooflineKind::kModel},
                                   std::pair{"networks/googlenet.onnx", RooflineKind::kModel},
                                   std::pair{"h100/ops.csv.gz", RooflineKind::kRuns},
                                   std::pair{"epyc-milan/ops.csv.xz", RooflineKind::kRuns},
                                   std::pair{"h100/graph_fp32_runs.csv", RooflineKind::kRuns}}) {
    const auto found = roofline_kind(folder + file);
    REQUIRE(found.ok());
    INFO(file);
    CHECK(*found == kind);
  }
}

TEST_CASE("Roofline sweeps: an axis that the machine, runtime or model lacks is refused") {
  CHECK(has(refused(sweep_of("resnet18", "xeon-8380", {"precision=fp32,bf16"})),
            "has no units for it"));
  CHECK(has(refused(sweep_of("resnet18", "xeon-8380", {"placement=free,node"})),
            "has one NUMA node"));
  CHECK(has(refused(sweep_of("resnet18", "xeon-8380-2s", {"placement=free,nodes"})), "'nodes'"));
  CHECK(has(refused(sweep_of("resnet18", "xeon-8380", {"layout=nchw,channels-last"})),
            "expected nchw or blocked"));
  CHECK(has(refused(sweep_of("resnet18", "a100", {"layout=nchw,channels-last"})),
            "--precision fp16"));
  CHECK(
      has(refused(sweep_of("distilbert", "xeon-8380", {"layout=nchw,blocked"})), "no convolution"));
  CHECK(has(refused(sweep_of("resnet18", "ascend910", {"layout=nchw,blocked"})),
            "one layout of runtime"));
  CHECK(has(refused(sweep_of("resnet18", "a100", {"inter=1,2"})), "expected a model on a CPU"));
  CHECK(has(refused(sweep_of("resnet18", "xeon-8380", {"inter=1,64"})), "at most the 40 cores"));
  CHECK(has(refused(sweep_of("resnet18", "xeon-8380", {"batch=1,2", "batch=1,4"})), "twice"));
  RooflineOptions runs = sweep_of("resnet18", "epyc-milan", {"precision=fp32,int8"});
  const auto path = find_data_file("datasets/measured/epyc-milan/known_runs.csv");
  REQUIRE(path.ok());
  runs.source.model.path = *path;
  CHECK(has(refused(runs), "for what was measured"));
}
