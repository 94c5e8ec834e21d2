// Models with loops, for tests.
#pragma once

#include <string>
#include <vector>

#include "tests/onnx/model_maker.h"

namespace dfsim {

// Adds a loop of `trips` over `state`. The body has the inputs NAME_i and NAME_go and returns
// NAME_go.
inline GraphMaker add_loop(GraphMaker* model, int64_t trips, const std::string& state,
                           const std::vector<std::string>& outputs,
                           const std::string& name = "steps") {
  auto* count = model->weight(name + "_n", {});
  count->set_data_type(onnx::TensorProto::INT64);
  count->add_int64_data(trips);
  auto* node = model->node("Loop", {name + "_n", "", state}, outputs, name);
  GraphMaker body(set_graph(node, "body"));
  body.input(name + "_i", {}, onnx::TensorProto::INT64);
  body.input(name + "_go", {}, onnx::TensorProto::BOOL);
  body.output(name + "_go");
  return body;
}

// A loop of three trips fills a list with results of [2, 4]; they are joined to "all".
inline void add_filled_list(ModelMaker* model) {
  model->input("x", {2, 4});
  model->node("SequenceEmpty", {}, {"none"});
  GraphMaker body = add_loop(model, 3, "none", {"list"});
  auto* formal = body.proto().add_input();
  formal->set_name("before");
  formal->mutable_type()->mutable_sequence_type()->mutable_elem_type()->mutable_tensor_type();
  body.node("Relu", {"x"}, {"part"});
  body.node("SequenceInsert", {"before", "part"}, {"after"});
  body.output("after");
  set_int(model->node("ConcatFromSequence", {"list"}, {"all"}), "axis", 0);
  model->output("all");
}

}  // namespace dfsim
