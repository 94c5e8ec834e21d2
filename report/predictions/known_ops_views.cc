// Tables of operators: one for each domain.
#include "report/predictions/known_ops_views.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "base/text_table.h"

namespace dfsim::inline report {

namespace {

// One operator: its work and opsets in as many lines as they need next to the other columns.
void add_op_rows(const KnownOp& op, size_t room, TextTable* table) {
  const std::string text =
      op.work + (op.opsets.empty() ? "" : fmt::format("; opsets {}", op.opsets_as_text));
  bool first = true;
  for (const std::string& line : split(fit_lines(text, room), '\n')) {
    table->add_row({first ? op.op_type : "", first ? op.op_class : "", line});
    first = false;
  }
}

}  // namespace

std::string known_ops_text(const std::vector<KnownOp>& ops) {
  constexpr size_t kClasses = 17;  // columns of the classes, and gaps
  constexpr size_t kLeastRoom = 24;
  std::string text;
  for (size_t i = 0; i < ops.size();) {
    const std::string& domain = ops[i].domain;
    size_t end = i;
    size_t names = domain.size();
    for (; end < ops.size() && ops[end].domain == domain; ++end) {
      names = std::max(names, ops[end].op_type.size());
    }
    TextTable table({{domain}, {"class"}, {"FLOPs, unless it says MACs"}});
    const size_t room = std::max(text_width(), names + kClasses + kLeastRoom) - names - kClasses;
    for (; i < end; ++i) {
      add_op_rows(ops[i], room, &table);
    }
    text += (text.empty() ? "" : "\n") + table.render();
  }
  return text;
}

JsonTree known_ops_json(const std::vector<KnownOp>& ops) {
  JsonTree list = JsonTree::array();
  for (const KnownOp& op : ops) {
    JsonTree opsets = JsonTree::array();
    for (const int version : op.opsets) {
      opsets.push_back(version);
    }
    list.push_back({{"domain", op.domain},
                    {"op_type", op.op_type},
                    {"opsets", std::move(opsets)},
                    {"class", op.op_class},
                    {"work", op.work}});
  }
  return {{"schema", "dfsim.ops/1"}, {"operators", std::move(list)}};
}

}  // namespace dfsim::inline report
