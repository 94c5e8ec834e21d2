// dfsim ops: the operators that dfsim knows, and how it counts their work.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <set>

#include "base/json/json_tree.h"
#include "base/text.h"
#include "base/text_table.h"
#include "cli/commands/commands.h"
#include "cli/terminal_text.h"
#include "graphs/ir/op_class.h"
#include "graphs/ops/op_def.h"
#include "graphs/ops/standard_versions.h"

namespace dfsim::cli {
namespace {

using Json = JsonTree;

struct OpsOptions {
  std::vector<std::string> names;
  std::string output = "-";
  bool json = false;
};

// The importer turns these into constant tensors, so that no operator is left.
constexpr OpDef kConstantNode = {"Constant", OpClass::kConstant, nullptr, work_none};

std::vector<const OpDef*> known_ops() {
  std::vector<const OpDef*> ops(all_op_defs().begin(), all_op_defs().end());
  ops.push_back(&kConstantNode);
  std::sort(ops.begin(), ops.end(), [](const OpDef* a, const OpDef* b) {
    return std::pair(a->domain, a->op_type) < std::pair(b->domain, b->op_type);
  });
  return ops;
}

// Those of the given names in any domain, case ignored; all without names.
StatusOr<std::vector<const OpDef*>> wanted_ops(const std::vector<std::string>& names) {
  const std::vector<const OpDef*> all = known_ops();
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

std::string domain_of(const OpDef& def) {
  return def.domain.empty() ? "ai.onnx" : std::string(def.domain);
}

// One operator: its work and opsets in as many lines as they need next to the other columns.
void add_op_rows(const OpDef& def, size_t room, TextTable* table) {
  const std::string_view versions = standard_versions(def.domain, def.op_type);
  const std::string text =
      describe_work(def) + (versions.empty() ? "" : fmt::format("; opsets {}", versions));
  bool first = true;
  for (const std::string& line : split(fit_lines(text, room), '\n')) {
    table->add_row({first ? std::string(def.op_type) : "",
                    first ? std::string(op_class_name(def.op_class)) : "", line});
    first = false;
  }
}

std::string ops_text(const std::vector<const OpDef*>& ops) {
  constexpr size_t kClasses = 17;  // columns of the classes, and gaps
  constexpr size_t kLeastRoom = 24;
  std::string text;
  for (size_t i = 0; i < ops.size();) {
    const std::string domain = domain_of(*ops[i]);
    size_t end = i;
    size_t names = domain.size();
    for (; end < ops.size() && domain_of(*ops[end]) == domain; ++end) {
      names = std::max(names, ops[end]->op_type.size());
    }
    TextTable table({{domain}, {"class"}, {"FLOPs, unless it says MACs"}});
    const size_t room = std::max(text_width(), names + kClasses + kLeastRoom) - names - kClasses;
    for (; i < end; ++i) {
      add_op_rows(*ops[i], room, &table);
    }
    text += (text.empty() ? "" : "\n") + table.render();
  }
  return text;
}

Json ops_json(const std::vector<const OpDef*>& ops) {
  Json list = Json::array();
  for (const OpDef* def : ops) {
    Json versions = Json::array();
    for (const std::string& version : split(standard_versions(def->domain, def->op_type), ',')) {
      if (!version.empty()) {
        versions.push_back(std::stoi(version));
      }
    }
    list.push_back({{"domain", domain_of(*def)},
                    {"op_type", def->op_type},
                    {"opsets", std::move(versions)},
                    {"class", op_class_name(def->op_class)},
                    {"work", describe_work(*def)}});
  }
  return {{"schema", "dfsim.ops/1"}, {"operators", std::move(list)}};
}

Status run_ops(const OpsOptions& options) {
  DFSIM_ASSIGN_OR_RETURN(const std::vector<const OpDef*> ops, wanted_ops(options.names));
  return write_result(options.output, options.json ? ops_json(ops).text() : ops_text(ops));
}

OptionTable ops_options(OpsOptions& o) {
  return {
      {.names = "NAME",
       .target = &o.names,
       .help = "Only operators of these names, in any domain",
       .value = "..."},
      {.names = "--json", .target = &o.json, .help = "JSON instead of text"},
      {.names = "-o,--output",
       .target = &o.output,
       .help = "Write to this file; - is stdout",
       .show_default = true},
  };
}

}  // namespace

CommandSpec ops_command() {
  const auto options = std::make_shared<OpsOptions>();
  return {.name = "ops",
          .summary = "List the operators that dfsim knows, with their opsets, class and work",
          .options = ops_options(*options),
          .examples = {{"dfsim ops Conv Gemm", "how the work of two operators is counted"}},
          .run = [options](const GlobalOptions&) { return run_ops(*options); }};
}

}  // namespace dfsim::cli
