#include "schedulers/plugin.h"

#include <catch2/catch.hpp>

#include "tests/schedulers/check_schedule.h"
#include "tests/schedulers/hand_graphs.h"

using namespace dfsim;
using namespace dfsim::testing;

TEST_CASE("Plugins: the example plugin adds a policy that works") {
  PolicyRegistry registry;
  const Status status = load_plugin(SHORTEST_QUEUE, registry);
  INFO(status.message());
  REQUIRE(status.ok());
  const auto policy = registry.find("shortest-queue");
  REQUIRE(policy.ok());
  const ProblemInstance instance = generated({"layered", 60}, 3, 1.0, 0.3, 5);
  const auto schedule = plan_with(**policy, instance.problem());
  REQUIRE(schedule.ok());
  CHECK(check_schedule(instance.problem(), *schedule) == "");
  // The second time, the registry already has the name.
  CHECK(load_plugin(SHORTEST_QUEUE, registry).message().find("already a policy") !=
        std::string::npos);
}

TEST_CASE("Plugins: refuse an incompatible library with the reason") {
  PolicyRegistry registry;
  const size_t before = registry.policies().size();
  const std::string newer =
      "was built for plugin interface " + std::to_string(kPluginInterfaceVersion + 1);
  CHECK(load_plugin("/nonexistent.so", registry).code() == StatusCode::kNotFound);
  CHECK(load_plugin(OLD_PLUGIN, registry).message().find(newer) != std::string::npos);
  CHECK(load_plugin(NO_PLUGIN, registry).message().find("has no symbol dfsim_scheduler_plugin") !=
        std::string::npos);
  CHECK(load_plugin(DFSIM_SOURCE_DIR "/CMakeLists.txt", registry)
            .message()
            .find("cannot be loaded") != std::string::npos);
  CHECK(registry.policies().size() == before);
}
