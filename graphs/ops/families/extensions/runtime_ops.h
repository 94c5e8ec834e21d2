// Operators that only runtimes have: the passes of graphs/passes make them, no file holds them.
#pragma once

#include "graphs/ops/op_def.h"

namespace dfsim::inline graphs {

// ONNX Runtime's operators on blocks of channels. Shapes are those of the tensor, not of its
// blocks.
inline constexpr std::string_view kMicrosoftBlocked = "com.microsoft.nchwc";
// Attribute of convolutions: whether images have their channels last.
inline constexpr std::string_view kChannelsLast = "channels_last";
// Attribute of convolutions: the kernel adds the bias before it stores its results.
inline constexpr std::string_view kBiasInKernel = "bias_in_kernel";
// Attribute of attention and layer normalisation: an engine's kernel, which keeps scores or rows on
// the chip (graphs/passes/fusion/engine_kernels.cc).
inline constexpr std::string_view kEngineKernel = "engine_kernel";
// A QLinearConv's first operand behind its own nine: an image that an engine adds, then its scale
// and its zero point.
inline constexpr size_t kQLinearConvAddend = 9;
// Attribute of a ConvTranspose: it is the gradient of a convolution's image in a training step.
inline constexpr std::string_view kInputGradient = "input_gradient";
// Attribute of a Resize: a thread walks through all channels of one pixel, as in PyTorch's kernel.
inline constexpr std::string_view kSerialImages = "serial_images";
// PyTorch's ATen calls that no single ONNX operator is.
inline constexpr std::string_view kAten = "aten";
// Kernels that a compiler makes of several operators. Attribute `flops`: their sum.
inline constexpr std::string_view kCompiled = "compiled";

}  // namespace dfsim::inline graphs
