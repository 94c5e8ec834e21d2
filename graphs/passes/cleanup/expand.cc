// Writes branches and loops out. A Scope maps tensors of one run of a body to tensors of the
// result; each trip opens a new one, with weights and captured tensors shared. Shapes are
// inferred again per trip, since the state of a loop may grow. The results of the trips are
// joined at the end.
#include "graphs/passes/cleanup/expand.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "graphs/ir/graph_builder.h"
#include "graphs/ops/families/extensions/tensorflow_ops.h"
#include "graphs/ops/families/layout/subgraph.h"
#include "graphs/ops/infer.h"
#include "graphs/passes/cleanup/control_runs.h"
#include "graphs/passes/list_contents.h"

namespace dfsim::inline graphs {
namespace {

constexpr int kIdentityVersion = 16;

class Expander {
 public:
  Expander(const Graph& graph, size_t most_ops)
      : graph_(graph), left_(static_cast<double>(most_ops)), lists_(builder_) {}

  StatusOr<Graph> run() {
    builder_.info() = graph_.info();
    Scope scope = open(graph_, "", false);
    for (const TensorId input : graph_.inputs()) {
      builder_.mark_input(tensor(scope, input));
    }
    DFSIM_RETURN_IF_ERROR(add_ops(scope));
    for (const TensorId output : graph_.outputs()) {
      builder_.mark_output(tensor(scope, output));
    }
    return builder_.build();
  }

 private:
  // One run of a graph: which tensors of the result stand for its own.
  struct Scope {
    const Graph* graph;
    std::vector<TensorId> ids;
    std::string suffix;  // of names
    bool inside;         // of an operator
  };

  Scope open(const Graph& graph, std::string suffix, bool inside) {
    auto [it, is_new] = parameters_.emplace(&graph, std::vector<TensorId>());
    if (is_new) {
      it->second.resize(graph.tensor_count());
    }
    return {&graph, it->second, std::move(suffix), inside};
  }

  TensorId tensor(Scope& scope, TensorId id) {
    if (!id.valid()) {
      return id;
    }
    TensorId& mapped = scope.ids[id.index()];
    if (mapped.valid()) {
      return mapped;
    }
    Tensor copy = scope.graph->tensor(id);
    // Weights are the same in every trip.
    const bool parameter = copy.role != TensorRole::kActivation;
    const bool shared = parameter && !copy.producer.valid();
    copy.producer = OpId();
    copy.is_input = copy.is_output = false;
    copy.name += shared ? "" : scope.suffix;
    copy.shape = translated(*scope.graph, copy.shape);
    mapped = builder_.add_tensor(std::move(copy));
    // Facts that inference finds inside a body may hold for one trip only.
    const ConstValue* value = scope.graph->constant(id);
    if (value != nullptr && (parameter || !scope.inside)) {
      builder_.set_constant(mapped, *value);
    }
    if (shared) {
      parameters_[scope.graph][id.index()] = mapped;
    }
    return mapped;
  }

  // Symbols get new numbers.
  Shape translated(const Graph& graph, const Shape& shape) {
    if (!shape.has_rank() || shape.is_static()) {
      return shape;
    }
    Dims dims = shape.dims();
    for (Dim& dim : dims) {
      if (dim.is_symbol()) {
        dim = Dim::symbol(builder_.symbol(graph.symbols()[dim.symbol_index()]));
      }
    }
    return Shape(std::move(dims));
  }

  Status add_ops(Scope& scope) {
    for (const Op& op : scope.graph->ops()) {
      const auto runs = is_control_flow(op) ? runs_of(op) : std::nullopt;
      const double size = runs && !scope.inside ? sizes_.of(op) : 0;
      if (!runs || size > left_) {
        DFSIM_RETURN_IF_ERROR(copy(scope, op));
        continue;
      }
      left_ -= size;  // what is inside is counted in it
      DFSIM_RETURN_IF_ERROR(write_out(scope, op, *runs));
    }
    return ok_status();
  }

  Status copy(Scope& scope, const Op& op) {
    Op copied = op;
    copied.name += scope.suffix;
    for (TensorId& input : copied.inputs) {
      input = tensor(scope, input);
    }
    const TensorId known = lists_.element_read(copied);
    if (known.valid()) {
      return pass_on(scope, op.outputs[0], known, copied.name);
    }
    read_elements(&copied);
    for (TensorId& output : copied.outputs) {
      output = tensor(scope, output);
    }
    if (copied.op_type == "TensorListSetItem" && copied.domain == kTensorFlow) {
      // Into a place that is not known: a copy of the element, and whoever reads the list waits.
      copied.op_class =
          builder_.constant(copied.inputs[1]) == nullptr ? OpClass::kDataMovement : op.op_class;
    }
    const std::vector<TensorId> outputs = copied.outputs;
    DFSIM_ASSIGN_OR_RETURN(const OpId id, builder_.add_op(std::move(copied)));
    if (scope.inside && !is_control_flow(op)) {
      infer(id, outputs);
    }
    lists_.record(builder_.op(id));
    return ok_status();
  }

  // Shapes and values of this trip. Where the rule says nothing, those of the body stay.
  void infer(OpId id, const std::vector<TensorId>& outputs) {
    std::vector<std::pair<DType, Shape>> before;
    for (const TensorId output : outputs) {
      before.emplace_back(output.valid() ? builder_.tensor(output).dtype : DType::kUnknown,
                          output.valid() ? builder_.tensor(output).shape : Shape());
    }
    const OpClass op_class = builder_.op(id).op_class;
    const auto reason = infer_op(builder_, id, options_);
    builder_.op(id).op_class = op_class;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (!outputs[i].valid()) {
        continue;
      }
      Tensor& after = builder_.tensor(outputs[i]);
      if (!reason.ok() || !after.shape.is_static()) {
        after.dtype = before[i].first;
        after.shape = before[i].second;
      }
    }
  }

  // Operators that join a list read the elements themselves.
  void read_elements(Op* op) const {
    const bool joins = (op->domain == kTensorFlow && op->op_type == "TensorListStack") ||
                       (op->domain.empty() && op->op_type == "ConcatFromSequence");
    if (joins && !op->inputs.empty()) {
      if (auto elements = lists_.elements(op->inputs[0])) {
        op->inputs = std::move(*elements);
      }
    }
  }

  // The tensor `id` of the scope is `from`.
  Status pass_on(Scope& scope, TensorId id, TensorId from, const std::string& name) {
    if (!id.valid() || !from.valid()) {
      return ok_status();
    }
    const Tensor& wanted = scope.graph->tensor(id);
    const Tensor& found = builder_.tensor(from);
    if (scope.inside || !(wanted.is_output || wanted.shape != found.shape)) {
      scope.ids[id.index()] = from;
      return ok_status();
    }
    Op identity;
    identity.op_type = "Identity";
    identity.name = name + "/result";
    identity.version = kIdentityVersion;
    identity.op_class = OpClass::kView;
    identity.inputs = {from};
    identity.outputs = {tensor(scope, id)};
    return builder_.add_op(std::move(identity)).status();
  }

  TensorId number(int64_t value, DType dtype, const std::string& name) {
    Tensor tensor;
    tensor.name = name;
    tensor.dtype = dtype;
    tensor.role = TensorRole::kConstant;
    tensor.shape = Shape::scalar();
    const TensorId id = builder_.add_tensor(std::move(tensor));
    builder_.set_constant(id, ConstValue{dtype, {}, {value}, {}});
    return id;
  }

  // Runs the body with these as its first inputs; returns its outputs.
  StatusOr<std::vector<TensorId>> run_body(Scope& outer, const Op& op, const Graph& body,
                                           const std::vector<TensorId>& formals, int64_t trip) {
    const std::string trip_suffix = op.op_type == "If" ? "" : fmt::format("#{}", trip);
    Scope inner = open(body, outer.suffix + trip_suffix, true);
    const auto& captures = body.info().captures;
    const size_t formal_count = body.inputs().size() - captures.size();
    for (size_t i = 0; i < std::min(formals.size(), formal_count); ++i) {
      inner.ids[body.inputs()[i].index()] = formals[i];
    }
    std::unordered_map<std::string_view, TensorId> around;
    for (size_t i = op.inputs.size() - op.capture_count; i < op.inputs.size(); ++i) {
      around.emplace(outer.graph->tensor(op.inputs[i]).name, op.inputs[i]);
    }
    for (size_t i = 0; i < captures.size(); ++i) {
      if (const auto it = around.find(captures[i]); it != around.end()) {
        inner.ids[body.inputs()[formal_count + i].index()] = tensor(outer, it->second);
      }
    }
    DFSIM_RETURN_IF_ERROR(add_ops(inner));
    std::vector<TensorId> results;
    for (const TensorId output : body.outputs()) {
      results.push_back(tensor(inner, output));
    }
    return results;
  }

  Status write_out(Scope& scope, const Op& op, const Runs& runs) {
    const Graph& body = **subgraph(op.attributes, runs.body);
    if (op.op_type == "If") {
      DFSIM_ASSIGN_OR_RETURN(const auto results, run_body(scope, op, body, {}, 0));
      for (size_t i = 0; i < std::min(results.size(), op.outputs.size()); ++i) {
        DFSIM_RETURN_IF_ERROR(pass_on(scope, op.outputs[i], results[i], op.name));
      }
      return ok_status();
    }
    return write_out_loop(scope, op, body, runs.trips);
  }

  // The first result of Loop's body is the condition; states follow; the others are stacked.
  Status write_out_loop(Scope& scope, const Op& op, const Graph& body, int64_t trips) {
    const size_t operands = op.inputs.size() - op.capture_count;
    const size_t ignored = op.op_type == "Loop" ? 1 : 0;
    const size_t first = op.op_type == "Loop" ? 2 : 0;
    size_t end = op.op_type == "Loop" ? operands : 0;
    if (op.op_type == "Scan") {
      const auto scanned = static_cast<size_t>(op.attributes.int_or("num_scan_inputs", 0));
      end = operands - std::min(operands, scanned);
    }
    std::vector<TensorId> states;
    for (size_t i = first; i < end; ++i) {
      states.push_back(tensor(scope, op.inputs[i]));
    }
    const size_t state_count = states.size();
    const size_t stacked = op.outputs.size() - std::min(op.outputs.size(), state_count);
    std::vector<std::vector<TensorId>> rows(stacked);
    for (int64_t trip = 0; trip < trips; ++trip) {
      DFSIM_ASSIGN_OR_RETURN(std::vector<TensorId> formals, formals_of(scope, op, trip, trips));
      formals.insert(op.op_type == "Scan" ? formals.begin() : formals.end(), states.begin(),
                     states.end());
      DFSIM_ASSIGN_OR_RETURN(const auto results, run_body(scope, op, body, formals, trip));
      for (size_t i = 0; i < states.size() && ignored + i < results.size(); ++i) {
        states[i] = results[ignored + i];
      }
      for (size_t i = 0; i < stacked; ++i) {
        const size_t from = ignored + state_count + i;
        if (from < results.size()) {
          rows[i].push_back(results[from]);
        }
      }
    }
    for (size_t i = 0; i < std::min(op.outputs.size(), states.size()); ++i) {
      DFSIM_RETURN_IF_ERROR(pass_on(scope, op.outputs[i], states[i], op.name));
    }
    for (size_t i = 0; i < stacked; ++i) {
      DFSIM_RETURN_IF_ERROR(join(scope, op, state_count + i, i, std::move(rows[i])));
    }
    return ok_status();
  }

  // Values that the trip's body reads besides states.
  StatusOr<std::vector<TensorId>> formals_of(Scope& scope, const Op& op, int64_t trip,
                                             int64_t trips) {
    const std::string name = fmt::format("{}{}#{}", op.name, scope.suffix, trip);
    if (op.op_type == "Loop") {
      return std::vector{number(trip, DType::kInt64, name + "/trip"),
                         number(1, DType::kBool, name + "/go_on")};
    }
    const size_t operands = op.inputs.size() - op.capture_count;
    const auto scanned = op.op_type == "Scan"
                             ? static_cast<size_t>(op.attributes.int_or("num_scan_inputs", 0))
                             : operands;
    std::vector<TensorId> formals;
    for (size_t i = operands - std::min(operands, scanned); i < operands; ++i) {
      const size_t index = i + scanned - operands;
      const TensorId source = tensor(scope, op.inputs[i]);
      if (!source.valid() ||
          (op.op_type == "SequenceMap" && !builder_.tensor(source).is_sequence)) {
        formals.push_back(source);
        continue;
      }
      const auto* directions = op.attributes.get_ints("scan_input_directions");
      const bool backwards =
          directions != nullptr && index < directions->size() && (*directions)[index] != 0;
      DFSIM_ASSIGN_OR_RETURN(const TensorId part,
                             slice(op, source, index, backwards ? trips - 1 - trip : trip, name));
      formals.push_back(part);
    }
    return formals;
  }

  // One element of a list, or of a scanned tensor: along its first axis nothing moves.
  StatusOr<TensorId> slice(const Op& op, TensorId source, size_t index, int64_t position,
                           const std::string& name) {
    const Tensor& whole = builder_.tensor(source);
    Tensor part;
    part.name = fmt::format("{}/{}", name, index);
    part.dtype = whole.dtype;
    part.shape = whole.shape;
    int64_t axis = 0;
    if (!whole.is_sequence && whole.shape.has_rank() && whole.shape.rank() > 0) {
      const auto* axes = op.attributes.get_ints("scan_input_axes");
      axis = axes != nullptr && index < axes->size() ? (*axes)[index] : 0;
      axis += axis < 0 ? whole.shape.rank() : 0;
      Dims dims = whole.shape.dims();
      dims.erase(dims.begin() + std::clamp<int64_t>(axis, 0, whole.shape.rank() - 1));
      part.shape = Shape(std::move(dims));
    }
    Op read;
    read.name = part.name;
    read.op_type = axis == 0 ? "SequenceAt" : "Gather";
    read.version = kIdentityVersion;
    read.op_class = axis == 0 ? OpClass::kView : OpClass::kGather;
    read.inputs = {source, number(position, DType::kInt64, part.name + "/position")};
    const TensorId known = lists_.element_read(read);
    if (known.valid()) {
      return known;
    }
    read.outputs = {builder_.add_tensor(std::move(part))};
    read.attributes.set("axis", axis);
    const TensorId result = read.outputs[0];
    DFSIM_RETURN_IF_ERROR(builder_.add_op(std::move(read)).status());
    return result;
  }

  // Output `output` of the op is what its trips gave, one after the other.
  Status join(Scope& scope, const Op& op, size_t output, size_t index, std::vector<TensorId> rows) {
    const TensorId id = op.outputs[output];
    if (!id.valid()) {
      return ok_status();
    }
    const TensorId result = tensor(scope, id);
    if (op.op_type == "SequenceMap") {
      lists_.record(result, rows);
    }
    if (rows.empty()) {
      builder_.tensor(result).role = TensorRole::kConstant;
      return ok_status();
    }
    Op stack;
    const bool sequence = op.op_type == "SequenceMap";
    stack.op_type = sequence ? "SequenceConstruct" : "ConcatFromSequence";
    stack.name = fmt::format("{}{}/{}", op.name, scope.suffix, index);
    stack.version = kIdentityVersion;
    stack.op_class = sequence ? OpClass::kView : OpClass::kDataMovement;
    stack.inputs = std::move(rows);
    stack.outputs = {result};
    stack.attributes.set("new_axis", int64_t{1});
    const auto* axes = op.attributes.get_ints("scan_output_axes");
    stack.attributes.set("axis", axes != nullptr && index < axes->size() ? (*axes)[index] : 0);
    return builder_.add_op(std::move(stack)).status();
  }

  const Graph& graph_;
  double left_;  // operators that may still be added
  GraphBuilder builder_;
  ListContents lists_;
  ExpandedSizes sizes_;
  InferOptions options_;
  std::unordered_map<const Graph*, std::vector<TensorId>> parameters_;
};

}  // namespace

bool has_control_flow(const Graph& graph) {
  return std::any_of(graph.ops().begin(), graph.ops().end(), is_control_flow);
}

StatusOr<Graph> expand_control_flow(const Graph& graph, size_t most_ops) {
  return Expander(graph, most_ops).run();
}

}  // namespace dfsim::inline graphs
