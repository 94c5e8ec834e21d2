// Values of convolutions. One loop serves all forms that read through a window: it calls for the
// product of an input element and a tap, from which integer forms take zero points off.
#include <algorithm>
#include <cmath>
#include <functional>

#include "graphs/ops/families/nn/fold_nn.h"

namespace dfsim::inline graphs {
namespace {

// Input, weight and output of a convolution, x[N, C, space], w[M, C / group, kernel].
struct Conv {
  const ConstValue* x;
  const ConstValue* w;
  Window window;
  Extents out;
  int64_t group;

  Extents in_space() const { return {x->extents.begin() + 2, x->extents.end()}; }
  Extents out_space() const { return {out.begin() + 2, out.end()}; }
  int64_t in_size() const { return small_product(in_space()); }
  int64_t taps() const { return small_product(window.kernel()); }
};

// std::nullopt: not small, or not as the shape rule has it.
std::optional<Conv> conv_of(const InferContext& context, size_t weight_input) {
  const ConstValue* x = context.value(0);
  const ConstValue* w = context.value(weight_input);
  const auto out = small_extents(context, 0);
  if (x == nullptr || w == nullptr || !out || x->extents.size() < 3 ||
      w->extents.size() != x->extents.size() || !has_arithmetic(x->dtype) ||
      !has_arithmetic(w->dtype)) {
    return std::nullopt;
  }
  auto window =
      Window::from_conv(context, static_cast<int>(x->extents.size()) - 2, Shape::of(w->extents));
  const int64_t group = context.attributes().int_or("group", 1);
  if (!window.ok() || group < 1 || w->size() == 0 ||
      small_product(*out) > kMaxFoldedSteps / static_cast<int64_t>(w->size())) {
    return std::nullopt;
  }
  return Conv{x, w, std::move(*window), *out, group};
}

// For each output element the sum over the taps that meet the input of product(x's position, w's
// position, output channel).
template <typename Product>
std::vector<double> convolve(const Conv& conv, Product product) {
  const Extents space = conv.out_space();
  const WindowTaps taps(conv.window, conv.in_space(),
                        conv.window.begins(conv.in_space(), conv.out_space()));
  const int64_t depth = conv.w->extents[1];
  const int64_t per_group = std::max<int64_t>(1, conv.out[1] / conv.group);
  std::vector<double> sums;
  for (int64_t n = 0; n < conv.out[0]; ++n) {
    for (int64_t m = 0; m < conv.out[1]; ++m) {
      const int64_t first = n * conv.x->extents[1] + m / per_group * depth;
      IndexCounter position(space);
      for (int64_t i = 0; i < small_product(space); ++i, position.next()) {
        double sum = 0;
        taps.at(position.index(), [&](int64_t tap, int64_t source) {
          for (int64_t c = 0; c < depth; ++c) {
            sum += product(static_cast<size_t>((first + c) * conv.in_size() + source),
                           static_cast<size_t>((m * depth + c) * conv.taps() + tap), m);
          }
        });
        sums.push_back(sum);
      }
    }
  }
  return sums;
}

int64_t channel_of(const Extents& extents, size_t i) {
  return static_cast<int64_t>(i) / small_product(Extents(extents.begin() + 2, extents.end())) %
         extents[1];
}

void set_sums(InferContext& context, DType dtype, const Extents& extents,
              const std::vector<double>& sums) {
  ConstValue out = empty_value(dtype, extents);
  for (const double sum : sums) {
    append_double(&out, sum);
  }
  context.set_value(0, std::move(out));
}

// Adds operand `input`, one number per output channel, when it is there. False: it does not fit.
bool add_channel_bias(const InferContext& context, size_t input, const Extents& extents,
                      std::vector<double>* sums) {
  if (!context.has_input(input)) {
    return true;
  }
  const ConstValue* bias = context.value(input);
  if (bias == nullptr || static_cast<int64_t>(bias->size()) != extents[1]) {
    return false;
  }
  for (size_t i = 0; i < sums->size(); ++i) {
    (*sums)[i] += bias->as_double(static_cast<size_t>(channel_of(extents, i)));
  }
  return true;
}

// Element `i` of a zero point of one number or one per channel; 0 when there is none.
double zero_at(const ConstValue* zero, int64_t i) {
  return zero == nullptr     ? 0
         : zero->size() == 1 ? zero->as_double(0)
                             : zero->as_double(static_cast<size_t>(i));
}

bool zero_fits(const ConstValue* zero, int64_t channels) {
  return zero == nullptr || zero->size() == 1 || static_cast<int64_t>(zero->size()) == channels;
}

// Sums of (x - zero of x) (w - zero of w); padding is the zero of x and so adds nothing.
std::optional<std::vector<double>> integer_sums(const Conv& conv, const ConstValue* zero_x,
                                                const ConstValue* zero_w) {
  if (!zero_fits(zero_x, 1) || !zero_fits(zero_w, conv.out[1])) {
    return std::nullopt;
  }
  return convolve(conv, [&](size_t x, size_t w, int64_t m) {
    return (conv.x->as_double(x) - zero_at(zero_x, 0)) *
           (conv.w->as_double(w) - zero_at(zero_w, m));
  });
}

}  // namespace

void fold_conv(InferContext& context) {
  const auto conv = conv_of(context, 1);
  if (!conv || !is_floating(conv->x->dtype)) {
    return;
  }
  auto sums = convolve(*conv, [&](size_t x, size_t w, int64_t) {
    return conv->x->floats[x] * conv->w->as_double(w);
  });
  if (add_channel_bias(context, 2, conv->out, &sums)) {
    set_sums(context, conv->x->dtype, conv->out, sums);
  }
}

void fold_conv_integer(InferContext& context) {
  const auto conv = conv_of(context, 1);
  if (!conv || is_floating(conv->x->dtype)) {
    return;
  }
  if (const auto sums = integer_sums(*conv, context.value(2), context.value(3))) {
    set_sums(context, DType::kInt32, conv->out, *sums);
  }
}

void fold_qlinear_conv(InferContext& context) {
  const auto conv = conv_of(context, 3);
  const ConstValue* scale_x = context.value(1);
  const ConstValue* scale_w = context.value(4);
  const ConstValue* scale_y = context.value(6);
  const ConstValue* zero_y = context.value(7);
  if (!conv || is_floating(conv->x->dtype) || scale_x == nullptr || scale_w == nullptr ||
      scale_y == nullptr || zero_y == nullptr || scale_x->size() != 1 || scale_y->size() != 1 ||
      zero_y->size() != 1 || scale_w->size() == 0 || !zero_fits(scale_w, conv->out[1])) {
    return;
  }
  auto sums = integer_sums(*conv, context.value(2), context.value(5));
  if (!sums || !add_channel_bias(context, 8, conv->out, &*sums)) {
    return;
  }
  const bool is_signed = zero_y->dtype == DType::kInt8;
  for (size_t i = 0; i < sums->size(); ++i) {
    const double scale =
        scale_x->as_double(0) * zero_at(scale_w, channel_of(conv->out, i)) / scale_y->as_double(0);
    (*sums)[i] = std::clamp(std::nearbyint((*sums)[i] * scale) + zero_y->as_double(0),
                            is_signed ? -128.0 : 0.0, is_signed ? 127.0 : 255.0);
  }
  set_sums(context, zero_y->dtype, conv->out, *sums);
}

// x[N, C, space], w[C, M / group, kernel]: each input element adds to the outputs under its window,
// which is the window of a convolution from the output to the input.
void fold_conv_transpose(InferContext& context) {
  const auto conv = conv_of(context, 1);
  if (!conv || !is_floating(conv->x->dtype) || conv->x->extents[1] % conv->group != 0) {
    return;
  }
  const Extents space = conv->in_space();
  const WindowTaps taps(
      conv->window, conv->out_space(),
      conv->window.transposed_begins(context, conv->in_space(), conv->out_space()));
  const int64_t per_group = conv->x->extents[1] / conv->group;
  const int64_t depth = conv->w->extents[1];
  const int64_t out_size = small_product(conv->out_space());
  std::vector<double> sums(static_cast<size_t>(small_product(conv->out)), 0.0);
  for (int64_t n = 0; n < conv->out[0]; ++n) {
    for (int64_t c = 0; c < conv->x->extents[1]; ++c) {
      const int64_t first = n * conv->out[1] + c / per_group * depth;
      IndexCounter position(space);
      for (int64_t i = 0; i < conv->in_size(); ++i, position.next()) {
        const double x =
            conv->x
                ->floats[static_cast<size_t>((n * conv->x->extents[1] + c) * conv->in_size() + i)];
        taps.at(position.index(), [&](int64_t tap, int64_t target) {
          for (int64_t m = 0; m < depth; ++m) {
            sums[static_cast<size_t>((first + m) * out_size + target)] +=
                x * conv->w->as_double(static_cast<size_t>((c * depth + m) * conv->taps() + tap));
          }
        });
      }
    }
  }
  if (add_channel_bias(context, 2, conv->out, &sums)) {
    set_sums(context, conv->x->dtype, conv->out, sums);
  }
}

// The past state comes before x; the last K - 1 positions are the new state.
void fold_causal_conv(InferContext& context) {
  const ConstValue* x = context.value(0);
  const ConstValue* w = context.value(1);
  const ConstValue* past = context.value(3);
  const auto out = small_extents(context, 0);
  if (x == nullptr || w == nullptr || !out || x->extents.size() != 3 || w->extents.size() != 3 ||
      !is_floating(x->dtype) || w->extents[0] != x->extents[1] || w->extents[1] != 1 ||
      w->extents[2] < 1) {
    return;
  }
  const int64_t kept = w->extents[2] - 1;
  const int64_t length = x->extents[2];
  if (past != nullptr && past->extents != Extents{x->extents[0], x->extents[1], kept}) {
    return;
  }
  const std::string activation = context.attributes().string_or("activation", "none");
  std::vector<double> sums;
  ConstValue state = empty_value(x->dtype, {x->extents[0], x->extents[1], kept});
  for (int64_t row = 0; row < x->extents[0] * x->extents[1]; ++row) {
    const auto at = [&](int64_t i) {
      return i >= 0            ? x->floats[static_cast<size_t>(row * length + i)]
             : past != nullptr ? past->as_double(static_cast<size_t>(row * kept + kept + i))
                               : 0.0;
    };
    const int64_t channel = row % x->extents[1];
    for (int64_t i = 0; i < length; ++i) {
      double sum =
          context.has_input(2) ? context.value(2)->as_double(static_cast<size_t>(channel)) : 0;
      for (int64_t k = 0; k <= kept; ++k) {
        sum += at(i - kept + k) * w->as_double(static_cast<size_t>(channel * (kept + 1) + k));
      }
      const bool gated = activation == "silu" || activation == "swish";
      sums.push_back(gated ? sum / (1 + std::exp(-sum)) : sum);
    }
    for (int64_t i = length - kept; i < length; ++i) {
      append_double(&state, at(i));
    }
  }
  set_sums(context, x->dtype, *out, sums);
  context.set_value(1, std::move(state));
}

// Columns [N, C * taps, positions] added up in the image [N, C, space].
void fold_col_to_im(InferContext& context) {
  const ConstValue* x = context.value(0);
  const auto block = context.ints(2);
  const auto out = small_extents(context, 0);
  if (x == nullptr || !block || !out || x->extents.size() != 3 || !is_floating(x->dtype) ||
      block->size() + 2 != out->size()) {
    return;
  }
  const auto window = Window::from_kernel(context, *block);
  if (!window.ok()) {
    return;
  }
  // As many window positions as a convolution over the image has.
  Dims dims;
  if (!window->append_output(context, Shape::of(*out), /*ceil=*/false, &dims).ok()) {
    return;
  }
  const Extents positions = Shape(dims).extents();
  const Extents space(out->begin() + 2, out->end());
  if (small_product(positions) != x->extents[2]) {
    return;
  }
  const WindowTaps taps(*window, space, window->begins(space, positions));
  const int64_t tap_count = small_product(*block);
  const int64_t size = small_product(space);
  std::vector<double> sums(static_cast<size_t>(small_product(*out)), 0.0);
  for (int64_t row = 0; row < (*out)[0] * (*out)[1]; ++row) {
    IndexCounter position(positions);
    for (int64_t i = 0; i < x->extents[2]; ++i, position.next()) {
      taps.at(position.index(), [&](int64_t tap, int64_t target) {
        sums[static_cast<size_t>(row * size + target)] +=
            x->floats[static_cast<size_t>((row * tap_count + tap) * x->extents[2] + i)];
      });
    }
  }
  set_sums(context, x->dtype, *out, sums);
}

}  // namespace dfsim::inline graphs
