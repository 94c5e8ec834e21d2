// Inference of subgraphs: feeds what flows into them, runs the usual inference on the body, and
// adopts its results. A body is inferred again whenever the operator is, since the shapes that
// reach it may have become known in the meantime.
#include "graphs/ops/families/layout/subgraph.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "base/text.h"

namespace dfsim::inline graphs {
namespace {

void feed(GraphBuilder& body, TensorId id, const Formal& formal) {
  Tensor& tensor = body.tensor(id);
  tensor.dtype = formal.dtype != DType::kUnknown ? formal.dtype : tensor.dtype;
  if (formal.shape.has_rank()) {
    tensor.shape = formal.shape;
  }
  if (formal.is_sequence) {
    tensor.is_sequence = true;
    tensor.sequence_length = formal.sequence_length;
  }
  tensor.data_dependent = formal.data_dependent;
  if (formal.elements != nullptr) {
    body.set_elements(id, *formal.elements);
  }
  if (formal.value != nullptr) {
    body.set_constant(id, *formal.value);
  }
}

// Captured tensors are the last inputs of the op and of the subgraph; names join them.
void feed_captures(const InferContext& context, GraphBuilder& body) {
  const Op& op = context.op();
  std::unordered_map<std::string_view, size_t> outer;
  for (size_t i = op.inputs.size() - op.capture_count; i < op.inputs.size(); ++i) {
    outer.emplace(context.input_tensor(i).name, i);
  }
  const auto& captures = body.info().captures;
  const size_t first = body.inputs().size() - captures.size();
  for (size_t i = 0; i < captures.size(); ++i) {
    const auto it = outer.find(captures[i]);
    if (it != outer.end()) {
      const TensorId inner = body.inputs()[first + i];
      feed(body, inner, formal_of(context, it->second));
      body.tensor(inner).role = context.input_tensor(it->second).role;
    }
  }
}

}  // namespace

const GraphPtr* subgraph(const Attributes& attributes, std::string_view name) {
  const AttrValue* value = attributes.find(name);
  return value != nullptr ? std::get_if<GraphPtr>(value) : nullptr;
}

Formal formal_of(const InferContext& context, size_t input) {
  Formal formal = {context.dtype(input), context.shape(input), context.value(input)};
  if (context.has_input(input)) {
    const Tensor& tensor = context.input_tensor(input);
    formal.is_sequence = tensor.is_sequence;
    formal.sequence_length = tensor.sequence_length;
    formal.data_dependent = tensor.data_dependent;
    formal.elements = context.elements(input);
  }
  return formal;
}

StatusOr<InferredBody> try_body(const InferContext& context, std::string_view name,
                                const std::vector<Formal>& formals) {
  const GraphPtr* graph = subgraph(context.attributes(), name);
  if (graph == nullptr) {
    return context.error(fmt::format("has no subgraph '{}'", name));
  }
  GraphBuilder body(**graph);
  const size_t formal_count = body.inputs().size() - body.info().captures.size();
  for (size_t i = 0; i < std::min(formals.size(), formal_count); ++i) {
    feed(body, body.inputs()[i], formals[i]);
  }
  feed_captures(context, body);
  InferOptions options = context.options();
  options.retried_levels = std::max(0, options.retried_levels - 1);
  InferredBody result;
  options.open_loops = &result.open_loops;
  options.open_ifs = &result.open_ifs;
  options.on_unresolved_in_body = [&](const Op& outer, const Op& op, const std::string& reason) {
    result.unresolved.push_back({outer, op, reason});
  };
  const auto unresolved = infer_shapes(body, options);
  if (!unresolved.ok()) {
    return unresolved.status().with_place(
        fmt::format("{} of {} '{}'", name, context.op().op_type, printable(context.op().name)));
  }
  for (const UnresolvedOp& op : *unresolved) {
    result.unresolved.push_back({context.op(), body.op(op.op), op.reason});
  }
  for (const TensorId output : body.outputs()) {
    result.output_elements.push_back(body.elements(output));
  }
  DFSIM_ASSIGN_OR_RETURN(Graph built, body.build());
  result.graph = std::make_shared<const Graph>(std::move(built));
  return result;
}

void adopt(InferContext& context, std::string_view name, const InferredBody& body) {
  const InferOptions& options = context.options();
  if (options.on_unresolved_in_body) {
    for (const auto& [outer, op, reason] : body.unresolved) {
      options.on_unresolved_in_body(outer, op, reason);
    }
  }
  const auto append = [](const auto& found, auto* all) {
    if (all != nullptr) {
      all->insert(all->end(), found.begin(), found.end());
    }
  };
  append(body.open_loops, options.open_loops);
  append(body.open_ifs, options.open_ifs);
  context.set_attribute(std::string(name), body.graph);
}

StatusOr<InferredBody> infer_body(InferContext& context, std::string_view name,
                                  const std::vector<Formal>& formals) {
  auto body = try_body(context, name, formals);
  if (body.ok()) {
    adopt(context, name, *body);
  }
  return body;
}

void set_from_body(InferContext& context, const InferredBody& body, size_t from, size_t to) {
  const Tensor* tensor = body.output(from);
  if (tensor == nullptr) {
    return;
  }
  if (body.output_elements[from] != nullptr && !body.output_elements[from]->empty()) {
    context.set_list(to, *body.output_elements[from]);
    return;
  }
  if (tensor->is_sequence) {
    context.set_sequence(to, tensor->dtype, tensor->shape, tensor->sequence_length);
    return;
  }
  context.set_output(to, tensor->dtype, tensor->shape);
  if (const ConstValue* value = body.value(from)) {
    context.set_value(to, *value);
  }
}

StatusOr<BodyWork> body_work(const Graph& body) {
  BodyWork sum;
  int64_t largest = -1;
  for (size_t i = 0; i < body.op_count(); ++i) {
    const Op& op = body.op(OpId(i));
    const bool known = std::all_of(op.outputs.begin(), op.outputs.end(), [&](TensorId id) {
      return !id.valid() || body.constant(id) != nullptr;
    });
    if (known) {
      continue;
    }
    DFSIM_ASSIGN_OR_RETURN(const OpWork work, op_work(body, OpId(i)));
    sum.macs += Count(work.macs);
    sum.flops += Count(work.flops);
    sum.bytes_read += Count(work.bytes_read);
    sum.bytes_written += Count(work.bytes_written);
    sum.weight_bytes += Count(work.weight_bytes);
    if (work.flops > largest) {
      largest = work.flops;
      sum.dtype = work.dtype;
      sum.matrix = work.matrix;
    }
  }
  return sum;
}

void set_body_work(WorkContext& context, const GraphPtr* body, int64_t runs) {
  if (body == nullptr) {
    return;
  }
  const auto work = body_work(**body);
  if (!work.ok()) {
    context.set_error(work.status());
    return;
  }
  context.set_body(*work, runs);
}

void work_loop(WorkContext& context) {
  const Attributes& attributes = context.op().attributes;
  set_body_work(context, subgraph(attributes, "body"), attributes.int_or(kTripsAttribute, 1));
}

}  // namespace dfsim::inline graphs
