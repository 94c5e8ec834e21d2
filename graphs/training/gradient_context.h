// GradientContext: one forward operator as a gradient rule sees it, and the backward operators that
// the rule adds.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graphs/ir/graph_builder.h"

namespace dfsim::inline graphs {

using AttributeList = std::vector<std::pair<std::string, AttrValue>>;

// Where backward operators are added. `saved(t)` is the forward tensor or, where it did not stay in
// memory, a copy that is computed again.
class BackwardGraph {
 public:
  virtual ~BackwardGraph() = default;
  virtual TensorId saved(TensorId forward) = 0;
  virtual GraphBuilder& builder() = 0;
  // Adds an op whose outputs have these shapes; marks its pass. Empty dtypes: that of input 0.
  virtual std::vector<TensorId> add(Op op, const std::vector<Shape>& shapes,
                                    const std::vector<DType>& dtypes) = 0;
};

class GradientContext {
 public:
  GradientContext(const Graph& graph, OpId id, std::vector<TensorId> gradients,
                  std::vector<bool> wanted, BackwardGraph& backward)
      : graph_(graph),
        op_(graph.op(id)),
        id_(id),
        gradients_(std::move(gradients)),
        wanted_(std::move(wanted)),
        results_(op_.inputs.size()),
        backward_(backward) {}

  const Graph& graph() const { return graph_; }
  const Op& op() const { return op_; }
  OpId id() const { return id_; }
  const Attributes& attributes() const { return op_.attributes; }
  size_t input_count() const { return op_.inputs.size(); }
  bool has_input(size_t i) const { return i < op_.inputs.size() && op_.inputs[i].valid(); }
  // Whether somebody asks for the gradient of input i.
  bool wanted(size_t i) const { return i < wanted_.size() && wanted_[i]; }
  const Tensor& input(size_t i) const { return graph_.tensor(op_.inputs[i]); }
  const Tensor& output(size_t o) const { return graph_.tensor(op_.outputs[o]); }
  const Shape& shape(size_t i) const { return input(i).shape; }
  // The gradient of output o, or none.
  TensorId gradient(size_t o = 0) const { return gradients_[o]; }
  // The value of input i or output o for the backward pass.
  TensorId value(size_t i) { return backward_.saved(op_.inputs[i]); }
  TensorId result(size_t o = 0) { return backward_.saved(op_.outputs[o]); }

  void set(size_t i, TensorId gradient) { results_[i] = gradient; }
  const std::vector<TensorId>& results() const { return results_; }

  // ---- operators

  TensorId emit(std::string_view domain, std::string_view type, std::vector<TensorId> inputs,
                Shape shape, AttributeList attributes = {});
  std::vector<TensorId> emit_many(std::string_view domain, std::string_view type,
                                  std::vector<TensorId> inputs, const std::vector<Shape>& shapes,
                                  AttributeList attributes = {},
                                  const std::vector<DType>& dtypes = {});
  // With another dtype than input 0.
  TensorId emit_as(DType dtype, std::string_view domain, std::string_view type,
                   std::vector<TensorId> inputs, Shape shape, AttributeList attributes);
  // Moves nothing.
  TensorId reshape(TensorId x, const Shape& shape);
  // Axes in another order; a view where a product reads it, or where the forward op is one.
  TensorId transpose(TensorId x, const std::vector<int64_t>& perm, bool view);
  // Sums over the axes along which a tensor of `shape` was broadcast.
  TensorId sum_to(TensorId x, const Shape& shape);
  TensorId sum_over(TensorId x, const std::vector<int64_t>& axes, bool keep);
  const Shape& shape_of(TensorId x) { return backward_.builder().tensor(x).shape; }
  TensorId ints(const std::vector<int64_t>& values);
  // A scalar of the gradient's dtype.
  TensorId number(double value);

 private:
  const Graph& graph_;
  const Op& op_;
  OpId id_;
  std::vector<TensorId> gradients_;  // by output
  std::vector<bool> wanted_;         // by input
  std::vector<TensorId> results_;    // by input
  BackwardGraph& backward_;
};

// Adds the backward operators of one forward operator; leaves inputs that have no gradient unset.
using GradientRule = void (*)(GradientContext& context);

// The rule of an operator, never null: `Backward` for those without one of their own.
GradientRule find_gradient_rule(std::string_view domain, std::string_view op_type);

// Whether the rule is `Backward`.
bool is_general(GradientRule rule);

struct GradientEntry {
  std::string_view op_type;
  GradientRule rule;
  std::string_view domain = "";
};

// The families of rules, joined in gradient_context.cc.
std::vector<GradientEntry> product_gradients();
std::vector<GradientEntry> elementwise_gradients();
std::vector<GradientEntry> norm_gradients();
std::vector<GradientEntry> window_gradients();
std::vector<GradientEntry> layout_gradients();
// Any elementwise operator, and any operator at all.
void gradient_of_elementwise(GradientContext& context);
void gradient_by_backward(GradientContext& context);

}  // namespace dfsim::inline graphs
