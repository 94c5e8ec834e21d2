// Text and JSON of an inspection. Bodies of loops and branches follow their operator, one level
// deeper each.
#include "report/predictions/inspection_views.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/counted.h"
#include "base/json/json_tree.h"
#include "base/text.h"
#include "base/text_table.h"
#include "graphs/passes/origins.h"
#include "study/inspection/inner_ops.h"

namespace dfsim::inline report {
namespace {

using Json = JsonTree;

std::string full_type(const Op& op) {
  return op.domain.empty() ? op.op_type : op.domain + "." + op.op_type;
}

std::string tensor_text(const Tensor& tensor) {
  return fmt::format("{} {} {}{}", printable(tensor.name, 60), dtype_name(tensor.dtype),
                     format_shape(tensor.shape), tensor.data_dependent ? " (at most)" : "");
}

std::string first_output_shape(const Graph& graph, const Op& op) {
  for (const TensorId output : op.outputs) {
    if (output.valid()) {
      return format_shape(graph.tensor(output).shape);
    }
  }
  return "-";
}

std::string structure_text(const GraphStructure& structure, int64_t flops) {
  std::string text = fmt::format("{} deep, at most {} side by side",
                                 counted(structure.depth, "operator"), structure.width);
  if (flops > 0) {
    text += fmt::format(
        "; one chain holds {:.1f} % of the FLOPs",
        100 * static_cast<double>(structure.critical_flops) / static_cast<double>(flops));
  }
  return text;
}

const StudiedSymbol* find_symbol(std::span<const StudiedSymbol> symbols, const std::string& name) {
  const auto it = std::find_if(symbols.begin(), symbols.end(),
                               [&](const StudiedSymbol& symbol) { return symbol.name == name; });
  return it != symbols.end() ? &*it : nullptr;
}

std::string dependence_text(const StudiedSymbol* symbol, const Graph& graph) {
  if (symbol == nullptr) {
    return "";
  }
  return symbol->varied == 0 ? "; no other value that was tried keeps the graph as it is"
                             : fmt::format("; {} of {} {} on it", symbol->op_count(),
                                           counted(graph.op_count(), "operator"),
                                           symbol->op_count() == 1 ? "depends" : "depend");
}

// Names of the dimensions that the shapes of an op depend on.
std::vector<std::string> symbols_of(std::span<const StudiedSymbol> symbols, size_t op) {
  std::vector<std::string> names;
  for (const StudiedSymbol& symbol : symbols) {
    if (symbol.ops[op]) {
      names.push_back(symbol.name);
    }
  }
  return names;
}

bool depends_on_data(const Graph& graph, const Op& op) {
  return std::any_of(op.outputs.begin(), op.outputs.end(),
                     [&](TensorId id) { return id.valid() && graph.tensor(id).data_dependent; });
}

std::string header_text(const Inspection& inspection) {
  const auto& [name, model, totals, structure, types, symbols, runtime, passes] = inspection;
  const Graph& graph = model.graph;
  const auto field = [](std::string_view label, const std::string& value) {
    return fmt::format("  {:<13}{}\n", label, value);
  };
  std::vector<std::string> opsets;
  for (const auto& [domain, version] : graph.info().opsets) {
    opsets.push_back(
        fmt::format("{} {}", domain.empty() ? "ai.onnx" : printable(domain, 40), version));
  }
  std::string text = fmt::format("{}\n\n", name);
  text += field("producer", printable(graph.info().producer, 60));
  text += field("opset", fmt::format("{} (IR {})", join(opsets, ", "), graph.info().ir_version));
  text +=
      field("nodes", fmt::format("{} in the file, {} besides constants", model.report.file_nodes,
                                 counted(graph.op_count(), "operator")));
  if (!runtime.empty()) {
    text += field(
        "runtime",
        fmt::format("{}: {}", runtime, passes.empty() ? "nothing to rewrite" : join(passes, ", ")));
  }
  text += field("structure", structure_text(structure, totals.flops));
  for (const TensorId input : graph.inputs()) {
    text += field("input", tensor_text(graph.tensor(input)));
  }
  for (const TensorId output : graph.outputs()) {
    text += field("output", tensor_text(graph.tensor(output)));
  }
  for (const BoundDim& dim : model.report.dims) {
    text += field("dimension",
                  fmt::format("{} = {} ({}; --dim {}=N changes it){}", printable(dim.name, 40),
                              dim.extent, dim.origin, printable(dim.name, 40),
                              dependence_text(find_symbol(symbols, dim.name), graph)));
  }
  text += field("MACs", format_count(static_cast<double>(totals.macs)));
  text += field("FLOPs", format_count(static_cast<double>(totals.flops)));
  text += field("parameters",
                fmt::format("{} ({})", format_count(static_cast<double>(totals.parameters)),
                            format_bytes(totals.weight_bytes)));
  text += field("unresolved", model.report.unresolved.empty()
                                  ? "none"
                                  : counted(model.report.unresolved.size(), "operator"));
  for (const std::string& note : model.report.notes) {
    text += field("note", note);
  }
  return text;
}

std::string unresolved_text(const ImportReport& report, size_t width) {
  TextTable table({{"unresolved op"}, {"type"}, {"reason"}});
  for (const UnresolvedOpInfo& op : report.unresolved) {
    table.add_row({printable(op.name, 60), printable(op.op_type, 40), op.reason});
  }
  return table.render(width, 2);
}

// The contents of a loop or branch, with the work of one run each.
void add_inner_rows(const Op& outer, TextTable* table) {
  for (const InnerOp& inner : inner_ops(outer)) {
    const std::string name =
        fmt::format("{:>{}} {}{}", ">", inner.depth, printable(inner.op->name, 60),
                    inner.trips == 1 ? "" : fmt::format(" (x {})", inner.trips));
    table->add_row(
        {name, printable(full_type(*inner.op), 30), std::string(op_class_name(inner.op->op_class)),
         first_output_shape(*inner.graph, *inner.op), inner.part,
         format_count(static_cast<double>(inner.work.macs)),
         format_count(static_cast<double>(inner.work.flops)), format_bytes(inner.work.bytes())});
  }
}

std::string ops_text(const Inspection& inspection, size_t width) {
  const Graph& graph = inspection.model.graph;
  const GraphTotals& totals = inspection.totals;
  TextTable table({{"op"},
                   {"type"},
                   {"class"},
                   {"output"},
                   {"depends on"},
                   {"MACs", Align::kRight},
                   {"FLOPs", Align::kRight},
                   {"bytes", Align::kRight}});
  for (size_t i = 0; i < graph.op_count(); ++i) {
    const Op& op = graph.op(OpId(i));
    const OpWork& work = totals.work[i];
    std::vector<std::string> causes = symbols_of(inspection.symbols, i);
    if (depends_on_data(graph, op)) {
      causes.emplace_back("data");
    }
    table.add_row({printable(op.name, 60), printable(full_type(op), 30),
                   std::string(op_class_name(op.op_class)), first_output_shape(graph, op),
                   causes.empty() ? "-" : printable(join(causes, ", "), 40),
                   format_count(static_cast<double>(work.macs)),
                   format_count(static_cast<double>(work.flops)), format_bytes(work.bytes())});
    add_inner_rows(op, &table);
  }
  return table.render(width, 2);
}

Json tensor_json(const Tensor& tensor) {
  Json shape = nullptr;
  if (tensor.shape.has_rank()) {
    shape = Json::array();
    for (const Dim dim : tensor.shape.dims()) {
      shape.push_back(dim.known() ? Json(dim.extent()) : Json(nullptr));
    }
  }
  Json json = {
      {"name", tensor.name}, {"dtype", dtype_name(tensor.dtype)}, {"shape", std::move(shape)}};
  if (tensor.data_dependent) {
    json["upper_bound"] = true;
  }
  if (tensor.is_sequence) {
    json["sequence"] = true;
  }
  return json;
}

Json symbols_json(const Inspection& inspection) {
  Json dims = Json::array();
  for (const BoundDim& dim : inspection.model.report.dims) {
    const StudiedSymbol* symbol = find_symbol(inspection.symbols, dim.name);
    const bool studied = symbol != nullptr && symbol->varied != 0;
    dims.push_back({{"name", dim.name},
                    {"value", dim.extent},
                    {"origin", dim.origin},
                    {"dependent_ops", studied ? Json(symbol->op_count()) : Json(nullptr)}});
  }
  return dims;
}

// Operators of a control-flow operator's bodies.
Json inner_op_json(const InnerOp& inner) {
  return {{"part", inner.part},
          {"depth", inner.depth},
          {"trips", inner.trips},
          {"name", inner.op->name},
          {"op_type", full_type(*inner.op)},
          {"class", op_class_name(inner.op->op_class)},
          {"macs", inner.work.macs},
          {"flops", inner.work.flops},
          {"bytes_read", inner.work.bytes_read},
          {"bytes_written", inner.work.bytes_written},
          {"output_shape", first_output_shape(*inner.graph, *inner.op)}};
}

Json inspected_op_json(const Inspection& inspection, size_t index) {
  const Graph& graph = inspection.model.graph;
  const Op& op = graph.op(OpId(index));
  const OpWork& work = inspection.totals.work[index];
  Json json = {{"name", op.name},
               {"op_type", full_type(op)},
               {"class", op_class_name(op.op_class)},
               {"macs", work.macs},
               {"flops", work.flops},
               {"bytes_read", work.bytes_read},
               {"bytes_written", work.bytes_written},
               {"weight_bytes", work.weight_bytes},
               {"dtype", dtype_name(work.dtype)},
               {"output_shape", first_output_shape(graph, op)},
               {"depends_on", symbols_of(inspection.symbols, index)},
               {"data_dependent", depends_on_data(graph, op)}};
  for (const InnerOp& inner : inner_ops(op)) {
    json["inside"].push_back(inner_op_json(inner));
  }
  if (has_origins(op)) {
    for (const OpOrigin& origin : origins_of(op)) {
      json["origins"].push_back({{"op_type", origin.op_type}, {"name", origin.name}});
    }
  }
  return json;
}

}  // namespace

std::string inspection_text(const Inspection& inspection, const InspectionView& view,
                            size_t width) {
  const ImportedModel& model = inspection.model;
  if (view.unresolved) {
    return unresolved_text(model.report, width);
  }
  std::string text = header_text(inspection);
  if (view.ops) {
    return text + '\n' + ops_text(inspection, width);
  }
  TextTable table({{"type"},
                   {"class"},
                   {"ops", Align::kRight},
                   {"MACs", Align::kRight},
                   {"FLOPs", Align::kRight}});
  for (const TypeSummary& summary : inspection.types) {
    table.add_row({printable(summary.op_type, 60), summary.op_class, std::to_string(summary.ops),
                   format_count(static_cast<double>(summary.macs)),
                   format_count(static_cast<double>(summary.flops))});
  }
  text += '\n' + table.render(width, 2);
  return model.report.unresolved.empty() ? text
                                         : text + '\n' + unresolved_text(model.report, width);
}

std::string inspection_json(const Inspection& inspection) {
  const auto& [name, model, totals, structure, types, symbols, runtime, passes] = inspection;
  const Graph& graph = model.graph;
  Json json;
  json["schema"] = "dfsim.inspect/1";
  json["model"] = name;
  json["producer"] = graph.info().producer;
  json["ir_version"] = graph.info().ir_version;
  json["opsets"] = Json::object();
  for (const auto& [domain, version] : graph.info().opsets) {
    json["opsets"][domain.empty() ? "ai.onnx" : domain] = version;
  }
  if (!runtime.empty()) {
    json["runtime"] = runtime;
    json["passes"] = passes;
  }
  json["file_nodes"] = model.report.file_nodes;
  json["inputs"] = Json::array();
  for (const TensorId input : graph.inputs()) {
    json["inputs"].push_back(tensor_json(graph.tensor(input)));
  }
  json["outputs"] = Json::array();
  for (const TensorId output : graph.outputs()) {
    json["outputs"].push_back(tensor_json(graph.tensor(output)));
  }
  json["dims"] = symbols_json(inspection);
  json["macs"] = totals.macs;
  json["flops"] = totals.flops;
  json["parameters"] = totals.parameters;
  json["weight_bytes"] = totals.weight_bytes;
  json["structure"] = {{"depth", structure.depth},
                       {"width", structure.width},
                       {"critical_flops", structure.critical_flops}};
  json["op_types"] = Json::array();
  for (const TypeSummary& summary : types) {
    json["op_types"].push_back({{"op_type", summary.op_type},
                                {"class", summary.op_class},
                                {"ops", summary.ops},
                                {"macs", summary.macs},
                                {"flops", summary.flops}});
  }
  json["unresolved"] = Json::array();
  for (const UnresolvedOpInfo& op : model.report.unresolved) {
    json["unresolved"].push_back(
        {{"name", op.name}, {"op_type", op.op_type}, {"reason", op.reason}});
  }
  json["notes"] = model.report.notes;
  json["ops"] = Json::array();
  for (size_t i = 0; i < graph.op_count(); ++i) {
    json["ops"].push_back(inspected_op_json(inspection, i));
  }
  return json.text();
}

}  // namespace dfsim::inline report
