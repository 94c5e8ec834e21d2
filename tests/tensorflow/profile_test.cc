// Profiles completed from a TensorFlow model (dfsim profiles import --optimized-model).
#include <algorithm>
#include <catch2/catch.hpp>

#include "opmodel/train/profile_model.h"
#include "tests/opmodel/synthetic_profile.h"
#include "tests/tensorflow/text_graph.h"

namespace dfsim {
namespace {

TEST_CASE("a TensorFlow model gives attributes to the rows of its nodes") {
  const auto model =
      import_text(placeholder("x", {1, 3, 8, 8}) + weight("w", {3, 3, 3, 5}) +
                  node("conv", "Conv2D", {"x", "w"},
                       attr("strides", int_list({1, 1, 2, 2})) + attr("padding", "s: \"VALID\"") +
                           attr("data_format", "s: \"NCHW\"")));
  INFO(model.status().message());
  REQUIRE(model.ok());
  const auto conv = std::find_if(model->graph.ops().begin(), model->graph.ops().end(),
                                 [](const Op& op) { return op.op_type == "Conv"; });
  REQUIRE(conv != model->graph.ops().end());
  Profile profile;
  for (const std::string& name : {conv->name, std::string("elsewhere")}) {
    ProfileRow row = make_row(profile, "Conv", OpClass::kOpaque,
                              {f32({1, 3, 8, 8}), f32({5, 3, 3, 3})}, {f32({1, 5, 3, 3})}, 10);
    row.name = profile.intern(name);
    profile.add(row);
  }
  CHECK(complete_from_graph(model->graph, &profile) == 1);
  CHECK(profile.text(profile.row(0).attributes) ==
        "dilations=1,1;group=1;kernel_shape=3,3;pads=0,0,0,0;strides=2,2");
  CHECK(profile.row(0).op_class == OpClass::kConv);
  CHECK(profile.text(profile.row(1).attributes).empty());
}

}  // namespace
}  // namespace dfsim
