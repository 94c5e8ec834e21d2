// Recurrent layers: RNN, GRU, LSTM.
#include <fmt/format.h>

#include "graphs/ops/factors/factor_rules.h"
#include "graphs/ops/families/nn/fold_nn.h"
#include "graphs/ops/op_families.h"

namespace dfsim::inline graphs {
namespace {

// Gates per cell: how many hidden-sized products a step computes.
int64_t gate_count(const Op& op) { return op.op_type == "LSTM" ? 4 : op.op_type == "GRU" ? 3 : 1; }

Status infer_rnn(InferContext& context) {
  const Shape& x = context.shape(0);  // [seq, batch, input], or [batch, seq, input] with layout 1
  const Shape& r = context.shape(2);  // [directions, gates * hidden, hidden]
  if (!x.has_rank() || !r.has_rank()) {
    return ok_status();
  }
  if (x.rank() != 3 || r.rank() != 3) {
    return context.error(fmt::format("input {} and recurrence {}: expected rank 3 each",
                                     format_shape(x), format_shape(r)));
  }
  const bool batch_first = context.attributes().int_or("layout", 0) != 0;
  const Dim sequence = x[batch_first ? 1 : 0];
  const Dim batch = x[batch_first ? 0 : 1];
  const Dim directions = r[0];
  const Dim hidden = r[2];
  if (hidden.known() && r[1].known() &&
      Count(hidden.extent()) * Count(gate_count(context.op())) != Count(r[1].extent())) {
    return context.error(fmt::format("recurrence {} does not have {} gates", format_shape(r),
                                     gate_count(context.op())));
  }
  const Shape state =
      batch_first ? Shape({batch, directions, hidden}) : Shape({directions, batch, hidden});
  context.set_output(0, context.dtype(0),
                     batch_first ? Shape({batch, sequence, directions, hidden})
                                 : Shape({sequence, directions, batch, hidden}));
  context.set_output(1, context.dtype(0), state);
  context.set_output(2, context.dtype(0), state);
  return ok_status();
}

// Per step, direction and sample: gates x hidden x (input + hidden) MACs, then about 10 scalar
// operations per gate and hidden unit for biases, activations and the state update.
void work_rnn(WorkContext& context) {
  const Shape& x = context.input(0).shape;
  const Shape& r = context.input(2).shape;
  const Count steps = Count(x[0].extent()) * Count(x[1].extent()) * Count(r[0].extent());
  const Count gates = steps * Count(r[1].extent());
  context.add_macs(gates * (Count(x[2].extent()) + Count(r[2].extent())));
  context.add_flops(gates, 10);
  context.set_matrix();
}

// clang-format off
constexpr OpDef kRnnOps[] = {
    {.op_type = "LSTM", .op_class = OpClass::kRnn, .infer = infer_rnn, .work = work_rnn,
     .fold = fold_rnn,
     .required_inputs = 3, .factors = factors_rnn},
    {.op_type = "GRU", .op_class = OpClass::kRnn, .infer = infer_rnn, .work = work_rnn,
     .fold = fold_rnn,
     .required_inputs = 3, .factors = factors_rnn},
    {.op_type = "RNN", .op_class = OpClass::kRnn, .infer = infer_rnn, .work = work_rnn,
     .fold = fold_rnn,
     .required_inputs = 3, .factors = factors_rnn},
};
// clang-format on

constexpr WorkNote kRnnNotes[] = {
    {work_rnn,
     "MACs = steps x batch x directions x gates*hidden x (input + hidden); 10 per gate and unit"},
};

}  // namespace

OpFamily rnn_op_defs() { return {kRnnOps, kRnnNotes}; }

}  // namespace dfsim::inline graphs
