#include <unordered_map>

#include "graphs/tensorflow/node_context_internal.h"

namespace dfsim::inline graphs {

const TfRule* find_tf_rule(const std::string& type) {
  static const auto kRules = [] {
    std::unordered_map<std::string_view, const TfRule*> rules;
    for (const std::span<const TfRule> family : {
#define DFSIM_TF_RULES(name) name##_tf_rules(),
#include "graphs/tensorflow/rules/rule_tables.inc"
#undef DFSIM_TF_RULES
         }) {
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
