// Values of RNN, GRU and LSTM. One direction runs over the steps, from the end when it is reversed;
// each gate is a product with the input, one with the state, and two biases.
#include <algorithm>
#include <cmath>

#include "graphs/ops/families/nn/fold_nn.h"

namespace dfsim::inline graphs {
namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// Operands and extents; values are reached as [direction][row][column].
struct Recurrent {
  const ConstValue* x;
  const ConstValue* w;
  const ConstValue* r;
  const ConstValue* bias;
  const ConstValue* state;
  const ConstValue* cell;
  const ConstValue* peephole;
  int64_t steps, batch, inputs, hidden, directions, gates;
  bool batch_first;
  bool linear_before_reset;

  double input(int64_t step, int64_t n, int64_t i) const {
    const int64_t row = batch_first ? n * steps + step : step * batch + n;
    return x->floats[static_cast<size_t>(row * inputs + i)];
  }
  double bias_of(int64_t d, int64_t gate, int64_t unit, bool recurrent) const {
    const int64_t row = (d * 2 + (recurrent ? 1 : 0)) * gates + gate;
    return bias == nullptr ? 0 : bias->as_double(static_cast<size_t>(row * hidden + unit));
  }
  double first_of(const ConstValue* given, int64_t d, int64_t n, int64_t unit) const {
    const int64_t row = batch_first ? n * directions + d : d * batch + n;
    return given == nullptr ? 0 : given->as_double(static_cast<size_t>(row * hidden + unit));
  }
  // Gates of an LSTM that look at the cell: 0 input, 1 output, 2 forget.
  double peek(int64_t d, int64_t gate, int64_t unit) const {
    return peephole == nullptr
               ? 0
               : peephole->as_double(static_cast<size_t>((d * 3 + gate) * hidden + unit));
  }
};

bool has_size(const ConstValue* value, int64_t size) {
  return value == nullptr || static_cast<int64_t>(value->size()) == size;
}

// Whether every sequence has all steps: the operand of lengths says so, or is absent.
bool has_whole_sequences(const InferContext& context, int64_t steps) {
  const auto lengths = context.has_input(4) ? context.ints(4) : std::nullopt;
  return !context.has_input(4) ||
         (lengths && std::all_of(lengths->begin(), lengths->end(),
                                 [steps](int64_t length) { return length == steps; }));
}

// std::nullopt: shorter sequences, activations of its own, a clip, or extents that do not fit.
std::optional<Recurrent> recurrent_of(const InferContext& context) {
  const Attributes& attributes = context.attributes();
  const bool plain = !attributes.has("activations") && !attributes.has("clip") &&
                     attributes.int_or("input_forget", 0) == 0;
  const ConstValue* x = context.value(0);
  const ConstValue* w = context.value(1);
  const ConstValue* r = context.value(2);
  if (!plain || x == nullptr || w == nullptr || r == nullptr || !is_floating(x->dtype) ||
      !is_floating(w->dtype) || !is_floating(r->dtype) || x->extents.size() != 3 ||
      w->extents.size() != 3 || r->extents.size() != 3) {
    return std::nullopt;
  }
  const std::string& type = context.op().op_type;
  Recurrent cell = {};
  cell.x = x;
  cell.w = w;
  cell.r = r;
  cell.bias = context.value(3);
  cell.state = context.value(5);
  cell.cell = type == "LSTM" ? context.value(6) : nullptr;
  cell.peephole = type == "LSTM" ? context.value(7) : nullptr;
  cell.batch_first = attributes.int_or("layout", 0) != 0;
  cell.linear_before_reset = attributes.int_or("linear_before_reset", 0) != 0;
  cell.steps = x->extents[cell.batch_first ? 1 : 0];
  cell.batch = x->extents[cell.batch_first ? 0 : 1];
  cell.inputs = x->extents[2];
  cell.directions = r->extents[0];
  cell.hidden = r->extents[2];
  cell.gates = type == "LSTM" ? 4 : type == "GRU" ? 3 : 1;
  const int64_t rows = cell.gates * cell.hidden;
  const int64_t states = cell.directions * cell.batch * cell.hidden;
  const bool both = attributes.string_or("direction", "forward") == "bidirectional";
  if (!has_whole_sequences(context, cell.steps) || cell.directions != (both ? 2 : 1) ||
      r->extents[1] != rows || w->extents != Extents{cell.directions, rows, cell.inputs} ||
      !has_size(cell.bias, cell.directions * 2 * rows) || !has_size(cell.state, states) ||
      !has_size(cell.cell, states) || !has_size(cell.peephole, cell.directions * 3 * cell.hidden)) {
    return std::nullopt;
  }
  return cell;
}

// One sequence in one direction: the state h and, in an LSTM, the cell c, moved from step to step.
class Cell {
 public:
  Cell(const Recurrent& form, int64_t direction, int64_t n)
      : form_(form), direction_(direction), n_(n) {
    for (int64_t unit = 0; unit < form.hidden; ++unit) {
      h.push_back(form.first_of(form.state, direction, n, unit));
      c.push_back(form.first_of(form.cell, direction, n, unit));
    }
  }

  void step(int64_t at) {
    const std::vector<double> before = h;
    if (form_.gates == 1) {
      for (int64_t unit = 0; unit < form_.hidden; ++unit) {
        h[index(unit)] = std::tanh(from_input(at, 0, unit) + from_state(before, 0, unit));
      }
    } else if (form_.gates == 3) {
      step_gru(at, before);
    } else {
      step_lstm(at, before);
    }
  }

  std::vector<double> h;
  std::vector<double> c;

 private:
  static size_t index(int64_t i) { return static_cast<size_t>(i); }

  double from_input(int64_t at, int64_t gate, int64_t unit) const {
    const int64_t row = (direction_ * form_.gates + gate) * form_.hidden + unit;
    double sum = form_.bias_of(direction_, gate, unit, false);
    for (int64_t i = 0; i < form_.inputs; ++i) {
      sum += form_.input(at, n_, i) * form_.w->floats[index(row * form_.inputs + i)];
    }
    return sum;
  }

  double from_state(const std::vector<double>& state, int64_t gate, int64_t unit) const {
    const int64_t row = (direction_ * form_.gates + gate) * form_.hidden + unit;
    double sum = form_.bias_of(direction_, gate, unit, true);
    for (int64_t i = 0; i < form_.hidden; ++i) {
      sum += state[index(i)] * form_.r->floats[index(row * form_.hidden + i)];
    }
    return sum;
  }

  // Gates: update, reset, new state. The reset scales the state, or what the product made of it.
  void step_gru(int64_t at, const std::vector<double>& before) {
    std::vector<double> reset;
    for (int64_t unit = 0; unit < form_.hidden; ++unit) {
      reset.push_back(sigmoid(from_input(at, 1, unit) + from_state(before, 1, unit)));
    }
    std::vector<double> scaled = before;
    for (size_t unit = 0; unit < scaled.size(); ++unit) {
      scaled[unit] *= reset[unit];
    }
    for (int64_t unit = 0; unit < form_.hidden; ++unit) {
      const double update = sigmoid(from_input(at, 0, unit) + from_state(before, 0, unit));
      const double recurrent = form_.linear_before_reset
                                   ? reset[index(unit)] * from_state(before, 2, unit)
                                   : from_state(scaled, 2, unit);
      const double fresh = std::tanh(from_input(at, 2, unit) + recurrent);
      h[index(unit)] = (1 - update) * fresh + update * before[index(unit)];
    }
  }

  // Gates: input, output, forget, cell.
  void step_lstm(int64_t at, const std::vector<double>& before) {
    for (int64_t unit = 0; unit < form_.hidden; ++unit) {
      const auto gate = [&](int64_t g) {
        return from_input(at, g, unit) + from_state(before, g, unit);
      };
      double& cell = c[index(unit)];
      const double in = sigmoid(gate(0) + form_.peek(direction_, 0, unit) * cell);
      const double forget = sigmoid(gate(2) + form_.peek(direction_, 2, unit) * cell);
      cell = forget * cell + in * std::tanh(gate(3));
      const double out = sigmoid(gate(1) + form_.peek(direction_, 1, unit) * cell);
      h[index(unit)] = out * std::tanh(cell);
    }
  }

  const Recurrent& form_;
  int64_t direction_;
  int64_t n_;
};

// Outputs in the operator's layout; only those that the node names are set.
class RecurrentOutputs {
 public:
  explicit RecurrentOutputs(const Recurrent& form)
      : form_(form),
        dtype_(form.x->dtype),
        y_(static_cast<size_t>(form.steps * form.directions * form.batch * form.hidden)),
        h_(static_cast<size_t>(form.directions * form.batch * form.hidden)),
        c_(h_.size()) {}

  void put_step(int64_t step, int64_t d, int64_t n, const std::vector<double>& h) {
    const int64_t row = form_.batch_first ? (n * form_.steps + step) * form_.directions + d
                                          : (step * form_.directions + d) * form_.batch + n;
    std::copy(h.begin(), h.end(), y_.begin() + row * form_.hidden);
  }
  void put_last(int64_t d, int64_t n, const Cell& cell) {
    const int64_t row = form_.batch_first ? n * form_.directions + d : d * form_.batch + n;
    std::copy(cell.h.begin(), cell.h.end(), h_.begin() + row * form_.hidden);
    std::copy(cell.c.begin(), cell.c.end(), c_.begin() + row * form_.hidden);
  }
  void set(InferContext& context) const {
    const std::vector<double>* all[] = {&y_, &h_, &c_};
    for (size_t i = 0; i < context.output_count() && i < 3; ++i) {
      const auto extents = small_extents(context, i);
      if (!context.has_output(i) || !extents ||
          small_product(*extents) != static_cast<int64_t>(all[i]->size())) {
        continue;
      }
      ConstValue out = empty_value(dtype_, *extents);
      for (const double value : *all[i]) {
        append_double(&out, value);
      }
      context.set_value(i, std::move(out));
    }
  }

 private:
  const Recurrent& form_;
  DType dtype_;  // kept apart: setting a value may move the operands
  std::vector<double> y_;
  std::vector<double> h_;
  std::vector<double> c_;
};

}  // namespace

void fold_rnn(InferContext& context) {
  const auto form = recurrent_of(context);
  const auto extents = small_extents(context, 0);
  if (!form || (context.has_output(0) && !extents) ||
      form->steps * form->batch >
          kMaxFoldedSteps /
              std::max<int64_t>(1, static_cast<int64_t>(form->w->size() + form->r->size()))) {
    return;
  }
  const std::string direction = context.attributes().string_or("direction", "forward");
  RecurrentOutputs outputs(*form);
  for (int64_t d = 0; d < form->directions; ++d) {
    const bool backwards = direction == "reverse" || d == 1;
    for (int64_t n = 0; n < form->batch; ++n) {
      Cell cell(*form, d, n);
      for (int64_t i = 0; i < form->steps; ++i) {
        const int64_t at = backwards ? form->steps - 1 - i : i;
        cell.step(at);
        outputs.put_step(at, d, n, cell.h);
      }
      outputs.put_last(d, n, cell);
    }
  }
  outputs.set(context);
}

}  // namespace dfsim::inline graphs
