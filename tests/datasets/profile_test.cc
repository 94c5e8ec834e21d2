#include "datasets/profiles/profile.h"

#include <catch2/catch.hpp>

#include "datasets/importers/row_sink.h"
#include "datasets/importers/tensor_lists.h"

namespace dfsim {
namespace {

TEST_CASE("tensor lists have one text form and back") {
  const TensorList tensors = {tensor(DType::kFloat32, {1, 3, 224, 224}),
                              tensor(DType::kFloat16, {8, 4, 7, 7, 16}, "NC1HWC0"),
                              tensor(DType::kInt64, {}), missing_tensor(),
                              tensor(DType::kInt8, {-1, 5})};
  const std::string text =
      "float32[1x3x224x224];float16[8x4x7x7x16]@NC1HWC0;int64[];none;int8[?x5]";
  CHECK(format_tensors(tensors) == text);
  const auto back = parse_tensors(text);
  REQUIRE(back.ok());
  CHECK(*back == tensors);
  CHECK(parse_tensors("")->empty());
  // One axis of unknown length is an operand left out, however it is written.
  CHECK(*parse_tensors("float4e2m1[?]@NHWC") == *parse_tensors("none"));
}

TEST_CASE("what is no tensor list is an error") {
  for (const char* text :
       {"float32", "float32[1x3", "float33[1]", "float32[1x]", "float32[x1]", "float32[-4]",
        "float32[1]NCHW", "float32[1]@", "float32[1,3]", "float32[99999999999999999999]"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_tensors(text).ok());
  }
}

TEST_CASE("attributes are sorted by name and can be looked up") {
  const std::string text = canonical_attributes({{"strides", "2,2"}, {"group", "1"}, {"g", "7"}});
  CHECK(text == "g=7;group=1;strides=2,2");
  CHECK(attribute_value(text, "group") == "1");
  CHECK(attribute_value(text, "strides") == "2,2");
  CHECK(attribute_value(text, "stride").empty());
  CHECK(attribute_value("", "group").empty());
}

TEST_CASE("times are sorted into reasons") {
  CHECK_FALSE(time_problem(1).has_value());
  CHECK(time_problem(std::nan("")) == DropReason::kNotANumber);
  CHECK(time_problem(INFINITY) == DropReason::kNotANumber);
  CHECK(time_problem(-1e6) == DropReason::kNegative);
  CHECK(time_problem(0) == DropReason::kZero);
  CHECK(time_problem(0.4) == DropReason::kZero);
  CHECK(time_problem(1e18) == DropReason::kMalformed);
}

TEST_CASE("a profile interns and appends") {
  Profile a;
  ProfileRow row;
  row.time_ns = 5;
  row.device = a.intern("gpu");
  row.op_type = a.intern("Relu");
  row.inputs = a.intern({tensor(DType::kFloat16, {4})});
  a.add(row);
  Profile b;
  b.intern("something else first");
  ProfileRow other;
  other.time_ns = 7;
  other.device = b.intern("gpu");
  other.op_type = b.intern("Relu");
  other.inputs = b.intern({tensor(DType::kFloat16, {4})});
  b.add(other);
  a.append(b);
  REQUIRE(a.size() == 2);
  CHECK(same_measurement(a.row(0), a.row(1)));
  CHECK(a.text(a.row(1).op_type) == "Relu");
  CHECK(a.dtype(a.row(1)) == DType::kFloat16);
  a.filter({false, true});
  REQUIRE(a.size() == 1);
  CHECK(a.row(0).time_ns == 7);
}

TEST_CASE("convolution shapes and guessed attributes agree") {
  // Every geometry that networks use must be found again from its shapes alone.
  for (const int64_t k : {1, 3, 5, 7}) {
    for (const int64_t stride : {1, 2}) {
      for (const int64_t size : {224, 112, 56, 28, 14, 7}) {
        const int64_t pad = (k - 1) / 2;
        const ConvGeometry conv{.kernel = {k, k},
                                .strides = {stride, stride},
                                .pads = {pad, pad, pad, pad},
                                .dilations = {1, 1},
                                .group = 1};
        const std::vector<int64_t> x = {2, 16, size, size};
        const auto y = conv_output(x, 32, conv);
        CHECK(y[2] == (size + 2 * pad - k) / stride + 1);
        const ConvGeometry guess = guess_conv(x, {32, 16, k, k}, y);
        CAPTURE(k, stride, size);
        CHECK(conv_attributes(guess) == conv_attributes(conv));
      }
    }
  }
  CHECK(guess_conv({1, 32, 14, 14}, {32, 1, 3, 3}, {1, 32, 14, 14}).group == 32);
  CHECK(guess_conv({1, 32, 14, 14}, {32, 1, 3, 3}, {1, 32, 99, 14}).kernel.empty());
  CHECK(guess_conv({1, 3}, {3, 1}, {1, 3}).kernel.empty());
}

TEST_CASE("broadcasting follows NumPy") {
  CHECK(broadcast({4, 1, 3}, {5, 1}) == std::vector<int64_t>{4, 5, 3});
  CHECK(broadcast({}, {2}) == std::vector<int64_t>{2});
  CHECK(broadcast({2}, {3}) == std::vector<int64_t>{-1});
}

}  // namespace
}  // namespace dfsim
