#include "datasets/events/json_text.h"
#include "datasets/importers/tensor_lists.h"
#include "datasets/importers/torch/torch_ops.h"

namespace dfsim::inline datasets {

std::vector<TorchArgument> parse_torch_arguments(std::string_view dims_json,
                                                 std::string_view types_json,
                                                 std::string_view strides_json,
                                                 std::string_view values_json) {
  const auto dims = split_json_array(dims_json);
  const auto types = split_json_array(types_json);
  const auto strides = split_json_array(strides_json);
  const auto values = split_json_array(values_json);
  std::vector<TorchArgument> arguments;
  for (size_t i = 0; i < dims.size(); ++i) {
    TorchArgument argument;
    const DType dtype = i < types.size() ? torch_dtype(unquote_json(types[i])) : DType::kUnknown;
    if (i < values.size()) {
      argument.text = std::string(unquote_json(values[i]));
    }
    if (dims[i].find("[[") == 0 ||
        (dims[i].size() > 2 && dims[i].find('[', 1) != std::string::npos)) {
      for (const std::string_view item : split_json_array(dims[i])) {
        TorchArgument member;
        member.is_tensor = parse_json_extents(item, &member.tensor.extents);
        arguments.push_back(std::move(member));
      }
      continue;
    }
    std::vector<int64_t> extents;
    // A number has dims [] as a scalar tensor does, but no element type of a tensor.
    if (parse_json_extents(dims[i], &extents) && (!extents.empty() || dtype != DType::kUnknown)) {
      argument.is_tensor = true;
      argument.tensor.dtype = dtype;
      argument.tensor.extents = std::move(extents);
      if (i < strides.size() && !parse_json_extents(strides[i], &argument.strides)) {
        argument.strides.clear();
      }
    }
    arguments.push_back(std::move(argument));
  }
  return arguments;
}

}  // namespace dfsim::inline datasets
