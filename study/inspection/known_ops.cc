// Looks operators up in the tables of graphs/ops.
#include "study/inspection/known_ops.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "base/text.h"
#include "graphs/ir/op_class.h"
#include "graphs/ops/op_def.h"
#include "graphs/ops/standard_versions.h"

namespace dfsim::inline study {

namespace {

// The importer turns these into constant tensors, so that no operator is left.
constexpr OpDef kConstantNode = {"Constant", OpClass::kConstant, nullptr, work_none};

std::vector<const OpDef*> all_sorted_ops() {
  std::vector<const OpDef*> ops(all_op_defs().begin(), all_op_defs().end());
  ops.push_back(&kConstantNode);
  std::sort(ops.begin(), ops.end(), [](const OpDef* a, const OpDef* b) {
    return std::pair(a->domain, a->op_type) < std::pair(b->domain, b->op_type);
  });
  return ops;
}

// Those of the given names in any domain, case ignored; all without names.
StatusOr<std::vector<const OpDef*>> wanted_ops(const std::vector<std::string>& names) {
  const std::vector<const OpDef*> all = all_sorted_ops();
  if (names.empty()) {
    return all;
  }
  std::vector<const OpDef*> wanted;
  for (const std::string& name : names) {
    const size_t before = wanted.size();
    std::copy_if(all.begin(), all.end(), std::back_inserter(wanted),
                 [&](const OpDef* def) { return to_lower(def->op_type) == to_lower(name); });
    if (wanted.size() == before) {
      std::set<std::string> valid;  // some names exist in several domains
      for (const OpDef* def : all) {
        valid.emplace(def->op_type);
      }
      return not_found(
          unknown_name_message("operator", name, std::vector(valid.begin(), valid.end())));
    }
  }
  return wanted;
}

KnownOp describe_op(const OpDef& def) {
  KnownOp op;
  op.domain = def.domain.empty() ? "ai.onnx" : std::string(def.domain);
  op.op_type = std::string(def.op_type);
  op.op_class = std::string(op_class_name(def.op_class));
  op.work = describe_work(def);
  op.opsets_as_text = std::string(standard_versions(def.domain, def.op_type));
  for (const std::string& version : split(op.opsets_as_text, ',')) {
    if (!version.empty()) {
      op.opsets.push_back(std::stoi(version));
    }
  }
  return op;
}

}  // namespace

StatusOr<std::vector<KnownOp>> known_ops(const std::vector<std::string>& names) {
  DFSIM_ASSIGN_OR_RETURN(const std::vector<const OpDef*> wanted, wanted_ops(names));
  std::vector<KnownOp> ops;
  for (const OpDef* def : wanted) {
    ops.push_back(describe_op(*def));
  }
  return ops;
}

}  // namespace dfsim::inline study
