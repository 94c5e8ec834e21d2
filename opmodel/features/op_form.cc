// Each class of operators adds words to the name of its form. A word is added only where ONNX
// Runtime or a GPU library has another kernel for it; whatever is a matter of degree (kernel size,
// stride, how far an axis moves) is a feature and not part of the form.
#include "opmodel/features/op_form.h"

#include <algorithm>
#include <functional>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "datasets/profiles/profile.h"
#include "opmodel/features/feature_family.h"
#include "opmodel/features/feature_writer.h"

namespace dfsim::inline opmodel {

namespace {

constexpr std::string_view kVendor = "com.microsoft.";

size_t rank_of(const OpDescriptor& op) {
  return op.input_extents.empty() ? 0 : op.input_extents[0].size();
}

bool has_several_values(const std::vector<size_t>& values) {
  return std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) != values.end();
}

void add_window_words(const OpDescriptor& op, std::string* form) {
  const std::vector<size_t> kernel = index_list(op, "kernel_shape");
  const std::vector<size_t> dilations = index_list(op, "dilations");
  if (kernel.size() == 1 || kernel.size() == 3) {
    *form += kernel.size() == 1 ? " 1d" : " 3d";
  }
  if (has_several_values(kernel)) {
    *form += " strip";
  }
  if (std::any_of(dilations.begin(), dilations.end(), [](size_t d) { return d > 1; })) {
    *form += " dilated";
  }
}

void add_conv_words(const OpDescriptor& op, const OpGeometry& geometry, std::string* form) {
  *form += " " + geometry.kind;
  add_window_words(op, form);
  if (op.op_type.find("QLinear") == std::string::npos && op.input_extents.size() > 3) {
    *form += " sum";
  }
  if (has_costly_activation(op)) {
    *form += " " + std::string(attribute_value(op.attributes, "activation"));
  }
}

void add_product_words(const OpDescriptor& op, const OpGeometry& geometry, std::string* form) {
  *form += " " + geometry.kind;
  for (const std::string_view name : {"transA", "transB", "transBatchA", "transBatchB"}) {
    const std::string_view value = attribute_value(op.attributes, name);
    if (!value.empty() && value != "0") {
      *form += " " + std::string(name);
    }
  }
}

// Axes of extent 1 do not matter: an axis that only those follow is the last one.
bool is_last(const OpDescriptor& op, size_t axis) {
  const std::vector<int64_t>& extents = op.input_extents[0];
  return axis < extents.size() &&
         std::all_of(extents.begin() + static_cast<ptrdiff_t>(axis) + 1, extents.end(),
                     [](int64_t extent) { return extent == 1; });
}

void add_axis_words(const OpDescriptor& op, std::string* form) {
  const std::vector<size_t> axis = index_list(op, "axis");
  if (axis.size() == 1 && axis[0] < rank_of(op)) {
    *form += is_last(op, axis[0]) ? " last axis" : " inner axis";
  }
}

void add_reduction_words(const OpDescriptor& op, std::string* form) {
  std::vector<size_t> axes = index_list(op, "axes");
  if (axes.empty()) {
    return;
  }
  std::sort(axes.begin(), axes.end());
  const bool together = axes.back() - axes.front() + 1 == axes.size();
  *form += !together                    ? " scattered axes"
           : axes.size() == rank_of(op) ? " all axes"
           : is_last(op, axes.back())   ? " last axes"
                                        : " inner axes";
}

void add_words_of_attributes(const OpDescriptor& op, std::string* form) {
  for (const std::string_view name : {"mode", "coordinates"}) {
    const std::string_view value = attribute_value(op.attributes, name);
    if (!value.empty()) {
      *form += " " + std::string(value);
    }
  }
  if (!attribute_value(op.attributes, "antialias").empty()) {
    *form += " antialias";
  }
}

// Images go without saying.
void add_resampled_axes(const OpDescriptor& op, std::string* form) {
  const bool resamples = op.op_type == "Resize" || op.op_type == "Upsample";
  if (resamples && (rank_of(op) == 3 || rank_of(op) == 5)) {
    *form += rank_of(op) == 3 ? " 1d" : " 3d";
  }
}

// float32 goes without saying.
void add_dtype_words(const OpDescriptor& op, std::string* form) {
  const DType in = op.input_dtypes.empty() ? op.dtype : op.input_dtypes[0];
  const DType out = op.output_dtypes.empty() ? in : op.output_dtypes[0];
  if (in != DType::kFloat32 || out != in) {
    *form += " " + std::string(dtype_name(in));
    if (out != in) {
      *form += " to " + std::string(dtype_name(out));
    }
  }
}

}  // namespace

bool alike_on_gpus(std::string_view a, std::string_view b) {
  // The first word is the operator's name.
  const auto without_layout = [](std::string_view form) {
    std::vector<std::string> words = split(form, ' ');
    words.erase(words.begin());
    std::erase_if(words, [](const std::string& word) { return word.starts_with("trans"); });
    return words;
  };
  return without_layout(a) == without_layout(b);
}

std::string op_form(const OpDescriptor& op, const OpGeometry& geometry) {
  std::string form =
      op.op_type.starts_with(kVendor) ? op.op_type.substr(kVendor.size()) : op.op_type;
  switch (op.op_class) {
    case OpClass::kConv:
      add_conv_words(op, geometry, &form);
      break;
    case OpClass::kMatMul:
      add_product_words(op, geometry, &form);
      break;
    case OpClass::kReduce:
      add_reduction_words(op, &form);
      break;
    case OpClass::kPool:
      add_window_words(op, &form);
      break;
    case OpClass::kElementwise:
      form += geometry.kind.ends_with("-broadcast") ? " broadcast" : "";
      for (const std::string_view name : {"scaled", "approximate"}) {  // of Gelus
        form += attribute_value(op.attributes, name).empty() ? "" : " " + std::string(name);
      }
      break;
    case OpClass::kSoftmax:
      add_axis_words(op, &form);
      form += geometry.kind.ends_with("-across") ? " across others" : "";
      break;
    default:
      add_axis_words(op, &form);
      add_resampled_axes(op, &form);
      add_words_of_attributes(op, &form);
  }
  add_dtype_words(op, &form);
  return form;
}

}  // namespace dfsim::inline opmodel
