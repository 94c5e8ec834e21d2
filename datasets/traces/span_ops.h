// What operator a recorded span was, with its operands, as far as the trace tells.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "datasets/importers/torch/torch_ops.h"
#include "datasets/traces/trace.h"

namespace dfsim::inline datasets {

// Fields of Span::operands in one text, each as the format writes it.
std::string join_operands(std::initializer_list<std::string_view> fields);

// The operator in ONNX's terms. Known for PyTorch's profiler with record_shapes and for ONNX
// Runtime; nothing for other formats and for operators without recorded operands. Outputs are empty
// where the inputs do not tell them.
std::optional<TorchOp> describe_span_op(const Trace& trace, const Span& span);

}  // namespace dfsim::inline datasets
