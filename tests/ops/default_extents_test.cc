// Extents assumed for dynamic dimensions, by name, rank, element type and the input's name.
#include <catch2/catch.hpp>

#include "graphs/ops/values/default_extents.h"

namespace dfsim {
namespace {

constexpr Dim kOpen = Dim::unknown();

int64_t assumed(const std::string& symbol, const std::string& input, DType dtype, Shape shape,
                int axis) {
  return default_extent({symbol, input, dtype, std::move(shape), axis});
}

TEST_CASE("Default extents: a telling name decides") {
  const Shape matrix({kOpen, kOpen});
  CHECK(assumed("batch_size", "x", DType::kFloat32, matrix, 1) == 1);
  CHECK(assumed("sequence_length", "x", DType::kFloat32, matrix, 1) == 128);
  CHECK(assumed("past_len", "x", DType::kFloat32, matrix, 1) == 128);
  CHECK(assumed("H", "x", DType::kFloat32, matrix, 0) == 224);
  CHECK(assumed("image_width", "x", DType::kFloat32, matrix, 1) == 224);
  // A sequence of samples is longer than one of tokens.
  CHECK(assumed("sequence_length", "input_values", DType::kFloat32, matrix, 1) == 16000);
  CHECK(assumed("sequence_length", "input_ids", DType::kInt64, matrix, 1) == 128);
  CHECK(assumed("num_samples", "x", DType::kFloat32, matrix, 1) == 16000);
  CHECK(assumed("t", "x", DType::kFloat32, matrix, 1) == 128);
}

TEST_CASE("Default extents: a generated name leaves it to rank, element type and input") {
  CHECK(is_made_up_name("s28"));
  CHECK(is_made_up_name("x[1]"));
  CHECK(is_made_up_name("unk__12"));
  CHECK_FALSE(is_made_up_name("seq"));
  CHECK_FALSE(is_made_up_name("s"));
  const Shape matrix({kOpen, kOpen});
  CHECK(assumed("s28", "input_ids", DType::kInt64, matrix, 1) == 128);
  CHECK(assumed("s28", "attention_mask", DType::kFloat32, matrix, 1) == 128);
  CHECK(assumed("s28", "input_values", DType::kFloat32, matrix, 1) == 16000);
  CHECK(assumed("s1", "x", DType::kFloat32, matrix, 0) == 1);
  CHECK(assumed("x[1]", "x", DType::kFloat32, Shape({kOpen, kOpen, Dim(64)}), 1) == 128);
  CHECK(assumed("x[2]", "x", DType::kFloat32, Shape({kOpen, Dim(1), kOpen}), 2) == 16000);
  CHECK(assumed("x[1]", "x", DType::kFloat32, Shape({Dim(3), kOpen, kOpen}), 1) == 224);
  const Shape state({Dim(2), kOpen, Dim(128)});
  CHECK(assumed("state[1]", "state", DType::kFloat32, state, 1) == 1);
  CHECK(assumed("x[1]", "x", DType::kFloat32, state, 1) == 128);
  CHECK(assumed("s31", "encoder_hidden_states", DType::kFloat32, state, 1) == 128);
  const Shape image({kOpen, Dim(3), kOpen, kOpen});
  CHECK(assumed("x[2]", "x", DType::kFloat32, image, 2) == 224);
  CHECK(assumed("x[3]", "x", DType::kFloat32, image, 3) == 224);
  const Shape last({kOpen, kOpen, kOpen, Dim(3)});
  CHECK(assumed("x[1]", "x", DType::kFloat32, last, 1) == 224);
  const Shape cache({kOpen, Dim(12), kOpen, Dim(64)});
  CHECK(assumed("s3", "past_key_values.0.key", DType::kFloat32, cache, 2) == 128);
  const Shape video({kOpen, Dim(3), kOpen, kOpen, kOpen});
  CHECK(assumed("x[2]", "x", DType::kFloat32, video, 2) == 16);
  CHECK(assumed("x[4]", "x", DType::kFloat32, video, 4) == 224);
}

TEST_CASE("Default extents: sound is a waveform next to one or two channels, else frames") {
  const auto of_audio = [](const Shape& shape, int axis) {
    return assumed("s28", "decoder_input_values", DType::kFloat32, shape, axis);
  };
  CHECK(of_audio(Shape({kOpen, kOpen}), 1) == 16000);
  CHECK(of_audio(Shape({kOpen, Dim(1), kOpen}), 2) == 16000);
  CHECK(of_audio(Shape({kOpen, kOpen, Dim(2)}), 1) == 16000);
  // 80 mel features, as SpeechT5's decoder reads them.
  CHECK(of_audio(Shape({kOpen, kOpen, Dim(80)}), 1) == 128);
  CHECK(of_audio(Shape({kOpen, Dim(80), kOpen}), 2) == 128);
  CHECK(of_audio(Shape({kOpen, kOpen, kOpen}), 1) == 1);
  CHECK(of_audio(Shape({kOpen, kOpen, kOpen}), 2) == 16000);
}

}  // namespace
}  // namespace dfsim
