// Names of measured GPU servers, and those of hardware files that mean them.
#include "serving/kernels/serving_system.h"

#include <catch2/catch.hpp>
#include <string>

#include "base/text.h"
#include "hardware/platform_loader.h"

using namespace dfsim;

TEST_CASE("Serving systems: the names of hardware files find them") {
  CHECK(find_serving_system("h100").value().name == "h100_sxm");
  CHECK(find_serving_system("h100-sxm").value().name == "h100_sxm");
  CHECK(find_serving_system("dgx-h200").value().name == "h200_sxm");
  CHECK(find_serving_system("a100-sxm4-80gb").value().name == "a100_sxm");
  CHECK(find_serving_system("l40s").value().name == "l40s");
}

TEST_CASE("Serving systems: each alias is a built-in hardware file") {
  for (const ServingSystem& system : serving_systems()) {
    for (const std::string& alias : split(system.aliases, ' ')) {
      CAPTURE(alias);
      CHECK(load_platform(alias).ok());
    }
  }
}

TEST_CASE("Serving systems: refuse a GPU whose kernels were not measured") {
  const auto found = find_serving_system("v100");
  REQUIRE_FALSE(found.ok());
  CHECK(found.status().message() ==
        "unknown system 'v100'; Valid: a100_sxm, h100_sxm, h200_sxm, l40s");
}
