// Rewrites small idioms that differ between tf2onnx's files and TensorFlow's own into one form,
// so that both predict the same time.
#include "graphs/passes/cleanup/tensorflow_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "graphs/ops/families/extensions/tensorflow_ops.h"
#include "graphs/passes/passes.h"

namespace dfsim::inline graphs {
namespace {

constexpr int kMostRounds = 10;

// One known row of a tensor is where it is.
void find_elements(EditableGraph& graph) {
  for (const OpId id : graph.ops()) {
    const Op& gather = graph.op(id);
    if (gather.op_type != "Gather" || !gather.domain.empty() || gather.inputs.size() != 2 ||
        graph.is_parameter(gather.inputs[0]) || graph.constant(gather.inputs[1]) == nullptr ||
        graph.shape(gather.inputs[1]).rank() != 0) {
      continue;
    }
    const Shape& source = graph.shape(gather.inputs[0]);
    const int64_t given = gather.attributes.int_or("axis", 0);
    const int64_t axis = given < 0 ? given + source.rank() : given;
    bool contiguous = source.is_static();
    for (int i = 0; contiguous && i < std::min<int64_t>(axis, source.rank()); ++i) {
      contiguous = source[i].extent() == 1;
    }
    if (contiguous) {
      graph.set_class(id, OpClass::kView);
    }
  }
}

// A Slice names only the axes of which it leaves something out.
void narrow_slices(EditableGraph& graph) {
  for (const OpId id : graph.ops()) {
    const Op& slice = graph.op(id);
    if (slice.op_type != "Slice" || !slice.domain.empty() || slice.inputs.size() != 4) {
      continue;
    }
    const Shape& source = graph.shape(slice.inputs[0]);
    const Shape& result = graph.shape(slice.outputs[0]);
    std::array<std::vector<int64_t>, 3> kept;  // starts, ends, axes
    const std::array given = {graph.ints(slice.inputs[1]), graph.ints(slice.inputs[2]),
                              graph.ints(slice.inputs[3])};
    if (!source.is_static() || !result.is_static() || !given[0] || !given[1] || !given[2] ||
        given[0]->size() != given[2]->size() || given[1]->size() != given[2]->size()) {
      continue;
    }
    for (size_t i = 0; i < given[2]->size(); ++i) {
      const int64_t axis = (*given[2])[i] + ((*given[2])[i] < 0 ? source.rank() : 0);
      if (source[static_cast<int>(axis)] != result[static_cast<int>(axis)]) {
        for (size_t part = 0; part < kept.size(); ++part) {
          kept[part].push_back((*given[part])[i]);
        }
      }
    }
    if (kept[2].empty() || kept[2].size() == given[2]->size()) {
      continue;  // all of it, which is not an operator at all, or nothing to leave out
    }
    const std::string name = slice.name;
    for (size_t part = 0; part < kept.size(); ++part) {
      graph.set_input(id, part + 1, graph.add_ints(fmt::format("{}/{}", name, part), kept[part]));
    }
  }
}

std::optional<int64_t> concat_axis(const EditableGraph& graph, const Op& op) {
  if (op.op_type != "Concat" || !op.domain.empty() || op.outputs.size() != 1) {
    return std::nullopt;
  }
  const int64_t axis = op.attributes.int_or("axis", 0);
  return axis < 0 ? axis + graph.shape(op.outputs[0]).rank() : axis;
}

// A Concat that only another one along the same axis reads copies everything twice.
void join_concats(EditableGraph& graph) {
  for (const OpId id : graph.ops()) {
    const std::optional<int64_t> axis =
        graph.alive(id) ? concat_axis(graph, graph.op(id)) : std::nullopt;
    if (!axis) {
      continue;
    }
    Op joined = graph.op(id);
    std::vector<OpId> replaced = {id};
    joined.inputs.clear();
    for (const TensorId input : graph.op(id).inputs) {
      const OpId inner = graph.producer(input);
      if (inner.valid() && graph.sole_reader(input) == id &&
          concat_axis(graph, graph.op(inner)) == axis) {
        const Op& first = graph.op(inner);
        joined.inputs.insert(joined.inputs.end(), first.inputs.begin(), first.inputs.end());
        replaced.push_back(inner);
      } else {
        joined.inputs.push_back(input);
      }
    }
    if (replaced.size() > 1) {
      graph.fuse(replaced, std::move(joined));
    }
  }
}

}  // namespace

bool comes_from_tensorflow(const Graph& graph) {
  const std::string& producer = graph.info().producer;
  const auto& metadata = graph.info().metadata;
  const bool training = std::any_of(metadata.begin(), metadata.end(),
                                    [](const auto& entry) { return entry.first == kTrainingKey; });
  return !training && (producer.starts_with("tensorflow") || producer.starts_with("tf2onnx"));
}

StatusOr<Graph> tensorflow_form(const Graph& graph) {
  EditableGraph edited(graph);
  uint64_t edits = edited.edits() + 1;
  for (int round = 0; round < kMostRounds && edits != edited.edits(); ++round) {
    edits = edited.edits();
    remove_no_ops(edited);
    share_common_subexpressions(edited);
    fold_pads(edited);
    fold_into_conv(edited);
    fuse_dense_bias(edited);
    narrow_slices(edited);
    move_transposes(edited);
    find_elements(edited);
    join_concats(edited);
  }
  return edited.finish_by_height();
}

}  // namespace dfsim::inline graphs
