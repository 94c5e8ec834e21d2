// Operators that only TensorFlow has and that hold a layer or a format: cells of recurrent
// networks, CTC, ragged tensors, quantisation with ranges. The importer has worked out their shapes
// (tensorflow/rules/rules_quantized.cc, rules_ragged.cc, rules_layer.cc).
#include "graphs/ops/families/extensions/tensorflow_ops.h"
#include "graphs/ops/op_families.h"

namespace dfsim::inline graphs {
namespace {

// x [B, I], previous output [B, H], matrices of weights: all rows meet all weights.
void work_cell(WorkContext& context) {
  const Shape& x = context.input(0).shape;
  const Count rows(x.rank() > 0 ? x[0].extent() : 1);
  for (size_t i = 2; i < context.op().inputs.size(); ++i) {
    const Shape& w = context.input(i).shape;
    context.add_macs(rows * w.elements());
    context.add_flops(rows * Count(w.rank() > 1 ? w[1].extent() : 1), 10);
  }
  context.set_matrix();
}

// logits [T, B, C], labels: softmax of all logits; forward and backward over every label and the
// blanks around it in each step.
void work_ctc_loss(WorkContext& context) {
  const Shape& x = context.input(0).shape;
  context.add_flops(x.elements(), 5);
  if (x.rank() == 3) {
    const Count places = context.input(1).shape.elements() * Count(2) + Count(x[1].extent());
    context.add_flops(Count(x[0].extent()) * places, 12);
  }
}

// Each beam of a step meets every class.
void work_ctc_beams(WorkContext& context) {
  const int64_t beams = context.op().attributes.int_or("beam_width", 100);
  context.add_flops(context.input(0).shape.elements() * Count(beams), 10);
}

void work_per_logit(WorkContext& context) {
  context.add_flops(context.input(0).shape.elements(), context.flops_per_element());
}

// clang-format off
constexpr OpDef kTfLayerOps[] = {
    {.op_type = "LSTMBlockCell", .op_class = OpClass::kRnn, .infer = infer_given_shape,
     .work = work_cell, .required_inputs = 3, .domain = kTensorFlow},
    {.op_type = "GRUBlockCell", .op_class = OpClass::kRnn, .infer = infer_given_shape,
     .work = work_cell, .required_inputs = 4, .domain = kTensorFlow},
    {.op_type = "CTCLoss", .op_class = OpClass::kSoftmax, .infer = infer_given_shape,
     .work = work_ctc_loss, .required_inputs = 2, .domain = kTensorFlow},
    {.op_type = "CTCGreedyDecoder", .op_class = OpClass::kReduce, .infer = infer_given_shape,
     .work = work_per_logit, .flops_per_element = 1, .domain = kTensorFlow},
    {.op_type = "CTCBeamSearchDecoder", .op_class = OpClass::kSort, .infer = infer_given_shape,
     .work = work_ctc_beams, .domain = kTensorFlow},
    {.op_type = "RaggedTensorToTensor", .op_class = OpClass::kDataMovement,
     .infer = infer_given_shape, .work = work_copy, .domain = kTensorFlow},
    {.op_type = "RaggedTensorToSparse", .op_class = OpClass::kDataMovement,
     .infer = infer_given_shape, .work = work_copy, .domain = kTensorFlow},
    {.op_type = "RaggedBincount", .op_class = OpClass::kGather, .infer = infer_given_shape,
     .work = work_per_logit, .flops_per_element = 1, .domain = kTensorFlow},
    {.op_type = "DecodePaddedRaw", .op_class = OpClass::kDataMovement, .infer = infer_given_shape,
     .work = work_copy, .domain = kTensorFlow},
    {.op_type = "DecodeBase64", .op_class = OpClass::kElementwise, .infer = infer_given_shape,
     .work = work_per_element, .flops_per_element = 50, .domain = kTensorFlow},
    {.op_type = "EncodeBase64", .op_class = OpClass::kElementwise, .infer = infer_given_shape,
     .work = work_per_element, .flops_per_element = 50, .domain = kTensorFlow},
    // scale, round, clip
    {.op_type = "QuantizeV2", .op_class = OpClass::kElementwise, .infer = infer_given_shape,
     .work = work_per_element, .flops_per_element = 3, .domain = kTensorFlow},
    {.op_type = "Dequantize", .op_class = OpClass::kElementwise, .infer = infer_given_shape,
     .work = work_per_element, .flops_per_element = 2, .domain = kTensorFlow},
    {.op_type = "Requantize", .op_class = OpClass::kElementwise, .infer = infer_given_shape,
     .work = work_per_element, .flops_per_element = 3, .domain = kTensorFlow},
    // a smallest and a largest element
    {.op_type = "RequantizationRange", .op_class = OpClass::kReduce, .infer = infer_given_shape,
     .work = work_per_logit, .flops_per_element = 2, .domain = kTensorFlow},
    {.op_type = "QuantizedBiasAdd", .op_class = OpClass::kElementwise, .infer = infer_given_shape,
     .work = work_per_element, .flops_per_element = 3, .required_inputs = 2, .domain = kTensorFlow},
    {.op_type = "QuantizedRelu", .op_class = OpClass::kElementwise, .infer = infer_given_shape,
     .work = work_per_element, .flops_per_element = 1, .domain = kTensorFlow},
    {.op_type = "QuantizedRelu6", .op_class = OpClass::kElementwise, .infer = infer_given_shape,
     .work = work_per_element, .flops_per_element = 2, .domain = kTensorFlow},
};
// clang-format on

constexpr WorkNote kTfLayerNotes[] = {
    {work_cell, "MACs = batch x weights; 10 per gate and unit"},
    {work_ctc_loss, "5 per logit; 12 per step and place between labels"},
    {work_ctc_beams, "10 per logit and beam"},
    {work_per_logit, "{} per element of the first input"},
};

}  // namespace

OpFamily tensorflow_layers_op_defs() { return {kTfLayerOps, kTfLayerNotes}; }

}  // namespace dfsim::inline graphs
