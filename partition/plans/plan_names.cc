// Between plan files, which speak of names, and plans, which speak of ids.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "base/name_pattern.h"
#include "base/text.h"
#include "graphs/ops/factors/factors.h"
#include "partition/plans/plan_spec.h"

namespace dfsim::inline partition {
namespace {

// ---- from names to ids

class Resolver {
 public:
  Resolver(const PlanFile& file, const Graph& graph, const Platform& platform)
      : file_(file), graph_(graph), platform_(platform) {}

  StatusOr<PlanSpec> run() {
    spec_.name = file_.strategy.empty() ? "plan" : file_.strategy;
    spec_.mesh = file_.mesh;
    spec_.propagate = file_.propagate;
    spec_.until = file_.until;
    spec_.chunks = file_.chunks;
    spec_.micro_batches = file_.micro_batches;
    spec_.schedule = file_.schedule;
    DFSIM_RETURN_IF_ERROR(read_devices());
    for (const TensorRule& rule : file_.tensors) {
      DFSIM_RETURN_IF_ERROR(add_tensors(rule));
    }
    for (const OpRule& rule : file_.ops) {
      DFSIM_RETURN_IF_ERROR(add_ops(rule));
    }
    for (const UnevenRule& rule : file_.uneven) {
      DFSIM_RETURN_IF_ERROR(add_uneven(rule));
    }
    return std::move(spec_);
  }

 private:
  Status read_devices() {
    std::map<std::string, DeviceId> by_name;
    std::vector<std::string> names;
    for (size_t d = 0; d < platform_.devices.size(); ++d) {
      by_name[platform_.devices[d].name] = DeviceId(d);
      names.push_back(platform_.devices[d].name);
    }
    std::set<DeviceId> seen;
    for (const StageRule& stage : file_.stages) {
      spec_.devices.emplace_back();
      for (const auto& replica : stage.replicas) {
        spec_.devices.back().emplace_back();
        for (const std::string& name : replica) {
          const auto found = by_name.find(name);
          if (found == by_name.end()) {
            return not_found("stages: " + unknown_name_message("device", name, names));
          }
          if (!seen.insert(found->second).second) {
            return invalid_input(
                fmt::format("stages: device {} is named twice; give it to one "
                            "replica of one stage",
                            printable(name)));
          }
          spec_.devices.back().back().push_back(found->second);
        }
      }
      if (spec_.devices.back().empty()) {
        return invalid_input("stages: a stage without a replica; list its devices");
      }
    }
    spec_.groups = static_cast<uint32_t>(std::max<size_t>(1, spec_.devices.size()));
    return ok_status();
  }

  StatusOr<AxisSet> axes(const std::vector<std::string>& names) const {
    AxisSet set = 0;
    for (const std::string& name : names) {
      const auto found = std::find_if(file_.mesh.begin(), file_.mesh.end(),
                                      [&](const MeshAxis& axis) { return axis.name == name; });
      if (found == file_.mesh.end()) {
        std::vector<std::string> valid;
        for (const MeshAxis& axis : file_.mesh) {
          valid.push_back(axis.name);
        }
        return not_found(unknown_name_message("mesh axis", name, valid));
      }
      set |= AxisSet{1} << (found - file_.mesh.begin());
    }
    return set;
  }

  Status add_tensors(const TensorRule& rule) {
    for (const std::string& name : rule.names) {
      bool any = false;
      for (size_t t = 0; t < graph_.tensor_count(); ++t) {
        const Tensor& tensor = graph_.tensor(TensorId(t));
        if (tensor.name != name && !matches_pattern(tensor.name, name)) {
          continue;
        }
        any = true;
        ShardingSeed seed{TensorId(t), {}};
        for (const auto& axes_of_dim : rule.cut) {
          DFSIM_ASSIGN_OR_RETURN(const AxisSet set, axes(axes_of_dim));
          seed.sharding.dims.push_back(set);
        }
        spec_.seeds.push_back(std::move(seed));
      }
      if (!any) {
        std::vector<std::string> names;
        for (const Tensor& tensor : graph_.tensors()) {
          names.push_back(tensor.name);
        }
        return not_found("tensors: " + unknown_name_message("tensor", name, names) +
                         "; is the plan for another model?");
      }
    }
    return ok_status();
  }

  Status add_ops(const OpRule& rule) {
    for (const std::string& name : rule.names) {
      bool any = false;
      for (size_t i = 0; i < graph_.op_count(); ++i) {
        const Op& op = graph_.op(OpId(i));
        if (op.name == name || matches_pattern(op.name, name)) {
          any = true;
          DFSIM_RETURN_IF_ERROR(add_op(OpId(i), rule));
        }
      }
      if (!any) {
        std::vector<std::string> names;
        for (const Op& op : graph_.ops()) {
          names.push_back(op.name);
        }
        return not_found("ops: " + unknown_name_message("operator", name, names) +
                         "; is the plan for another model?");
      }
    }
    return ok_status();
  }

  Status add_op(OpId id, const OpRule& rule) {
    const FactorMap map = op_factors(graph_, id);
    OpSplit split{id, std::vector<AxisSet>(map.factors.size(), 0)};
    for (const auto& [label, axis_names] : rule.split) {
      std::vector<std::string> labels;
      size_t found = map.factors.size();
      for (size_t f = map.factors.size(); f-- > 0;) {
        labels.push_back(map.factors[f].label);
        found = map.factors[f].label == label || fmt::format("#{}", f) == label ? f : found;
      }
      if (found == map.factors.size()) {
        return not_found(fmt::format("ops: operator '{}': {}", printable(graph_.op(id).name),
                                     unknown_name_message("factor", label, labels)));
      }
      DFSIM_ASSIGN_OR_RETURN(const AxisSet set, axes(axis_names));
      split.factors[found] |= set;
    }
    spec_.splits.push_back(std::move(split));
    return ok_status();
  }

  Status add_uneven(const UnevenRule& rule) {
    UnevenOp uneven;
    uneven.helper_extent = rule.extent;
    std::vector<std::string> names;
    for (size_t i = 0; i < graph_.op_count(); ++i) {
      names.push_back(graph_.op(OpId(i)).name);
      uneven.op = names.back() == rule.name ? OpId(i) : uneven.op;
    }
    if (!uneven.op.valid()) {
      return not_found("uneven: " + unknown_name_message("operator", rule.name, names));
    }
    const FactorMap map = op_factors(graph_, uneven.op);
    names.clear();
    uneven.factor = -1;
    for (size_t f = map.factors.size(); f-- > 0;) {
      names.push_back(map.factors[f].label);
      uneven.factor = names.back() == rule.factor ? static_cast<int>(f) : uneven.factor;
    }
    if (uneven.factor < 0) {
      return not_found("uneven: " + unknown_name_message("factor", rule.factor, names));
    }
    names.clear();
    for (size_t d = 0; d < platform_.devices.size(); ++d) {
      names.push_back(platform_.devices[d].name);
      uneven.helper = names.back() == rule.device ? DeviceId(d) : uneven.helper;
    }
    if (!uneven.helper.valid()) {
      return not_found("uneven: " + unknown_name_message("device", rule.device, names));
    }
    spec_.uneven.push_back(uneven);
    return ok_status();
  }

  const PlanFile& file_;
  const Graph& graph_;
  const Platform& platform_;
  PlanSpec spec_;
};

// ---- from ids to names

// Runs of digits become *.
std::string pattern_of(const std::string& name) {
  std::string pattern;
  for (const char c : name) {
    const bool digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
    if (!digit) {
      pattern += c;
    } else if (pattern.empty() || pattern.back() != '*') {
      pattern += '*';
    }
  }
  return pattern;
}

// Names with a value each, grouped: by pattern where every name of the graph that fits it has that
// value, else as a list. In the order of their first names.
std::vector<std::pair<std::vector<std::string>, std::string>> group_names(
    const std::vector<std::pair<std::string, std::string>>& named,
    const std::vector<std::string>& all) {
  std::map<std::string, std::string> value_of(named.begin(), named.end());
  std::map<std::string, std::pair<size_t, std::string>> patterns;  // fitting names, the one value
  std::set<std::string> mixed;
  for (const auto& [name, value] : named) {
    auto& entry = patterns[pattern_of(name)];
    ++entry.first;
    if (entry.first > 1 && entry.second != value) {
      mixed.insert(pattern_of(name));
    }
    entry.second = value;
  }
  for (const auto& known : patterns) {
    const std::string& pattern = known.first;
    const auto& entry = known.second;
    const auto fitting =
        static_cast<size_t>(std::count_if(all.begin(), all.end(), [&](const std::string& name) {
          return matches_pattern(name, pattern);
        }));
    if (fitting != entry.first || entry.first < 2) {
      mixed.insert(pattern);
    }
  }
  std::vector<std::pair<std::vector<std::string>, std::string>> groups;
  std::map<std::string, size_t> list_of;  // by value: the group of single names
  std::set<std::string> done;
  for (const auto& [name, value] : named) {
    const std::string pattern = pattern_of(name);
    if (mixed.count(pattern) == 0) {
      if (done.insert(pattern).second) {
        groups.push_back({{pattern}, value});
      }
      continue;
    }
    const auto [it, is_new] = list_of.try_emplace(value, groups.size());
    if (is_new) {
      groups.push_back({{}, value});
    }
    groups[it->second].first.push_back(name);
  }
  return groups;
}

std::vector<std::string> axis_names(AxisSet set, const std::vector<MeshAxis>& mesh) {
  std::vector<std::string> names;
  for (size_t a = 0; a < mesh.size(); ++a) {
    if ((set >> a & 1) != 0) {
      names.push_back(mesh[a].name);
    }
  }
  return names;
}

void describe_tensors(const PlanSpec& spec, const Graph& graph, PlanFile* file) {
  std::vector<std::pair<std::string, std::string>> named;
  std::map<std::string, std::vector<std::vector<std::string>>> cuts;
  for (const ShardingSeed& seed : spec.seeds) {
    std::vector<std::vector<std::string>> cut;
    std::string key;
    for (const AxisSet axes : seed.sharding.dims) {
      cut.push_back(axis_names(axes, spec.mesh));
      key += fmt::format("{},", axes);
    }
    cuts[key] = cut;
    named.emplace_back(graph.tensor(seed.tensor).name, key);
  }
  std::vector<std::string> all;
  for (const Tensor& tensor : graph.tensors()) {
    all.push_back(tensor.name);
  }
  for (auto& [names, key] : group_names(named, all)) {
    file->tensors.push_back({std::move(names), cuts[key]});
  }
}

void describe_ops(const PlanSpec& spec, const Graph& graph, PlanFile* file) {
  std::vector<std::pair<std::string, std::string>> named;
  std::map<std::string, OpRule> rules;
  for (const OpSplit& split : spec.splits) {
    const FactorMap map = op_factors(graph, split.op);
    OpRule rule;
    std::string key;
    for (size_t f = 0; f < split.factors.size(); ++f) {
      if (split.factors[f] == 0) {
        continue;
      }
      const auto same =
          std::count_if(map.factors.begin(), map.factors.end(),
                        [&](const Factor& factor) { return factor.label == map.factors[f].label; });
      const std::string label = same == 1 ? map.factors[f].label : fmt::format("#{}", f);
      rule.split.emplace_back(label, axis_names(split.factors[f], spec.mesh));
      key += fmt::format("{}={},", label, split.factors[f]);
    }
    if (!key.empty() || spec.propagate) {
      rules[key] = rule;
      named.emplace_back(graph.op(split.op).name, key);
    }
  }
  std::vector<std::string> all;
  for (const Op& op : graph.ops()) {
    all.push_back(op.name);
  }
  for (auto& [names, key] : group_names(named, all)) {
    file->ops.push_back({std::move(names), rules[key].split});
  }
}

}  // namespace

StatusOr<PlanSpec> resolve_plan(const PlanFile& file, const Graph& graph,
                                const Platform& platform) {
  auto spec = Resolver(file, graph, platform).run();
  return spec.ok() ? std::move(spec) : spec.status().with_place(file.file);
}

PlanFile describe_plan(const PlanSpec& spec, const CompiledPlan& compiled, const Graph& graph,
                       const Platform& platform, const std::string& model, int64_t batch) {
  PlanFile file;
  file.model = model;
  file.hardware = platform.name;
  file.strategy = spec.name;
  file.batch = batch;
  file.micro_batches = spec.micro_batches;
  file.schedule = spec.schedule;
  file.chunks = spec.chunks;
  file.mesh = spec.mesh;
  file.propagate = spec.propagate;
  file.until = compiled.until;
  for (const auto& replicas : compiled.layout.groups) {
    StageRule rule;
    for (const auto& devices : replicas) {
      rule.replicas.emplace_back();
      for (const DeviceId device : devices) {
        rule.replicas.back().push_back(platform.device(device).name);
      }
    }
    file.stages.push_back(std::move(rule));
  }
  describe_tensors(spec, graph, &file);
  describe_ops(spec, graph, &file);
  for (const UnevenOp& uneven : spec.uneven) {
    const FactorMap map = op_factors(graph, uneven.op);
    file.uneven.push_back({graph.op(uneven.op).name,
                           map.factors[static_cast<size_t>(uneven.factor)].label,
                           platform.device(uneven.helper).name, uneven.helper_extent});
  }
  return file;
}

}  // namespace dfsim::inline partition
