// Values of Fourier transforms and mel filters. Transforms are summed up directly: constants are
// short.
#include <algorithm>
#include <cmath>
#include <complex>

#include "graphs/ops/families/nn/fold_nn.h"

namespace dfsim::inline graphs {
namespace {

using Complex = std::complex<double>;
constexpr double kFullTurn = 6.283185307179586;

// Sum of x[i] e^(sign 2 pi i k / length) for the first `count` k; x counts as 0 behind its end.
std::vector<Complex> transform(const std::vector<Complex>& x, int64_t length, int64_t count,
                               bool inverse) {
  std::vector<Complex> result;
  const int64_t samples = std::min(length, static_cast<int64_t>(x.size()));
  for (int64_t k = 0; k < count; ++k) {
    Complex sum = 0;
    for (int64_t i = 0; i < samples; ++i) {
      // The product modulo the length keeps the angle exact.
      const double angle = kFullTurn * static_cast<double>(i * k % length) /
                           static_cast<double>(length) * (inverse ? 1 : -1);
      sum += x[static_cast<size_t>(i)] * std::polar(1.0, angle);
    }
    result.push_back(inverse ? sum / static_cast<double>(length) : sum);
  }
  return result;
}

// The other half of a real signal's spectrum: conjugates in reverse.
std::vector<Complex> whole_spectrum(std::vector<Complex> half, int64_t length) {
  half.resize(static_cast<size_t>(length / 2 + 1));
  for (int64_t k = length / 2 + 1; k < length; ++k) {
    half.push_back(std::conj(half[static_cast<size_t>(length - k)]));
  }
  // A real signal has no imaginary part at these two frequencies.
  half[0] = half[0].real();
  if (length % 2 == 0) {
    half[static_cast<size_t>(length / 2)] = half[static_cast<size_t>(length / 2)].real();
  }
  return half;
}

// Appends the real and, with room for two, the imaginary part.
void append_complex(ConstValue* out, Complex value) {
  append_double(out, value.real());
  if (out->extents.back() == 2) {
    append_double(out, value.imag());
  }
}

// A tensor [..., length, ..., 1 or 2] as lines along `axis`.
struct Lines {
  const ConstValue* x;
  int64_t outer = 1;
  int64_t length;
  int64_t inner = 1;
  int64_t parts;

  static std::optional<Lines> of(const ConstValue* x, size_t axis) {
    if (x == nullptr || !is_floating(x->dtype) || !has_arithmetic(x->dtype) ||
        axis + 1 >= x->extents.size() || x->extents.back() < 1 || x->extents.back() > 2) {
      return std::nullopt;
    }
    Lines lines = {x, 1, x->extents[axis], 1, x->extents.back()};
    for (size_t i = 0; i + 1 < x->extents.size(); ++i) {
      (i < axis ? lines.outer : lines.inner) *= i == axis ? 1 : x->extents[i];
    }
    return lines;
  }

  std::vector<Complex> line(int64_t row, int64_t column, int64_t first, int64_t count) const {
    std::vector<Complex> line;
    for (int64_t i = first; i < std::min(length, first + count); ++i) {
      const auto at = static_cast<size_t>(((row * length + i) * inner + column) * parts);
      line.emplace_back(x->floats[at], parts == 2 ? x->floats[at + 1] : 0);
    }
    return line;
  }
};

}  // namespace

void fold_dft(InferContext& context) {
  const ConstValue* x = context.value(0);
  const auto out = small_extents(context, 0);
  const bool axis_is_input = context.version() >= 20;
  const auto given = context.has_input(2) ? context.ints(2) : std::nullopt;
  const int64_t asked =
      axis_is_input ? (given ? given->at(0) : -2) : context.attributes().int_or("axis", 1);
  const auto axis = context.axis(asked, x != nullptr ? static_cast<int>(x->extents.size()) : 0);
  const auto lines = axis.ok() ? Lines::of(x, static_cast<size_t>(*axis)) : std::nullopt;
  const auto at = lines ? static_cast<size_t>(*axis) : 0;
  if (!lines || !out || (*out)[at] < 1 || lines->length > kMaxFoldedSteps / (*out)[at]) {
    return;
  }
  const bool one_sided = context.attributes().int_or("onesided", 0) != 0;
  const bool inverse = context.attributes().int_or("inverse", 0) != 0;
  const auto length_input = context.has_input(1) ? context.ints(1) : std::nullopt;
  const int64_t length = length_input           ? length_input->at(0)
                         : one_sided && inverse ? (*out)[at]
                                                : lines->length;
  if (length < 1) {
    return;
  }
  const int64_t bins = (*out)[at];
  std::vector<Complex> results(static_cast<size_t>(lines->outer * bins * lines->inner));
  for (int64_t row = 0; row < lines->outer; ++row) {
    for (int64_t column = 0; column < lines->inner; ++column) {
      auto line = lines->line(row, column, 0, length);
      if (one_sided && inverse) {
        line = whole_spectrum(std::move(line), length);
      }
      const auto result = transform(line, length, bins, inverse);
      for (int64_t k = 0; k < bins; ++k) {
        results[static_cast<size_t>((row * bins + k) * lines->inner + column)] =
            result[static_cast<size_t>(k)];
      }
    }
  }
  ConstValue value = empty_value(x->dtype, *out);
  for (const Complex result : results) {
    append_complex(&value, result);
  }
  context.set_value(0, std::move(value));
}

// [batch, frames, bins, 2]: each frame times the window, transformed.
void fold_stft(InferContext& context) {
  const ConstValue* x = context.value(0);
  const ConstValue* window = context.has_input(2) ? context.value(2) : nullptr;
  const auto step = context.ints(1);
  const auto out = small_extents(context, 0);
  const auto lines = Lines::of(x, 1);
  const auto given = context.has_input(3) ? context.ints(3) : std::nullopt;
  if (!lines || !out || !step || out->size() != 4 || (window == nullptr && !given) ||
      x->size() > 4096) {
    return;
  }
  const int64_t frame = given ? given->at(0) : static_cast<int64_t>(window->size());
  if (frame < 1 || (window != nullptr && static_cast<int64_t>(window->size()) != frame)) {
    return;
  }
  ConstValue value = empty_value(x->dtype, *out);
  for (int64_t n = 0; n < (*out)[0]; ++n) {
    for (int64_t f = 0; f < (*out)[1]; ++f) {
      auto samples = lines->line(n, 0, f * step->at(0), frame);
      for (size_t i = 0; window != nullptr && i < samples.size(); ++i) {
        samples[i] *= window->as_double(i);
      }
      for (const Complex bin : transform(samples, frame, (*out)[2], false)) {
        append_complex(&value, bin);
      }
    }
  }
  context.set_value(0, std::move(value));
}

// Triangles between neighbouring mel frequencies, as columns over the bins of a spectrum.
void fold_mel_weights(InferContext& context) {
  const auto out = small_extents(context, 0);
  const auto number = [&](size_t input) {
    const ConstValue* value = context.value(input);
    return value != nullptr && value->size() == 1 ? value->as_double(0) : 0.0;
  };
  const DType dtype = context.output_dtype(0);
  const double rate = number(2);
  if (!out || out->size() != 2 || !has_arithmetic(dtype) || !is_floating(dtype) || rate <= 0) {
    return;
  }
  const int64_t bins = (*out)[0];
  const int64_t mels = (*out)[1];
  const auto mel_of = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const double low = mel_of(number(3));
  const double mel_step = (mel_of(number(4)) - low) / static_cast<double>(mels + 2);
  std::vector<int64_t> edges;
  for (int64_t i = 0; i < mels + 2; ++i) {
    const double mel = static_cast<double>(i) * mel_step + low;
    const double hertz = 700 * (std::pow(10, mel / 2595) - 1);
    edges.push_back(to_whole(std::floor((number(1) + 1) * hertz / rate)));
    if (edges.back() < 0 || edges.back() >= bins ||
        (i > 0 && edges[edges.size() - 2] > edges.back())) {
      return;
    }
  }
  std::vector<double> weights(static_cast<size_t>(bins * mels), 0.0);
  for (int64_t m = 0; m < mels; ++m) {
    const auto at = [&](int64_t bin) -> double& {
      return weights[static_cast<size_t>(bin * mels + m)];
    };
    const auto first = static_cast<size_t>(m);
    const int64_t rise = edges[first + 1] - edges[first];
    const int64_t fall = edges[first + 2] - edges[first + 1];
    if (rise == 0) {
      at(edges[first + 1]) = 1;
    }
    for (int64_t bin = edges[first]; rise > 0 && bin <= edges[first + 1]; ++bin) {
      at(bin) = static_cast<double>(bin - edges[first]) / static_cast<double>(rise);
    }
    for (int64_t bin = edges[first + 1]; fall > 0 && bin < edges[first + 2]; ++bin) {
      at(bin) = static_cast<double>(edges[first + 2] - bin) / static_cast<double>(fall);
    }
  }
  ConstValue value = empty_value(dtype, *out);
  for (const double weight : weights) {
    append_double(&value, weight);
  }
  context.set_value(0, std::move(value));
}

}  // namespace dfsim::inline graphs
