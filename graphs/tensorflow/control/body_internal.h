// SubgraphMaker: the body of a loop or a branch, translated into a graph of its own. Internal to
// graphs/tensorflow.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "graphs/ir/graph_builder.h"
#include "graphs/tensorflow/emitter_internal.h"

namespace dfsim::inline graphs {

class SubgraphMaker {
 public:
  // `outer` must outlive the maker. `options` are those of `outer`, told to report nothing: what
  // the body leaves open is reported when its operator is inferred.
  SubgraphMaker(Emitter& outer, const InferOptions& options)
      : outer_(outer), options_(quiet(options)), emitter_(&builder_, options_, nullptr) {}

  Emitter& emitter() { return emitter_; }
  // An input that the operator feeds anew: of that type and shape.
  TensorId add_formal(const std::string& name, DType dtype, const Shape& shape);
  // The same for a value of the outer graph: a tensor or a list.
  ValueId add_formal(ValueId outer);
  // A value of the outer graph that the body reads. Capture before anything else is translated:
  // names join captures.
  ValueId capture(ValueId outer);
  void mark_output(TensorId tensor);

  // Ends the body. The captured tensors of the outer graph, in order, are appended to `inputs`
  // (each once).
  StatusOr<std::shared_ptr<const Graph>> finish(std::vector<TensorId>* inputs);

 private:
  static InferOptions quiet(InferOptions options) {
    options.open_loops = nullptr;
    options.open_ifs = nullptr;
    options.on_unresolved_in_body = {};
    return options;
  }

  Emitter& outer_;
  InferOptions options_;
  GraphBuilder builder_;
  Emitter emitter_;
  std::vector<TensorId> captured_;         // outer tensors
  std::vector<TensorId> captured_inside_;  // the same in here
};

}  // namespace dfsim::inline graphs
