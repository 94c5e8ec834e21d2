// Reads and writes plan files. The writer produces what the reader takes, so that `-o` and a
// strategy FILE are inverse to each other.
#include "partition/plans/plan_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/io/file.h"
#include "base/text.h"
#include "hardware/yaml/yaml_fields.h"

namespace dfsim::inline partition {
namespace {

constexpr double kMaxCount = 1 << 20;
constexpr int kFormat = 1;
constexpr const char* kPage = "docs/reference/partitioning.md";

std::vector<std::string> axes_of(const std::string& text) {
  return text == "-" || text.empty() ? std::vector<std::string>() : split(text, '+');
}

std::string text_of(const std::vector<std::string>& axes) {
  return axes.empty() ? "-" : join(axes, "+");
}

class PlanReader {
 public:
  explicit PlanReader(const std::string& file) : file_(file) { plan_.file = file; }

  StatusOr<PlanFile> run(const YamlNode& root) {
    YamlFields fields(root, file_, "a plan", kPage);
    int format = kFormat;
    fields.integer("plan", {kFormat, kFormat, ""}, &format);
    fields.text("model", &plan_.model);
    fields.text("hardware", &plan_.hardware);
    fields.text("strategy", &plan_.strategy);
    fields.boolean("propagate", &plan_.propagate);
    int batch = 0;
    int micro_batches = 1;
    int chunks = 1;
    fields.integer("batch", {1, kMaxCount, "samples"}, &batch);
    fields.integer("micro_batches", {1, kMaxCount, ""}, &micro_batches);
    fields.integer("chunks", {1, kMaxCount, ""}, &chunks);
    plan_.batch = batch;
    plan_.micro_batches = static_cast<uint32_t>(micro_batches);
    plan_.chunks = static_cast<uint32_t>(chunks);
    std::string schedule;
    if (fields.text("schedule", &schedule)) {
      auto known = pipeline_schedule_of(schedule);
      if (known.ok()) {
        plan_.schedule = *known;
      } else {
        fields.error("schedule", known.status().message());
      }
    }
    if (const YamlNode* mesh = fields.map("mesh", Need::kRequired)) {
      read_mesh(*mesh, &fields);
    }
    read_list(&fields, "stages", &PlanReader::read_stage);
    read_list(&fields, "until", &PlanReader::read_until);
    read_list(&fields, "tensors", &PlanReader::read_tensor);
    read_list(&fields, "ops", &PlanReader::read_op);
    read_list(&fields, "uneven", &PlanReader::read_uneven);
    DFSIM_RETURN_IF_ERROR(fields.finish());
    return std::move(plan_);
  }

 private:
  using Reader = Status (PlanReader::*)(const YamlNode& node);
  void read_list(YamlFields* fields, const char* key, Reader reader) {
    const YamlNode* list = fields->list(key);
    for (size_t i = 0; list != nullptr && i < list->items.size(); ++i) {
      Status status = (this->*reader)(list->items[i]);
      if (!status.ok()) {
        fields->error(std::move(status));
        return;
      }
    }
  }

  void read_mesh(const YamlNode& node, YamlFields* fields) {
    for (size_t i = 0; i < node.keys.size(); ++i) {
      const auto size = yaml_number(node.items[i], file_, {1, kMaxCount, "devices"});
      if (!size.ok()) {
        fields->error(size.status());
        return;
      }
      plan_.mesh.push_back({node.keys[i].text, static_cast<int64_t>(*size)});
    }
  }

  // A list of texts.
  Status read_texts(const YamlNode& node, std::string_view what, std::vector<std::string>* out) {
    if (node.kind != YamlNode::Kind::kList) {
      return yaml_error(file_, node.place,
                        fmt::format("found {}, expected a list of {}", describe(node), what));
    }
    for (const YamlNode& item : node.items) {
      if (item.kind != YamlNode::Kind::kScalar) {
        return yaml_error(file_, item.place,
                          fmt::format("found {}, expected one of {}", describe(item), what));
      }
      out->push_back(item.text);
    }
    return ok_status();
  }

  Status read_stage(const YamlNode& node) {
    YamlFields fields(node, file_, "a stage", kPage);
    StageRule rule;
    const YamlNode* replicas = fields.list("replicas", Need::kRequired);
    for (size_t i = 0; replicas != nullptr && i < replicas->items.size(); ++i) {
      std::vector<std::string> devices;
      DFSIM_RETURN_IF_ERROR(read_texts(replicas->items[i], "devices", &devices));
      rule.replicas.push_back(std::move(devices));
    }
    DFSIM_RETURN_IF_ERROR(fields.finish());
    plan_.stages.push_back(std::move(rule));
    return ok_status();
  }

  Status read_until(const YamlNode& node) {
    std::vector<std::string> names;
    DFSIM_RETURN_IF_ERROR(read_texts(node, "operator names", &names));
    plan_.until.push_back(std::move(names));
    return ok_status();
  }

  // `name` or `names`.
  void read_names(YamlFields* fields, std::vector<std::string>* names) {
    std::string name;
    if (fields->text("name", &name)) {
      names->push_back(name);
    }
    if (const YamlNode* more = fields->list("names")) {
      Status status = read_texts(*more, "names", names);
      if (!status.ok()) {
        fields->error(std::move(status));
      }
    }
    if (names->empty() && !fields->failed()) {
      fields->error("name",
                    "found no name, expected `name` or `names`; a * in it stands for "
                    "any characters");
    }
  }

  Status read_tensor(const YamlNode& node) {
    YamlFields fields(node, file_, "a tensor rule", kPage);
    TensorRule rule;
    read_names(&fields, &rule.names);
    std::vector<std::string> cut;
    if (const YamlNode* list = fields.list("cut", Need::kRequired)) {
      DFSIM_RETURN_IF_ERROR(read_texts(*list, "mesh axes, - for a whole dimension", &cut));
    }
    DFSIM_RETURN_IF_ERROR(fields.finish());
    for (const std::string& axes : cut) {
      rule.cut.push_back(axes_of(axes));
    }
    plan_.tensors.push_back(std::move(rule));
    return ok_status();
  }

  Status read_op(const YamlNode& node) {
    YamlFields fields(node, file_, "an operator rule", kPage);
    OpRule rule;
    read_names(&fields, &rule.names);
    if (const YamlNode* map = fields.map("split", Need::kRequired)) {
      for (size_t i = 0; i < map->keys.size(); ++i) {
        if (map->items[i].kind != YamlNode::Kind::kScalar) {
          return yaml_error(file_, map->items[i].place, "expected a mesh axis, or several as a+b");
        }
        rule.split.emplace_back(map->keys[i].text, axes_of(map->items[i].text));
      }
    }
    DFSIM_RETURN_IF_ERROR(fields.finish());
    plan_.ops.push_back(std::move(rule));
    return ok_status();
  }

  Status read_uneven(const YamlNode& node) {
    YamlFields fields(node, file_, "an uneven split", kPage);
    UnevenRule rule;
    int extent = 0;
    fields.text("name", &rule.name, Need::kRequired);
    fields.text("factor", &rule.factor, Need::kRequired);
    fields.text("device", &rule.device, Need::kRequired);
    fields.integer("extent", {1, 1e9, ""}, &extent, Need::kRequired);
    DFSIM_RETURN_IF_ERROR(fields.finish());
    rule.extent = extent;
    plan_.uneven.push_back(std::move(rule));
    return ok_status();
  }

  const std::string& file_;
  PlanFile plan_;
};

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
    }
    out += c;
  }
  out += '"';
  return out;
}

std::string quoted_list(const std::vector<std::string>& texts) {
  std::vector<std::string> parts;
  for (const std::string& text : texts) {
    parts.push_back(quoted(text));
  }
  return fmt::format("[{}]", join(parts, ", "));
}

std::string names_field(const std::vector<std::string>& names) {
  return names.size() == 1 ? fmt::format("name: {}", quoted(names[0]))
                           : fmt::format("names: {}", quoted_list(names));
}

std::string rules_yaml(const PlanFile& plan) {
  std::string out;
  out += plan.tensors.empty() ? "" : "tensors:  # by dimension: the axes that cut it\n";
  for (const TensorRule& rule : plan.tensors) {
    std::vector<std::string> cut;
    for (const auto& axes : rule.cut) {
      cut.push_back(text_of(axes));
    }
    out += fmt::format("  - {{{}, cut: {}}}\n", names_field(rule.names), quoted_list(cut));
  }
  out += plan.ops.empty() ? "" : "ops:  # by factor: the axes that split it\n";
  for (const OpRule& rule : plan.ops) {
    std::vector<std::string> parts;
    for (const auto& [factor, axes] : rule.split) {
      parts.push_back(fmt::format("{}: {}", quoted(factor), text_of(axes)));
    }
    out += fmt::format("  - {{{}, split: {{{}}}}}\n", names_field(rule.names), join(parts, ", "));
  }
  return out;
}

}  // namespace

StatusOr<PlanFile> parse_plan(std::string_view text, const std::string& file) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    return invalid_input(fmt::format("{}: found nothing, expected a plan; see {}", file, kPage));
  }
  DFSIM_ASSIGN_OR_RETURN(const YamlNode root, parse_yaml(text, file, kPage));
  return PlanReader(file).run(root);
}

StatusOr<PlanFile> load_plan(const std::string& path) {
  DFSIM_ASSIGN_OR_RETURN(const std::string text, read_file(path, kMaxYamlBytes));
  return parse_plan(text, path);
}

std::string plan_yaml(const PlanFile& plan) {
  std::string out = fmt::format("plan: {}\n", kFormat);
  out += fmt::format("strategy: {}\nmodel: {}\nhardware: {}\n", quoted(plan.strategy),
                     quoted(plan.model), quoted(plan.hardware));
  out += plan.batch > 0 ? fmt::format("batch: {}\n", plan.batch) : "";
  out += fmt::format("micro_batches: {}\n", plan.micro_batches);
  std::vector<std::string> axes;
  for (const MeshAxis& axis : plan.mesh) {
    axes.push_back(fmt::format("{}: {}", quoted(axis.name), axis.size));
  }
  out += fmt::format("mesh: {{{}}}  # devices of one replica of a stage\n", join(axes, ", "));
  if (plan.stages.size() > 1) {
    out += fmt::format("schedule: {}\nchunks: {}\n", pipeline_schedule_name(plan.schedule),
                       plan.chunks);
  }
  out += plan.stages.empty() ? "" : "stages:  # devices of each replica\n";
  for (const StageRule& stage : plan.stages) {
    std::vector<std::string> replicas;
    for (const auto& devices : stage.replicas) {
      replicas.push_back(quoted_list(devices));
    }
    out += fmt::format("  - {{replicas: [{}]}}\n", join(replicas, ", "));
  }
  out += plan.until.empty() ? "" : "until:  # operators that each stage but the last ends with\n";
  for (const auto& names : plan.until) {
    out += fmt::format("  - {}\n", quoted_list(names));
  }
  out += plan.propagate ? "" : "propagate: false\n";
  out += rules_yaml(plan);
  out += plan.uneven.empty() ? "" : "uneven:  # what other devices take of a factor\n";
  for (const UnevenRule& rule : plan.uneven) {
    out += fmt::format("  - {{name: {}, factor: {}, device: {}, extent: {}}}\n", quoted(rule.name),
                       quoted(rule.factor), quoted(rule.device), rule.extent);
  }
  return out;
}

}  // namespace dfsim::inline partition
