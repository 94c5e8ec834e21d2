// Collects the families of families.inc into one table sorted by domain and name, and describes
// work rules in words for `dfsim ops`.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "graphs/ops/op_families.h"
#include "graphs/ops/standard_versions.h"

namespace dfsim::inline graphs {
namespace {

using Key = std::pair<std::string_view, std::string_view>;

std::vector<OpFamily> families() {
  return {
#define DFSIM_OP_FAMILY(family) family##_op_defs(),
#include "graphs/ops/op_families.inc"
#undef DFSIM_OP_FAMILY
  };
}

const std::vector<const OpDef*>& sorted_defs() {
  static const std::vector<const OpDef*> kDefs = [] {
    std::vector<const OpDef*> defs;
    for (const OpFamily& family : families()) {
      for (const OpDef& def : family.ops) {
        defs.push_back(&def);
      }
    }
    std::sort(defs.begin(), defs.end(), [](const OpDef* a, const OpDef* b) {
      return Key(a->domain, a->op_type) < Key(b->domain, b->op_type);
    });
    return defs;
  }();
  return kDefs;
}

// Rules of work_context.h, which all families use.
constexpr WorkNote kSharedNotes[] = {
    {work_per_element, "{} per output element"},
    {work_copy, "none; reads as many bytes as it writes"},
    {work_none, "none; moves nothing"},
};

}  // namespace

const OpDef* find_op_def(std::string_view domain, std::string_view op_type) {
  const Key key(domain == "ai.onnx" ? std::string_view() : domain, op_type);
  const auto& defs = sorted_defs();
  const auto it = std::lower_bound(
      defs.begin(), defs.end(), key,
      [](const OpDef* def, const Key& wanted) { return Key(def->domain, def->op_type) < wanted; });
  const bool found = it != defs.end() && Key((*it)->domain, (*it)->op_type) == key;
  return found ? *it : nullptr;
}

std::span<const OpDef* const> all_op_defs() { return sorted_defs(); }

std::string_view standard_versions(std::string_view domain, std::string_view op_type) {
  const Key key(domain == "ai.onnx" ? std::string_view() : domain, op_type);
  const auto ops = standard_ops();
  const auto it = std::lower_bound(
      ops.begin(), ops.end(), key,
      [](const StandardOp& op, const Key& wanted) { return Key(op.domain, op.op_type) < wanted; });
  return it != ops.end() && Key(it->domain, it->op_type) == key ? it->versions : "";
}

std::string describe_work(const OpDef& def) {
  if (def.work == nullptr) {
    return "none; reads its inputs, writes its outputs";
  }
  std::vector<OpFamily> all = families();
  all.push_back({{}, kSharedNotes});
  for (const OpFamily& family : all) {
    for (const WorkNote& note : family.notes) {
      if (note.rule == def.work) {
        return fmt::format(fmt::runtime(note.text), def.flops_per_element);
      }
    }
  }
  return "";
}

}  // namespace dfsim::inline graphs
