// What every model that an importer lets through must keep, whatever its bytes were.
#pragma once

#include <cstdlib>

#include "graphs/ir/import.h"
#include "graphs/ops/totals.h"
#include "graphs/passes/cleanup/expand.h"
#include "graphs/passes/cleanup/prune.h"
#include "graphs/passes/cleanup/tensorflow_form.h"
#include "graphs/passes/pipeline.h"
#include "opmodel/workload.h"

namespace dfsim {

inline void expect(bool promise) {
  if (!promise) {
    std::abort();
  }
}

// Promises of graph.h that a graph from outside must keep, too.
inline void check_graph(const Graph& graph) {
  for (size_t i = 0; i < graph.op_count(); ++i) {
    for (const TensorId input : graph.op(OpId(i)).inputs) {
      const OpId producer = input.valid() ? graph.tensor(input).producer : OpId();
      expect(!producer.valid() || producer.index() < i);
    }
  }
  for (const Tensor& tensor : graph.tensors()) {
    expect(!tensor.name.empty());
    expect(tensor.shape.rank() <= kMaxRank);
  }
}

// An error is one line; a model goes through all that reads it before the simulator.
inline void check_model(const StatusOr<ImportedModel>& model) {
  if (!model.ok()) {
    expect(!model.status().message().empty());
    expect(model.status().message().find('\n') == std::string::npos);
    return;
  }
  check_graph(model->graph);
  if (!graph_totals(model->graph).ok()) {
    return;
  }
  constexpr size_t kMostExpanded = 500;  // a quick look: loops are all alike
  const auto expanded = expand_control_flow(model->graph, kMostExpanded);
  expect(expanded.ok());
  check_graph(*expanded);
  const auto pruned = prune(*expanded);
  expect(pruned.ok());
  check_graph(pruned->graph);
  const auto formed = tensorflow_form(pruned->graph);
  expect(formed.ok());
  check_graph(*formed);
  std::vector<std::string> passes;
  for (const Pass& pass : all_passes()) {
    passes.emplace_back(pass.name);
  }
  const auto rewritten = run_passes(pruned->graph, {passes});
  expect(rewritten.ok());
  check_graph(rewritten->graph);
  const auto workload = make_workload(rewritten->graph);
  expect(workload.ok() || !workload.status().message().empty());
}

}  // namespace dfsim
