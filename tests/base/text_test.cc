#include "base/text.h"

#include <catch2/catch.hpp>

namespace dfsim {
namespace {

TEST_CASE("csv_field: quotes a field only when it has to") {
  CHECK(csv_field("conv1") == "conv1");
  CHECK(csv_field("") == "");
  CHECK(csv_field("a,b") == "\"a,b\"");
  CHECK(csv_field("say \"x\"") == "\"say \"\"x\"\"\"");
  CHECK(csv_field("two\nlines") == "\"two\nlines\"");
}

}  // namespace
}  // namespace dfsim
