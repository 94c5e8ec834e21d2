#include "graphs/ops/import_notes.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "graphs/ops/families/layout/subgraph.h"

namespace dfsim::inline graphs {
namespace {

// Nesting is bounded by the readers of files.
void collect_loops(const Graph& graph, std::vector<std::string>* names) {
  for (const Op& op : graph.ops()) {
    if (op.op_type == "Loop" && op.domain.empty()) {
      names->push_back(op.name);
    }
    for (const auto& [name, value] : op.attributes.entries()) {
      if (const auto* body = std::get_if<GraphPtr>(&value)) {
        collect_loops(**body, names);
      }
    }
  }
}

// Names the operators, also those of loop bodies and branches, that make a tensor whose extents
// depend on data out of tensors whose extents do not. Single elements do not count: what a loop's
// counter becomes is marked, too, as no trip's value is that of the others. A GraphBuilder or a
// Graph.
template <typename Ops>
void collect_bounds(const Ops& graph, std::vector<std::string>* names) {
  const auto depends = [&graph](const std::vector<TensorId>& ids) {
    return std::any_of(ids.begin(), ids.end(), [&graph](TensorId id) {
      if (!id.valid() || !graph.tensor(id).data_dependent) {
        return false;
      }
      const Shape& shape = graph.tensor(id).shape;
      return !shape.is_static() || shape.elements() != Count(1);
    });
  };
  for (size_t i = 0; i < graph.op_count(); ++i) {
    const Op& op = graph.op(OpId(i));
    if (depends(op.outputs) && !depends(op.inputs) &&
        op.op_class != OpClass::kControlFlow) {  // those have notes of their own
      names->push_back(op.op_type + " " + op.name);
    }
    for (const auto& [name, value] : op.attributes.entries()) {
      if (const auto* body = std::get_if<GraphPtr>(&value)) {
        collect_bounds(**body, names);
      }
    }
  }
}

}  // namespace

std::string some_names(std::string_view what, const std::vector<std::string>& names) {
  constexpr size_t kMost = 3;
  std::vector<std::string> shown;
  for (size_t i = 0; i < std::min(kMost, names.size()); ++i) {
    shown.push_back(fmt::format("'{}'", printable(names[i], 60)));
  }
  const std::string more =
      names.size() > kMost ? fmt::format(" and {} more", names.size() - kMost) : "";
  return fmt::format("{}{}{}{}", what, what.empty() ? "" : " ", join(shown, ", "), more);
}

void note_assumptions(const std::vector<OpenLoop>& open_loops,
                      const std::vector<std::string>& open_ifs, ImportReport* report) {
  std::vector<std::string> names;
  std::vector<std::string> limited;
  for (const OpenLoop& loop : open_loops) {
    (loop.most > 0 ? limited : names).push_back(loop.name);
    if (loop.multiplies && loop.most == 0) {
      report->uncounted_loops.push_back(loop.name);
    }
  }
  if (!limited.empty()) {
    report->notes.push_back(fmt::format(
        "{} may end before {}, all trips of which are assumed; use --trip-count NAME=N",
        some_names("Loop", limited), limited.size() == 1 ? "its limit" : "their limits"));
  }
  if (!names.empty()) {
    report->notes.push_back(
        fmt::format("how often {} runs is not known before the run, 1 is assumed; use "
                    "--trip-count NAME=N",
                    some_names("Loop", names)));
  }
  if (!open_ifs.empty()) {
    report->notes.push_back(fmt::format(
        "which branch of {} is taken is not known before the run, the larger one, or that of the "
        "largest extents, is costed; --branch then|else chooses",
        some_names("If", open_ifs)));
  }
}

void note_bounds(const GraphBuilder& builder, std::vector<std::string>* notes) {
  std::vector<std::string> names;
  collect_bounds(builder, &names);
  if (!names.empty()) {
    notes->push_back(
        fmt::format("how much {} returns depends on the data, the most possible is assumed",
                    some_names("", names)));
  }
}

Status check_trip_counts(const ImportOptions& options, const Graph& graph) {
  if (options.trip_counts.empty()) {
    return ok_status();
  }
  std::vector<std::string> loops;
  collect_loops(graph, &loops);
  for (const auto& [name, count] : options.trip_counts) {
    if (std::find(loops.begin(), loops.end(), name) == loops.end()) {
      return invalid_input("--trip-count: " + unknown_name_message("Loop", name, loops));
    }
  }
  return ok_status();
}

}  // namespace dfsim::inline graphs
