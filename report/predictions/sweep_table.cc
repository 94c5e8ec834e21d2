// One list of columns describes a row; CSV and JSON are written from the cells that it gives.
#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "base/check.h"
#include "base/json/json_tree.h"
#include "base/text.h"
#include "report/predictions/sweep_views.h"
#include "report/text_parts.h"

namespace dfsim::inline report {
namespace {

constexpr size_t kPieceBytes = size_t{1} << 16;

// monostate = no value.
using SweepCell = std::variant<std::monostate, bool, int64_t, double, std::string>;

struct SweepColumn {
  std::string name;
  std::function<SweepCell(const SweepPoint& point, const SweepRow& row)> cell;
};

int64_t count_cell(uint64_t count) { return static_cast<int64_t>(count); }

SweepCell cell_of(const std::optional<double>& value) {
  return value.has_value() ? SweepCell(*value) : SweepCell();
}

// A column of what a failed point does not have.
template <typename Cell>
SweepColumn figure(std::string name, const Cell& cell) {
  return {std::move(name), [cell](const SweepPoint&, const SweepRow& row) {
            return row.error.empty() ? SweepCell(cell(row.figures)) : SweepCell();
          }};
}

void add_settings(const SweepResult& result, std::vector<SweepColumn>* columns) {
  const auto setting = [&](std::string name, const auto& cell) {
    columns->push_back({std::move(name), cell});
  };
  setting("model",
          [](const SweepPoint& point, const SweepRow&) { return model_name(point.model); });
  setting("file", [](const SweepPoint& point, const SweepRow&) { return point.model; });
  setting("hw", [](const SweepPoint& point, const SweepRow&) { return point.hardware; });
  setting("runtime", [](const SweepPoint&, const SweepRow& row) { return row.runtime; });
  setting("precision", [](const SweepPoint& point, const SweepRow&) { return point.precision; });
  setting("mode", [](const SweepPoint& point, const SweepRow&) { return point.mode; });
  setting("policy", [](const SweepPoint& point, const SweepRow&) { return point.policy; });
  std::set<std::string> params;
  for (const SweepPoint point : result.points) {
    for (const auto& param : point.param) {
      params.insert(param.first);
    }
  }
  for (const std::string& name : params) {
    setting("param:" + name, [name](const SweepPoint& point, const SweepRow&) {
      for (const auto& [param, extent] : point.param) {
        if (param == name) {
          return SweepCell(extent);
        }
      }
      return SweepCell();
    });
  }
  // A failed point has the batch that it was asked for, others have the one that the import found.
  setting("batch", [](const SweepPoint& point, const SweepRow& row) {
    const int64_t batch = row.error.empty() ? row.figures.batch : point.batch;
    return batch > 0 ? SweepCell(batch) : SweepCell();
  });
}

void add_figures(std::vector<SweepColumn>* columns) {
  using F = SweepFigures;
  const auto add = [&](SweepColumn column) { columns->push_back(std::move(column)); };
  // The latency of a part of a model has a column of its own, and no upper end; rates likewise.
  const auto when = [](bool shown, double value) { return shown ? SweepCell(value) : SweepCell(); };
  add(figure("complete", [](const F& f) { return is_complete(f); }));
  add(figure("latency_ms", [=](const F& f) { return when(is_complete(f), in_ms(f.latency_ns)); }));
  add(figure("latency_at_least_ms",
             [=](const F& f) { return when(!is_complete(f), in_ms(f.latency_ns)); }));
  add(figure("latency_low_ms", [](const F& f) { return in_ms(f.interval.low_ns); }));
  add(figure("latency_high_ms",
             [=](const F& f) { return when(is_complete(f), in_ms(f.interval.high_ns)); }));
  add(figure("is_limit", [](const F& f) { return is_limit(f); }));
  add(figure("throughput_per_s",
             [=](const F& f) { return when(is_complete(f), f.throughput_per_s); }));
  add(figure("throughput_at_most_per_s",
             [=](const F& f) { return when(!is_complete(f), f.throughput_per_s); }));
  add(figure("peak_memory_bytes", [](const F& f) { return f.peak_memory_bytes; }));
  add(figure("device_memory_bytes", [](const F& f) { return f.memory_bytes; }));
  add(figure("fits", [](const F& f) {
    return f.memory_bytes == 0 || f.peak_memory_bytes <= f.memory_bytes;
  }));
  add(figure("weight_bytes", [](const F& f) { return f.weight_bytes; }));
  add(figure("parameters", [](const F& f) { return f.parameters; }));
  add(figure("macs", [](const F& f) { return f.macs; }));
  add(figure("flops", [](const F& f) { return f.flops; }));
  add(figure("achieved_flops_per_s", [](const F& f) { return f.achieved_flops_per_s; }));
  add(figure("device_busy_ms", [](const F& f) { return in_ms(f.device_busy_ns); }));
  add(figure("host_busy_ms", [](const F& f) { return in_ms(f.host_busy_ns); }));
  add(figure("tasks", [](const F& f) { return count_cell(f.tasks); }));
  add(figure("unresolved_ops", [](const F& f) { return count_cell(f.unresolved_ops); }));
  add(figure("bound_only_fraction", [](const F& f) { return f.bound_only_fraction; }));
}

void add_costs(const HourlyPrices& prices, std::vector<SweepColumn>* columns) {
  columns->push_back({"price_per_hour", [prices](const SweepPoint& point, const SweepRow&) {
                        return cell_of(hourly_price(point, prices));
                      }});
  columns->push_back({"cost_per_million", [prices](const SweepPoint& point, const SweepRow& row) {
                        return row.error.empty()
                                   ? cell_of(cost_per_million(point, row.figures, prices))
                                   : SweepCell();
                      }});
}

std::vector<SweepColumn> sweep_columns(const SweepResult& result, const HourlyPrices& prices) {
  std::vector<SweepColumn> columns;
  add_settings(result, &columns);
  add_figures(&columns);
  if (!prices.empty()) {
    add_costs(prices, &columns);
  }
  columns.push_back({"error", [](const SweepPoint&, const SweepRow& row) {
                       return row.error.empty() ? SweepCell() : SweepCell(row.error);
                     }});
  return columns;
}

std::string csv_text(const SweepCell& cell) {
  struct Writer {
    std::string operator()(std::monostate) const { return ""; }
    std::string operator()(bool value) const { return value ? "true" : "false"; }
    std::string operator()(const std::string& value) const { return csv_field(value); }
    std::string operator()(int64_t value) const { return std::to_string(value); }
    std::string operator()(double value) const { return fmt::format("{}", value); }
  };
  return std::visit(Writer(), cell);
}

JsonTree json_value(const SweepCell& cell) {
  struct Writer {
    JsonTree operator()(std::monostate) const { return nullptr; }
    JsonTree operator()(bool value) const { return value; }
    JsonTree operator()(const std::string& value) const { return value; }
    JsonTree operator()(int64_t value) const { return value; }
    JsonTree operator()(double value) const { return value; }
  };
  return std::visit(Writer(), cell);
}

JsonTree row_json(const std::vector<SweepColumn>& columns, const SweepPoint& point,
                  const SweepRow& row) {
  JsonTree json = JsonTree::object();
  for (const SweepColumn& column : columns) {
    json[column.name] = json_value(column.cell(point, row));
  }
  return json;
}

std::string row_csv(const std::vector<SweepColumn>& columns, const SweepPoint& point,
                    const SweepRow& row) {
  std::string line;
  for (size_t c = 0; c < columns.size(); ++c) {
    line += (c == 0 ? "" : ",") + csv_text(columns[c].cell(point, row));
  }
  return line;
}

// Hands texts over in pieces of about kPieceBytes.
class PieceWriter {
 public:
  explicit PieceWriter(const WritePiece& write) : write_(write) {}

  Status add(std::string_view text) {
    piece_ += text;
    return piece_.size() < kPieceBytes ? ok_status() : flush();
  }
  Status flush() {
    const std::string piece = std::exchange(piece_, "");
    return write_(piece);
  }

 private:
  const WritePiece& write_;
  std::string piece_;
};

// One text of all pieces that `write_pieces` writes.
template <typename WritePieces>
std::string whole_text(const WritePieces& write_pieces) {
  std::string text;
  DFSIM_CHECK(write_pieces([&](std::string_view piece) {
                text += piece;
                return ok_status();
              }).ok());
  return text;
}

JsonTree limit_json(double limit) { return limit > 0 ? JsonTree(limit) : JsonTree(nullptr); }

JsonTree model_json(const SweepModelReport& model) {
  JsonTree best = JsonTree::object();
  for (size_t goal = 0; goal < kSweepGoalNames.size(); ++goal) {
    best[kSweepGoalNames[goal]] =
        model.best[goal].has_value() ? JsonTree(*model.best[goal]) : JsonTree(nullptr);
  }
  return {{"model", model_name(model.model)},
          {"file", model.model},
          {"mode", model.mode},
          {"best", std::move(best)},
          {"pareto_front", model.front},
          {"not_ranked",
           {{"failed", model.failed},
            {"limits", model.limits},
            {"too_large", model.too_large},
            {"excluded", model.excluded}}}};
}

}  // namespace

Status write_sweep_table(const SweepResult& result, const HourlyPrices& prices, bool csv,
                         const WritePiece& write) {
  const std::vector<SweepColumn> columns = sweep_columns(result, prices);
  PieceWriter pieces(write);
  for (size_t c = 0; csv && c < columns.size(); ++c) {
    DFSIM_RETURN_IF_ERROR(pieces.add((c == 0 ? "" : ",") + csv_field(columns[c].name)));
  }
  DFSIM_RETURN_IF_ERROR(pieces.add(csv ? "\n" : ""));
  for (size_t r = 0; r < result.rows.size(); ++r) {
    const SweepPoint point = result.points[r];
    const SweepRow row = result.rows[r];
    DFSIM_RETURN_IF_ERROR(pieces.add(
        (csv ? row_csv(columns, point, row) : row_json(columns, point, row).compact_text()) +
        "\n"));
  }
  return pieces.flush();
}

std::string sweep_csv(const SweepResult& result, const HourlyPrices& prices) {
  return whole_text(
      [&](const WritePiece& write) { return write_sweep_table(result, prices, true, write); });
}

std::string sweep_json_lines(const SweepResult& result, const HourlyPrices& prices) {
  return whole_text(
      [&](const WritePiece& write) { return write_sweep_table(result, prices, false, write); });
}

// The rows are the last member: the text of a report without rows, opened up at its end.
Status write_sweep_json(const SweepResult& result, const SweepReport& report,
                        const WritePiece& write) {
  const SweepConstraints& constraints = report.constraints;
  JsonTree json = {{"schema", kSweepSchema},
                   {"points", result.points.size()},
                   {"failed", result.failed()},
                   {"incomplete", result.incomplete()},
                   {"constraints",
                    {{"max_latency_ms", limit_json(constraints.max_latency_ms)},
                     {"max_memory_gb", limit_json(constraints.max_memory_gb)},
                     {"max_price_per_hour", limit_json(constraints.max_price_per_hour)}}}};
  JsonTree& models = json["models"] = JsonTree::array();
  for (const SweepModelReport& model : report.models) {
    models.push_back(model_json(model));
  }
  json["rows"] = JsonTree::array();
  const std::string text = json.text();
  const size_t end = text.rfind(']');
  const std::vector<SweepColumn> columns = sweep_columns(result, constraints.prices);
  PieceWriter pieces(write);
  DFSIM_RETURN_IF_ERROR(pieces.add(std::string_view(text).substr(0, end)));
  for (size_t r = 0; r < result.rows.size(); ++r) {
    const JsonTree row = row_json(columns, result.points[r], result.rows[r]);
    DFSIM_RETURN_IF_ERROR(pieces.add((r == 0 ? "\n    " : ",\n    ") + row.indented_text(2)));
  }
  DFSIM_RETURN_IF_ERROR(pieces.add(result.rows.empty() ? "" : "\n  "));
  DFSIM_RETURN_IF_ERROR(pieces.add(std::string_view(text).substr(end)));
  return pieces.flush();
}

std::string sweep_json(const SweepResult& result, const SweepReport& report) {
  return whole_text(
      [&](const WritePiece& write) { return write_sweep_json(result, report, write); });
}

}  // namespace dfsim::inline report
