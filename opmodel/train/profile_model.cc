// Joins profile rows with the operators of the profiled model by name, and fills in what the
// profiler left out: missing operands, shapes, attributes.
#include "opmodel/train/profile_model.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "opmodel/workload.h"

namespace dfsim::inline opmodel {

namespace {

constexpr std::string_view kBytesOnly = "BYTES";

bool shapes_recorded(const TensorList& tensors) {
  return !tensors.empty() && std::none_of(tensors.begin(), tensors.end(),
                                          [](const auto& t) { return t.format == kBytesOnly; });
}

TensorList tensors_of(const std::vector<std::vector<int64_t>>& extents,
                      const std::vector<DType>& dtypes) {
  TensorList tensors;
  for (size_t i = 0; i < extents.size(); ++i) {
    tensors.push_back({dtypes[i], extents[i], ""});
  }
  return tensors;
}

// The recorded operands with a missing tensor where the op leaves one out.
TensorList with_gaps(const TensorList& recorded, const Op& op) {
  const auto present = std::count_if(op.inputs.begin(), op.inputs.end(),
                                     [](TensorId input) { return input.valid(); });
  if (recorded.size() != static_cast<size_t>(present)) {
    return recorded;
  }
  TensorList tensors;
  size_t next = 0;
  for (const TensorId input : op.inputs) {
    tensors.push_back(input.valid() ? recorded[next++] : TensorSpec{DType::kUnknown, {-1}, ""});
  }
  return tensors;
}

void complete(const Graph& graph, OpId id, Profile* profile, ProfileRow* row) {
  const OpDescriptor described = describe_op(graph, id, OpWork{});
  const TensorList inputs = profile->tensors(row->inputs);
  row->inputs = profile->intern(shapes_recorded(inputs)
                                    ? with_gaps(inputs, graph.op(id))
                                    : tensors_of(described.input_extents, described.input_dtypes));
  if (!shapes_recorded(profile->tensors(row->outputs))) {
    row->outputs = profile->intern(tensors_of(described.output_extents, described.output_dtypes));
  }
  if (!described.attributes.empty()) {
    row->attributes = profile->intern(described.attributes);
  }
  row->op_type = profile->intern(described.op_type);
  row->op_class = described.op_class;
}

bool same_type(std::string_view row, std::string_view op) {
  return row == op || row.substr(row.rfind('.') + 1) == op;
}

}  // namespace

size_t complete_from_graph(const Graph& graph, Profile* profile) {
  std::unordered_map<std::string_view, OpId> by_name;
  for (size_t i = 0; i < graph.op_count(); ++i) {
    by_name.emplace(graph.op(OpId(i)).name, OpId(i));
  }
  size_t completed = 0;
  const size_t rows = profile->size();
  for (size_t i = 0; i < rows; ++i) {
    ProfileRow row = profile->row(i);
    const auto it = by_name.find(profile->text(row.name));
    if (it != by_name.end() && !it->first.empty() &&
        same_type(profile->text(row.op_type), graph.op(it->second).op_type)) {
      complete(graph, it->second, profile, &row);
      ++completed;
    }
    profile->add(row);
  }
  // All rows were added again, completed and in their order: the first ones go.
  std::vector<bool> keep(2 * rows, true);
  std::fill(keep.begin(), keep.begin() + static_cast<ptrdiff_t>(rows), false);
  profile->filter(keep);
  return completed;
}

}  // namespace dfsim::inline opmodel
