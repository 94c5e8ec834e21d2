#include "graphs/passes/origins.h"

namespace dfsim::inline graphs {
namespace {

const std::vector<std::string>* strings(const Op& op, std::string_view name) {
  const AttrValue* value = op.attributes.find(name);
  return value != nullptr ? std::get_if<std::vector<std::string>>(value) : nullptr;
}

}  // namespace

bool has_origins(const Op& op) {
  const auto* types = strings(op, kOriginTypes);
  const auto* names = strings(op, kOriginNames);
  return types != nullptr && names != nullptr && !types->empty() && types->size() == names->size();
}

std::vector<OpOrigin> origins_of(const Op& op) {
  if (!has_origins(op)) {
    return {{op.op_type, op.name}};
  }
  std::vector<OpOrigin> origins;
  for (size_t i = 0; i < strings(op, kOriginTypes)->size(); ++i) {
    origins.push_back({(*strings(op, kOriginTypes))[i], (*strings(op, kOriginNames))[i]});
  }
  return origins;
}

void set_origins(Op* op, const std::vector<OpOrigin>& origins) {
  std::vector<std::string> types;
  std::vector<std::string> names;
  for (const OpOrigin& origin : origins) {
    types.push_back(origin.op_type);
    names.push_back(origin.name);
  }
  op->attributes.set(std::string(kOriginTypes), std::move(types));
  op->attributes.set(std::string(kOriginNames), std::move(names));
}

}  // namespace dfsim::inline graphs
