// Reads runtime files. Names of fusion rules and operators are checked later, where those tables
// are known (graphs/passes, study/chain): hardware/ does not depend on them.
#include <fmt/format.h>

#include <cmath>

#include "hardware/builtin_files.h"
#include "hardware/platform_loader.h"
#include "hardware/sources.h"
#include "hardware/yaml/yaml_fields.h"
#include "hardware/yaml/yaml_tree.h"
#include "hardware/yaml/yaml_units.h"

namespace dfsim::inline hardware {
namespace {

const std::vector<std::string>& runtime_figures() {
  static const std::vector<std::string> kFigures = {
      "dispatch_us",       "view_dispatch_us", "run_overhead_us",
      "dispatch_by_op_us", "autograd_us",      "backward_share",
      "autocast_us",       "update_us",        "gap_us"};
  return kFigures;
}

// Host times by operator or class of operators; dfsim checks the names where it knows them.
void read_dispatch(YamlFields& fields, RuntimeSpec* runtime) {
  constexpr YamlRange kTimeUs = {0, 1e6, "us"};
  const YamlNode* classes = fields.map("dispatch_by_op_us");
  for (size_t i = 0; classes != nullptr && i < classes->items.size(); ++i) {
    const StatusOr<double> time_us = yaml_number(classes->items[i], fields.file(), kTimeUs);
    if (!time_us.ok()) {
      fields.error(time_us.status());
      return;
    }
    runtime->dispatch.by_class.emplace_back(classes->keys[i].text,
                                            static_cast<TimeNs>(std::llround(*time_us * kNsPerUs)));
  }
  read_time_us(fields, "autograd_us", &runtime->dispatch.autograd_ns);
  fields.number("backward_share", {0, 100, ""}, &runtime->dispatch.backward_share);
  read_time_us(fields, "autocast_us", &runtime->dispatch.autocast_ns);
  read_time_us(fields, "update_us", &runtime->dispatch.update_ns);
  read_time_us(fields, "gap_us", &runtime->gap_ns);
}

// A list of names is one stage, a list of lists of names several.
void read_fusions(YamlFields& fields, RuntimeSpec* runtime) {
  constexpr size_t kMaxStages = 16;
  constexpr size_t kMaxRules = 256;
  const YamlNode* list = fields.list("fusions");
  if (list == nullptr || list->items.empty()) {
    return;
  }
  const bool flat = list->items.front().kind == YamlNode::Kind::kScalar;
  size_t rules = 0;
  for (size_t i = 0; i < (flat ? 1 : list->items.size()); ++i) {
    const YamlNode& stage = flat ? *list : list->items[i];
    if (i > 0) {
      runtime->fusions.emplace_back();
    }
    for (const YamlNode& rule : stage.items) {
      runtime->fusions.push_back(rule.text);
      if (rule.kind != YamlNode::Kind::kScalar || rule.text.empty() || ++rules > kMaxRules) {
        fields.error(yaml_error(fields.file(), rule.place,
                                fmt::format("found {}, expected the name of a fusion rule, at most "
                                            "{} in all; see docs/reference/runtimes.md",
                                            describe(rule), kMaxRules)));
        return;
      }
    }
    if (stage.kind != YamlNode::Kind::kList || stage.items.empty() || i >= kMaxStages) {
      fields.error(
          yaml_error(fields.file(), stage.place,
                     fmt::format("found {}, expected a stage of 'fusions': a list of names "
                                 "of fusion rules, at most {} of them; see "
                                 "docs/reference/runtimes.md",
                                 describe(stage), kMaxStages)));
      return;
    }
  }
}

}  // namespace

StatusOr<RuntimeSpec> parse_runtime(std::string_view text, const std::string& file) {
  DFSIM_ASSIGN_OR_RETURN(const YamlNode node, parse_yaml(text, file));
  YamlFields fields(node, file, "a runtime");
  RuntimeSpec runtime;
  runtime.source_file = file;
  const SourceTable sources = read_sources(fields);
  read_name(fields, "name", &runtime.name, Need::kRequired);
  fields.text("description", &runtime.description);
  read_time_us(fields, "dispatch_us", &runtime.dispatch_ns, Need::kRequired);
  runtime.view_dispatch_ns = runtime.dispatch_ns;
  read_time_us(fields, "view_dispatch_us", &runtime.view_dispatch_ns);
  read_time_us(fields, "run_overhead_us", &runtime.run_overhead_ns);
  read_dispatch(fields, &runtime);
  size_t framework = 0;
  if (fields.choice("framework", {"none", "pytorch", "onnxruntime", "tensorrt", "tensorflow"},
                    &framework)) {
    runtime.framework = static_cast<Framework>(framework);
  }
  size_t device = 0;
  if (fields.choice("device", {"any", "cpu", "gpu", "npu"}, &device) && device > 0) {
    constexpr DeviceType kTypes[] = {DeviceType::kCpu, DeviceType::kGpu, DeviceType::kNpu};
    runtime.device = kTypes[device - 1];
  }
  fields.texts("vendors", &runtime.vendors);
  fields.boolean("trains", &runtime.trains);
  fields.boolean("asynchronous", &runtime.asynchronous, Need::kRequired);
  fields.integer("queue_depth", {1, 1e6}, &runtime.queue_depth);
  fields.integer("dispatch_threads", {1, 1024}, &runtime.dispatch_threads);
  fields.integer("inter_op_workers", {1, 1024}, &runtime.inter_op_workers);
  fields.integer("streams", {1, 1024}, &runtime.streams);
  read_fusions(fields, &runtime);
  fields.boolean("fold_constants", &runtime.fold_constants);
  size_t allocator = 0;
  if (fields.choice("allocator", {"exact", "caching", "arena"}, &allocator)) {
    runtime.allocator = static_cast<AllocatorKind>(allocator);
  }
  int allocation_bytes = 1;
  fields.integer("allocation_bytes", {1, 1 << 30, "bytes"}, &allocation_bytes);
  runtime.allocation_bytes = allocation_bytes;
  runtime.citations = read_citations(fields, node, runtime_figures(), sources);
  DFSIM_RETURN_IF_ERROR(fields.finish());
  return runtime;
}

StatusOr<RuntimeSpec> load_runtime(const std::string& name_or_path) {
  DFSIM_ASSIGN_OR_RETURN(const FoundFile found,
                         find_settings_file(FileKind::kRuntime, name_or_path, ""));
  return parse_runtime(found.text, found.path);
}

std::vector<std::string> builtin_runtimes() { return builtin_names(FileKind::kRuntime); }

std::string_view default_runtime(DeviceType type) {
  switch (type) {
    case DeviceType::kCpu:
      return "ort-cpu";
    case DeviceType::kGpu:
      return "torch-eager";
    case DeviceType::kNpu:
      return "mindspore-graph";
  }
  return "none";
}

}  // namespace dfsim::inline hardware
