#include <unordered_map>

#include "graphs/tensorflow/node_context_internal.h"

namespace dfsim::inline graphs {

const TfRule* find_tf_rule(const std::string& type) {
  static const auto kRules = [] {
    std::unordered_map<std::string_view, const TfRule*> rules;
    for (const std::span<const TfRule> family :
         {elementwise_tf_rules(), image_tf_rules(), matmul_tf_rules(), shape_tf_rules(),
          movement_tf_rules(), gather_tf_rules(), reduce_tf_rules(), gradient_tf_rules(),
          optimizer_tf_rules(), list_tf_rules(), layer_tf_rules()}) {
      for (const TfRule& rule : family) {
        rules.emplace(rule.type, &rule);
      }
    }
    return rules;
  }();
  const auto it = kRules.find(type);
  return it != kRules.end() ? it->second : nullptr;
}

}  // namespace dfsim::inline graphs
