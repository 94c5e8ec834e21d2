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

TEST_CASE("unknown_name_message: proposes the names of a family, else the nearest name") {
  CHECK(
      unknown_name_message("device", "RTX", {"rtx-4090", "t4", "rtx-3090"}) ==
      "unknown device 'RTX'; did you mean 'rtx-3090' or 'rtx-4090'? Valid: rtx-3090, rtx-4090, t4");
  CHECK(unknown_name_message("device", "a10", {"a30", "t4"}) ==
        "unknown device 'a10'; did you mean 'a30'? Valid: a30, t4");
  CHECK(unknown_name_message("device", "t4a", {"ta4", "v9"}) ==
        "unknown device 't4a'; did you mean 'ta4'? Valid: ta4, v9");
  CHECK(unknown_name_message("device", "xyz", {"a30", "t4"}) ==
        "unknown device 'xyz'; Valid: a30, t4");
}

}  // namespace
}  // namespace dfsim
