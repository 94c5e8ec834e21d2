#include "datasets/traces/span_ops.h"

#include "base/text.h"
#include "datasets/importers/op_names.h"
#include "datasets/importers/ort_shapes.h"

namespace dfsim::inline datasets {
namespace {

// Ends each field; never part of JSON text.
constexpr char kSeparator = '\x1f';

}  // namespace

std::string join_operands(std::initializer_list<std::string_view> fields) {
  std::string text;
  for (const std::string_view field : fields) {
    text += field;
    text += kSeparator;
  }
  return text;
}

std::optional<TorchOp> describe_span_op(const Trace& trace, const Span& span) {
  if (!span.operands.valid()) {
    return std::nullopt;
  }
  const std::vector<std::string> fields = split(trace.text(span.operands), kSeparator);
  if (trace.format == "kineto" && fields.size() == 5) {
    TorchOp op = describe_torch_op(
        trace.text(span.name), parse_torch_arguments(fields[0], fields[1], fields[2], fields[3]));
    return op.inputs.empty() ? std::nullopt : std::optional(std::move(op));
  }
  if (trace.format == "onnxruntime" && fields.size() == 3) {
    TorchOp op;
    op.op_type = trace.text(span.name);
    op.op_class = onnx_op_class(op.op_type);
    if (!parse_ort_shapes(fields[0], &op.inputs) || !parse_ort_shapes(fields[1], &op.outputs) ||
        (op.inputs.empty() && op.outputs.empty())) {
      return std::nullopt;
    }
    op.attributes = guess_ort_attributes(op.op_type, op.inputs, op.outputs);
    return op;
  }
  return std::nullopt;
}

}  // namespace dfsim::inline datasets
