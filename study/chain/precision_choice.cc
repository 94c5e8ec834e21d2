// Resolves --precision against a machine: a name, or a YAML file of rules. A precision without
// units on the machine is refused with the ones that it has. Models that are quantised or in
// half precision already are left as they are, with a note.
#include "study/chain/precision_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/io/text_file.h"
#include "base/text.h"
#include "graphs/ops/op_def.h"
#include "hardware/yaml/yaml_fields.h"

namespace dfsim::inline study {
namespace {

constexpr int64_t kMaxRuleBytes = 1 << 20;
constexpr int64_t kMxfp4Block = 32;  // weights that share an 8-bit scale
constexpr int64_t kNvfp4Block = 16;
constexpr const char* kPrecisionPage = "docs/reference/precision.md";

bool is_mixed(Precision precision) {
  return precision == Precision::kMixedFp16 || precision == Precision::kMixedBf16;
}

bool is_quantised(Precision precision) {
  return precision == Precision::kInt8 || quantises_products(precision);
}

// Units on exactly that element type, or TF32 as a mode.
bool has_units(const DeviceSpec& device, DType dtype) {
  if (dtype == DType::kUnknown || dtype == DType::kFloat32) {
    return true;
  }
  if (dtype == DType::kTFloat32) {
    return device.tf32_flops_per_s > 0;
  }
  return std::any_of(device.peaks.begin(), device.peaks.end(), [&](const PeakRate& peak) {
    return peak.dtype == dtype && (peak.flops_per_s > 0 || peak.matrix_flops_per_s > 0);
  });
}

// Accelerators, or the CPUs of a machine without.
std::vector<const DeviceSpec*> compute_devices_of(const Platform& platform) {
  std::vector<const DeviceSpec*> devices;
  for (const DeviceSpec& device : platform.devices) {
    if (device.type != DeviceType::kCpu) {
      devices.push_back(&device);
    }
  }
  for (const DeviceSpec& device : platform.devices) {
    if (devices.empty() || devices.front()->type == DeviceType::kCpu) {
      devices.push_back(&device);
    }
  }
  return devices;
}

bool supports(const Platform& platform, Precision precision) {
  return std::ranges::all_of(compute_devices_of(platform), [&](const DeviceSpec* device) {
    return has_units(*device, precision_dtype(precision));
  });
}

// The mixed precision of fp32 models on an NPU whose matrix units take 16 bits but no fp32; kAsIs
// elsewhere. Frameworks convert the operands of fp32 products there (MindSpore's default on Ascend
// 910 is allow_fp32_to_fp16, XLA's on TPUs one pass of bf16), because the vector units are tens of
// times slower.
Precision own_precision(const DeviceSpec& device) {
  const auto has_matrix = [&device](DType dtype) {
    return std::ranges::any_of(device.peaks, [dtype](const PeakRate& peak) {
      return peak.dtype == dtype && peak.matrix_flops_per_s > 0;
    });
  };
  if (device.type != DeviceType::kNpu || has_matrix(DType::kFloat32)) {
    return Precision::kAsIs;
  }
  return has_matrix(DType::kBFloat16)  ? Precision::kMixedBf16
         : has_matrix(DType::kFloat16) ? Precision::kMixedFp16
                                       : Precision::kAsIs;
}

Status check_supported(const PrecisionPlan& plan, const Platform& platform) {
  for (const PrecisionInfo& info : all_precisions()) {
    if (!plan.uses(info.value) || supports(platform, info.value)) {
      continue;
    }
    std::vector<std::string> names;
    for (const Precision precision : supported_precisions(platform)) {
      names.emplace_back(precision_name(precision));
    }
    const std::string from =
        plan.name == info.name ? "" : fmt::format(" (in {})", printable(plan.name));
    return invalid_input(fmt::format(
        "--precision {}{}: {} has no units for it; it supports {}; choose one of these", info.name,
        from, printable(compute_devices_of(platform).front()->model), join(names, ", ")));
  }
  return ok_status();
}

bool uses_quantised_products(const PrecisionPlan& plan) {
  return std::ranges::any_of(all_precisions(), [&](const PrecisionInfo& info) {
    return quantises_products(info.value) && plan.uses(info.value);
  });
}

// 16 bits for the products that serving engines leave in them: routers and lm_head, and of a
// published model those that its file names. The names are those of graphs/llm/llm_graph.cc.
void keep_config_parts(const ConfigTypes& config, bool published, PrecisionPlan* plan) {
  std::vector<std::string> kept = {"*/router", "*/lm_head"};
  if (published && !config.attention) {
    kept.insert(kept.end(), {"*/?_proj", "*_?_proj"});
  }
  if (published && !config.mlp) {
    kept.insert(kept.end(), {"*/mlp.*_proj", "*/shared_expert.*_proj"});
  }
  if (published && !config.experts) {
    kept.emplace_back("*/experts");
  }
  std::vector<PrecisionRule> rules;
  for (std::string& name : kept) {
    PrecisionRule& rule = rules.emplace_back();
    rule.name = std::move(name);
    rule.implied = true;
  }
  plan->rules.insert(plan->rules.begin(), rules.begin(), rules.end());
}

// "attention, dense blocks and experts"
std::string listed(const std::vector<std::string>& parts) {
  const std::vector<std::string> first(parts.begin(), parts.end() - 1);
  return first.empty() ? parts.back() : join(first, ", ") + " and " + parts.back();
}

bool has_experts(const Graph& model) {
  return std::ranges::any_of(model.ops(), [](const Op& op) { return op.op_type == "MoE"; });
}

}  // namespace

std::string published_note(const ConfigTypes& config) {
  std::vector<std::string> parts;
  for (const auto& [is_quantised_part, name] :
       {std::pair(config.attention, "attention"), std::pair(config.mlp, "dense blocks"),
        std::pair(config.experts, "experts")}) {
    if (is_quantised_part) {
      parts.emplace_back(name);
    }
  }
  return fmt::format("the weights of {} are {} as quantization_config says, everything else is {}",
                     listed(parts), config.weights, dtype_name(config.dtype));
}

namespace {

class RulesReader {
 public:
  explicit RulesReader(const std::string& file) : file_(file) { plan_.name = file; }

  StatusOr<PrecisionPlan> run(const YamlNode& root) {
    YamlFields fields(root, file_, "a file of precisions", kPrecisionPage);
    plan_.base = precision_field(&fields, "base");
    const YamlNode* rules = fields.list("rules");
    for (size_t i = 0; rules != nullptr && i < rules->items.size(); ++i) {
      YamlFields rule(rules->items[i], file_, "a rule", kPrecisionPage);
      read_rule(&rule);
      fields.error(rule.finish());
    }
    if (!fields.failed() && plan_.empty()) {
      fields.error("rules", "found neither 'base' nor 'rules', expected one of them at least");
    }
    DFSIM_RETURN_IF_ERROR(fields.finish());
    return std::move(plan_);
  }

 private:
  static Precision precision_field(YamlFields* fields, const char* key,
                                   Need need = Need::kOptional) {
    std::string name;
    if (!fields->text(key, &name, need)) {
      return Precision::kAsIs;
    }
    const StatusOr<Precision> precision = precision_of(name);
    if (!precision.ok()) {
      fields->error(key, precision.status().message());
      return Precision::kAsIs;
    }
    return *precision;
  }

  void read_rule(YamlFields* fields) {
    PrecisionRule rule;
    rule.precision = precision_field(fields, "precision", Need::kRequired);
    fields->text("class", &rule.op_class);
    fields->text("op_type", &rule.op_type);
    fields->text("name", &rule.name);
    if (fields->failed()) {
      return;
    }
    bool known = rule.op_class.empty();
    if (!known) {
      op_class_from_name(rule.op_class, &known);
    }
    if (!known) {
      fields->error("class", unknown_name_message("operator class", rule.op_class, class_names()));
    } else if (!rule.op_type.empty() && !is_op_type(rule.op_type)) {
      fields->error("op_type", unknown_name_message("operator", rule.op_type, op_types()));
    } else if (rule.op_class.empty() && rule.op_type.empty() && rule.name.empty()) {
      fields->error("precision",
                    "found a rule for no operator, expected 'class', 'op_type' or "
                    "'name' next to it");
    } else if (is_mixed(rule.precision)) {
      fields->error("precision",
                    fmt::format("found {}, which is about a whole model, expected another "
                                "precision; give it as 'base'",
                                precision_name(rule.precision)));
    }
    plan_.rules.push_back(std::move(rule));
  }

  static std::vector<std::string> class_names() {
    std::vector<std::string> names;
    for (int i = 0; i < kOpClassCount; ++i) {
      names.emplace_back(op_class_name(static_cast<OpClass>(i)));
    }
    return names;
  }
  static std::vector<std::string> op_types() {
    std::vector<std::string> names;
    for (const OpDef* def : all_op_defs()) {
      names.emplace_back(def->op_type);
    }
    return names;
  }
  static bool is_op_type(const std::string& name) {
    return std::ranges::count(all_op_defs(), name, &OpDef::op_type) > 0;
  }

  const std::string& file_;
  PrecisionPlan plan_;
};

}  // namespace

std::vector<Precision> supported_precisions(const Platform& platform) {
  std::vector<Precision> supported;
  for (const PrecisionInfo& info : all_precisions()) {
    if (supports(platform, info.value)) {
      supported.push_back(info.value);
    }
  }
  return supported;
}

Status check_precision_name(const std::string& precision) {
  const StatusOr<Precision> named = precision_of(precision);
  std::error_code error;
  if (named.ok() || std::filesystem::exists(precision, error)) {
    return ok_status();
  }
  const std::filesystem::path path(precision);
  if (!path.has_extension() && !path.has_parent_path()) {
    return invalid_input(named.status().message() + ", or the path of a file of rules");
  }
  return invalid_input(fmt::format("{}: no such file of rules; check the path, or name one of {}",
                                   printable(precision), precision_names()));
}

StatusOr<PrecisionPlan> read_precision(const std::string& precision) {
  PrecisionPlan plan;
  if (precision.empty()) {
    return plan;
  }
  const StatusOr<Precision> named = precision_of(precision);
  if (named.ok()) {
    plan.name = precision;
    plan.base = *named;
  } else {
    if (const Status exists = check_precision_name(precision); !exists.ok()) {
      return exists.with_place("--precision");
    }
    DFSIM_ASSIGN_OR_RETURN(const std::string text, read_text_file(precision, kMaxRuleBytes));
    DFSIM_ASSIGN_OR_RETURN(const YamlNode root, parse_yaml(text, precision, kPrecisionPage));
    DFSIM_ASSIGN_OR_RETURN(plan, RulesReader(precision).run(root));
  }
  return plan;
}

StatusOr<PrecisionPlan> resolve_precision(const std::string& precision, const Platform& platform) {
  DFSIM_ASSIGN_OR_RETURN(PrecisionPlan plan, read_precision(precision));
  DFSIM_RETURN_IF_ERROR(check_supported(plan, platform));
  return plan;
}

DType config_dtype(const PrecisionPlan& plan) {
  return plan.empty() || uses_quantised_products(plan) ? DType::kUnknown : DType::kFloat32;
}

PrecisionPlan published_precision(const ImportReport& report) {
  PrecisionPlan plan;
  if (!report.config || report.config->weights.empty()) {
    return plan;
  }
  const std::string& format = report.config->weights;
  if (format == "mxfp4" || format == "nvfp4") {
    plan.blocks = {format == "mxfp4" ? kMxfp4Block : kNvfp4Block, DType::kUInt8};
  }
  plan.base = format.starts_with("fp8") ? Precision::kFp8
              : format == "int8"        ? Precision::kInt8Weights
                                        : Precision::kInt4Weights;
  keep_config_parts(*report.config, /*published=*/true, &plan);
  return plan;
}

namespace {

// The plan of a quantised config.json on a machine, with a note.
PrecisionPlan published_on(const Platform& platform, bool training, ImportReport* report) {
  const std::string_view half = dtype_name(report->config->dtype);
  if (training) {
    report->notes.push_back(
        fmt::format("training computes in {}, not with the {} weights of quantization_config", half,
                    report->config->weights));
    return {};
  }
  PrecisionPlan plan = published_precision(*report);
  report->notes.push_back(published_note(*report->config) + "; --precision replaces it");
  if (!supports(platform, plan.base)) {  // engines unpack such weights where products read them
    report->notes.push_back(fmt::format(
        "{} has no units for {}: the products unpack these weights to {}",
        printable(compute_devices_of(platform).front()->model), precision_name(plan.base), half));
    plan.base = Precision::kInt8Weights;
  }
  return plan;
}

}  // namespace

StatusOr<PrecisionPlan> choose_precision(const std::string& precision, bool training,
                                         const Platform& platform, const Graph& model,
                                         ImportReport* report) {
  if (!precision.empty()) {
    DFSIM_ASSIGN_OR_RETURN(PrecisionPlan asked, resolve_precision(precision, platform));
    if (report->config && uses_quantised_products(asked)) {
      keep_config_parts(*report->config, /*published=*/false, &asked);
      report->notes.push_back(
          has_experts(model) ? "lm_head and routers are not quantised, as in published checkpoints"
                             : "lm_head is not quantised, as in published checkpoints");
    }
    return asked;
  }
  if (report->config && !report->config->weights.empty()) {
    return published_on(platform, training, report);
  }
  PrecisionPlan plan;
  const DeviceSpec& device = *compute_devices_of(platform).front();
  const Precision converted = own_precision(device);
  if (converted == Precision::kAsIs || !supports(platform, converted)) {
    return plan;
  }
  const ModelPrecision own = find_model_precision(model);
  if (own.quantized || own.dtype != DType::kFloat32 || own.share < kUniformShare) {
    return plan;
  }
  plan.base = converted;
  plan.name = precision_name(converted);
  report->notes.push_back(fmt::format(
      "{} has no matrix units for fp32, and its frameworks convert products: predicted in {}; "
      "--precision fp32 keeps the model as it is",
      printable(device.model), plan.name));
  return plan;
}

void apply_precision(const std::string& precision, Platform* platform) {
  for (DeviceSpec& device : platform->devices) {
    device.allow_tf32 = device.allow_tf32 && precision != precision_name(Precision::kFp32);
  }
}

Status keep_own_precision(const Graph& model, bool training, PrecisionPlan* plan,
                          ImportReport* report) {
  if (plan->empty()) {
    return ok_status();
  }
  const ModelPrecision own = find_model_precision(model);
  if (!own.quantized && own.share < kUniformShare) {
    return invalid_input(fmt::format(
        "--precision {}: {:.0f} % of the model's weights are {} and the rest is not, expected a "
        "model of one element type; leave the option out, or export the model in fp32",
        printable(plan->name), 100 * own.share, dtype_name(own.dtype)));
  }
  for (const PrecisionInfo& info : all_precisions()) {
    if (training && is_quantised(info.value) && plan->uses(info.value)) {
      return invalid_input(
          fmt::format("--precision {}: {} is for inference; a training step takes fp32, tf32, "
                      "fp16, bf16, mixed-fp16 or mixed-bf16",
                      printable(plan->name), info.name));
    }
  }
  const bool half = own.dtype == DType::kFloat16 || own.dtype == DType::kBFloat16;
  if (!own.quantized && half && uses_quantised_products(*plan)) {
    return ok_status();
  }
  if (own.quantized || own.dtype != DType::kFloat32) {
    report->notes.push_back(
        fmt::format("the model is {} already: --precision {} leaves it as it is",
                    own.quantized ? "quantised" : dtype_name(own.dtype), printable(plan->name)));
    *plan = PrecisionPlan();
  }
  return ok_status();
}

void note_idle_rules(const Graph& executed, const PrecisionPlan& plan, ImportReport* report) {
  size_t number = 0;  // among those of the user's file
  for (size_t i = 0; i < plan.rules.size(); ++i) {
    if (plan.rules[i].implied) {
      continue;
    }
    ++number;
    PrecisionPlan alone;
    alone.rules = {plan.rules[i]};
    if (plan.rules[i].precision != Precision::kAsIs &&
        std::ranges::none_of(executed.ops(), [&](const Op& op) {
          return precision_at(alone, op) != Precision::kAsIs;
        })) {
      report->notes.push_back(fmt::format("{}: rule {} meets no operator of the executed graph",
                                          printable(plan.name), number));
    }
  }
}

void note_wider_precision(const Graph& model, const Graph& executed, ImportReport* report) {
  const DType own = find_model_precision(model).dtype;
  if ((own == DType::kFloat16 || own == DType::kBFloat16) &&
      find_model_precision(executed).dtype == DType::kFloat32) {
    report->notes.push_back(fmt::format(
        "the model is {}, of which the runtime has no kernels here: predicted in float32",
        dtype_name(own)));
  }
}

bool runs_on_cpu(const Platform& platform) {
  const auto devices = compute_devices_of(platform);
  return !devices.empty() && devices.front()->type == DeviceType::kCpu;
}

}  // namespace dfsim::inline study
