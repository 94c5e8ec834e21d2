// Plans run in the simulator, and what a comparison says of them.
#include "study/comparison/comparison.h"
#include "report/predictions/comparison_views.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <sstream>

#include "report/svg/gantt.h"
#include "tests/schedulers/hand_graphs.h"

using namespace dfsim;
using namespace dfsim::testing;

namespace {

Comparison compared(const ProblemInstance& instance, const std::string& names) {
  const PolicyRegistry registry;
  const auto policies = registry.select(names, instance.graph.task_count());
  REQUIRE(policies.ok());
  CompareOptions options;
  options.policy.iterations = 300;
  auto result = compare_policies(instance, *policies, options);
  INFO(result.status().message());
  REQUIRE(result.ok());
  return std::move(result).value();
}

const TimeFormat kUnits{static_cast<double>(kNsPerFileUnit), ""};

}  // namespace

TEST_CASE("the simulator confirms the papers' makespans") {
  const Comparison heft = compared(heft_paper(), "heft,cpop,best-single-device");
  REQUIRE(heft.policies.size() == 3);
  CHECK(heft.policies[0].name == "heft");
  CHECK(heft.policies[0].makespan_ns == 80 * kNsPerFileUnit);
  CHECK(heft.policies[1].makespan_ns == 86 * kNsPerFileUnit);
  // Everything on P1: 127; P2: 130; P3: 143. Least critical path: 1 (9) 2 (13) 9 (12) 10 (7) = 41.
  CHECK(heft.single_device_ns == 127 * kNsPerFileUnit);
  CHECK(heft.critical_path_ns == 41 * kNsPerFileUnit);
  CHECK(heft.policies[0].speedup == Approx(127.0 / 80));
  CHECK(heft.policies[0].slr == Approx(80.0 / 41));
  CHECK(heft.policies[0].efficiency == Approx(127.0 / 80 / 3));
  CHECK(heft.policies[1].ratio_to_best == Approx(86.0 / 80));
  const Comparison peft = compared(peft_paper(), "heft,peft");
  CHECK(peft.policies[0].makespan_ns == 122 * kNsPerFileUnit);
  CHECK(peft.policies[1].makespan_ns == 133 * kNsPerFileUnit);
}

TEST_CASE("simulated without contention, no static plan takes longer than planned") {
  for (const char* shape : {"layered", "fork-join", "random", "two-components"}) {
    const ProblemInstance instance = generated({shape, 60}, 4, 2.0, 0.2, 9);
    const PolicyRegistry registry;
    const Comparison comparison = compared(instance, "all");
    for (const PolicyOutcome& outcome : comparison.policies) {
      INFO(shape << " " << outcome.name << " " << outcome.status.message());
      CHECK(outcome.status.ok());
      CHECK(outcome.makespan_ns >= comparison.lower_bound_ns);
      if ((*registry.find(outcome.name))->online()) {
        continue;  // decides otherwise in the simulator, whose view knows less of the future
      }
      PolicyOptions options;
      options.iterations = 300;
      const auto plan = plan_with(**registry.find(outcome.name), instance.problem(), options);
      REQUIRE(plan.ok());
      CHECK(outcome.makespan_ns <= plan->planned_makespan_ns);
    }
  }
}

TEST_CASE("text, JSON, CSV and drawings agree and fit") {
  const ProblemInstance instance = heft_paper();
  const Comparison comparison = compared(instance, "heft,cpop,peft");
  const std::string text = comparison_text(comparison, kUnits);
  CHECK(text.find("heft") != std::string::npos);
  std::istringstream lines(text +
                           gantt_text(comparison, *comparison.best(), instance.graph, kUnits, 80));
  for (std::string line; std::getline(lines, line);) {
    CHECK(line.size() <= 100);
  }
  const auto json = nlohmann::json::parse(comparison_json({comparison}));
  CHECK(json.at("policies").size() == 3);
  for (const auto& policy : json.at("policies")) {
    if (policy.at("name") == "heft") {
      CHECK(policy.at("makespan_ms") == 80.0);
      CHECK(policy.at("utilisation").size() == 3);
    }
  }
  const auto both = nlohmann::json::parse(comparison_json({comparison, comparison}));
  CHECK(both.at("instances").size() == 2);
  CHECK(both.at("summary").size() == 3);
  CHECK(comparison_csv({comparison}).find("heft,80,") != std::string::npos);
  const std::string svg = comparison_svg(comparison, instance.graph, kUnits);
  CHECK(svg.starts_with("<svg"));
  CHECK(svg.ends_with("</svg>\n"));
  CHECK(profile_svg(summarise({comparison, comparison}), 2).ends_with("</svg>\n"));
}

TEST_CASE("a Gantt chart by hand") {
  // Two tasks of 5 on P1, one of 10 on P2 at the same time: 3 x 10 columns.
  const ProblemInstance instance = make_hand_instance({{5, -1}, {5, -1}, {-1, 10}}, {{1, 2, 0}});
  const Comparison comparison = compared(instance, "heft");
  CHECK(gantt_text(comparison, comparison.policies[0], instance.graph, kUnits, 43) ==
        "heft (10)\n"
        "P1   |#######1#######=======2=======| 100 %\n"
        "P2   |##############3###############| 100 %\n"
        "      0                           10\n");
}

TEST_CASE("ranks, wins and ratios over several problems") {
  const Comparison a = compared(heft_paper(), "heft,cpop");
  const Comparison b = compared(peft_paper(), "heft,cpop");
  const auto summary = summarise({a, b});
  REQUIRE(summary.size() == 2);
  CHECK(summary[0].name == "heft");
  CHECK(summary[0].wins == 2);
  CHECK(summary[0].mean_rank == 1.0);
  CHECK(summary[1].mean_rank == 2.0);
  CHECK(summary[1].ratios.size() == 2);
}
