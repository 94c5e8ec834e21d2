#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "graphs/ops/families/extensions/contrib_ops.h"
#include "graphs/ops/families/extensions/gradient_ops.h"
#include "graphs/ops/families/extensions/runtime_ops.h"
#include "graphs/ops/families/extensions/tensorflow_ops.h"
#include "graphs/ops/op_def.h"
#include "graphs/ops/standard_versions.h"

namespace dfsim::inline graphs {
namespace {

using Key = std::pair<std::string_view, std::string_view>;

// Its braces end in a comma, so that every family has a line of its own.
std::vector<OpFamily> families() {
  return {
      conv_op_defs(),
      matmul_op_defs(),
      norm_op_defs(),
      elementwise_op_defs(),
      reduce_op_defs(),
      pool_op_defs(),
      movement_op_defs(),
      view_op_defs(),
      gather_op_defs(),
      rnn_op_defs(),
      constant_op_defs(),
      quantize_op_defs(),
      selection_op_defs(),
      attention_op_defs(),
      control_flow_op_defs(),
      loop_op_defs(),
      sequence_op_defs(),
      vision_op_defs(),
      signal_op_defs(),
      training_op_defs(),
      text_op_defs(),
      ml_op_defs(),
      experimental_op_defs(),
      contrib_op_defs(),
      contrib_attention_op_defs(),
      contrib_quantize_op_defs(),
      contrib_layout_op_defs(),
      contrib_decoder_op_defs(),
      collective_op_defs(),
      gradient_op_defs(),
      runtime_op_defs(),
      tensorflow_op_defs(),
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
