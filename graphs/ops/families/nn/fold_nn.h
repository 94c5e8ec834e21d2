// Folding rules of layers on small constants: windows, resampling, recurrence, attention. They
// compute in double precision and round once, so the last digit may differ from a run's.
#pragma once

#include "graphs/ops/families/nn/window.h"
#include "graphs/ops/values/fold.h"

namespace dfsim::inline graphs {

// Layers of more multiply-adds than this are networks, not shape arithmetic.
inline constexpr int64_t kMaxFoldedSteps = int64_t{1} << 20;

// Convolutions (fold_conv.cc).
void fold_conv(InferContext& context);
void fold_conv_integer(InferContext& context);
void fold_qlinear_conv(InferContext& context);
void fold_conv_transpose(InferContext& context);
void fold_causal_conv(InferContext& context);
void fold_deform_conv(InferContext& context);
void fold_col_to_im(InferContext& context);

// Pools (fold_pool.cc).
void fold_max_pool(InferContext& context);
void fold_average_pool(InferContext& context);
void fold_lp_pool(InferContext& context);
void fold_max_unpool(InferContext& context);
void fold_roi_align(InferContext& context);

// Resampling (fold_resize.cc, fold_grid.cc).
void fold_resize(InferContext& context);
void fold_grid_sample(InferContext& context);
void fold_affine_grid(InferContext& context);

// Recurrence (fold_rnn.cc).
void fold_rnn(InferContext& context);

// Signals (fold_signal.cc).
void fold_dft(InferContext& context);
void fold_stft(InferContext& context);
void fold_mel_weights(InferContext& context);

// The taps of a window at one output position.
class WindowTaps {
 public:
  // `kernel`, `strides`, `dilations` and `begins` per spatial axis of an input of extents `in`.
  WindowTaps(const Window& window, Extents in, Extents begins)
      : window_(window), in_(std::move(in)), begins_(std::move(begins)) {}

  // Calls on_tap(tap, source) for each tap of the window at `out` that meets the input: the tap's
  // and the source's row-major positions.
  template <typename OnTap>
  void at(const Extents& out, OnTap on_tap) const {
    const auto& kernel = window_.kernel();
    IndexCounter counter(kernel);
    const int64_t taps = small_product(kernel);
    for (int64_t tap = 0; tap < taps; ++tap, counter.next()) {
      int64_t source = 0;
      bool inside = true;
      for (size_t i = 0; i < in_.size(); ++i) {
        const int64_t position =
            out[i] * window_.strides()[i] - begins_[i] + counter[i] * window_.dilations()[i];
        inside = inside && position >= 0 && position < in_[i];
        source = source * in_[i] + position;
      }
      if (inside) {
        on_tap(tap, source);
      }
    }
  }

 private:
  const Window& window_;
  Extents in_;
  Extents begins_;
};

}  // namespace dfsim::inline graphs
