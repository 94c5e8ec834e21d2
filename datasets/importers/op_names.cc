#include "datasets/importers/op_names.h"

#include "graphs/ops/op_def.h"

namespace dfsim::inline datasets {

OpClass onnx_op_class(std::string_view op_type) {
  for (const std::string_view domain : {"", "com.microsoft"}) {
    if (const OpDef* const def = find_op_def(domain, op_type)) {
      return def->op_class;
    }
  }
  return OpClass::kOpaque;
}

}  // namespace dfsim::inline datasets
