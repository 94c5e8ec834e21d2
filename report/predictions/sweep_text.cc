// Text of a sweep: best configurations, fronts, the grid of machines, lines over the batch.
// Columns come in as many tables as the width needs.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "base/text.h"
#include "base/text_table.h"
#include "report/predictions/sweep_views.h"
#include "report/text_parts.h"

namespace dfsim::inline report {
namespace {

constexpr size_t kMostErrors = 10;
constexpr size_t kColumnGap = 2;
constexpr size_t kLongestTime = 7;     // "1.23 ms"
constexpr size_t kMachinesAcross = 5;  // columns of a grid that fit the width
constexpr size_t kMostInFront = 12;

// The first line where the work of some points is not known: how many, and one of them.
std::string incomplete_points(const SweepResult& result) {
  const size_t count = result.incomplete();
  for (size_t r = 0; count > 0 && r < result.rows.size(); ++r) {
    const SweepRow row = result.rows[r];
    if (row.error.empty() && !is_complete(row.figures)) {
      const SweepPoint point = result.points[r];
      return fit_lines(fmt::format(
          "INCOMPLETE: the work of some operators is not known in {} of {} points; the first is {} "
          "on {} ({})\n",
          count, result.rows.size(), printable(model_name(point.model), 40),
          printable(point.hardware, 24), counted(row.figures.unresolved_ops, "operator")));
    }
  }
  return "";
}

std::string rate_text(double per_s) { return fmt::format("{:.4g}", per_s); }

class SweepText {
 public:
  SweepText(const SweepResult& result, const SweepReport& report)
      : result_(result), report_(report), names_(result) {}

  std::string text(bool lines) const {
    std::string out = headline();
    out += best_configurations();
    out += fronts();
    out += machine_grid();
    if (lines) {
      out += batch_lines();
    }
    return out + host_limited() + not_ranked() + errors();
  }

 private:
  std::string headline() const {
    std::set<std::string> models;
    std::set<std::string> machines;
    for (const SweepPoint point : result_.points) {
      models.insert(point.model);
      machines.insert(point.hardware);
    }
    const size_t failed = result_.failed();
    std::string out = incomplete_points(result_);
    out += fmt::format("{} point{} of {} model{} and {} machine{}", result_.points.size(),
                       result_.points.size() == 1 ? "" : "s", models.size(),
                       models.size() == 1 ? "" : "s", machines.size(),
                       machines.size() == 1 ? "" : "s");
    out += failed > 0 ? fmt::format("; {} failed\n", failed) : "\n";
    std::vector<std::string> limits;
    const SweepConstraints& constraints = report_.constraints;
    if (constraints.max_latency_ms > 0) {
      limits.push_back(fmt::format("latency at most {} ms", constraints.max_latency_ms));
    }
    if (constraints.max_memory_gb > 0) {
      limits.push_back(fmt::format("memory at most {} GB", constraints.max_memory_gb));
    }
    if (constraints.max_price_per_hour > 0) {
      limits.push_back(fmt::format("price at most {} per hour", constraints.max_price_per_hour));
    }
    return limits.empty() ? out : out + fit_lines("constraints: " + join(limits, ", ") + "\n");
  }

  static TextTable configuration_table(std::string first, std::string second) {
    return TextTable({{std::move(first)},
                      {std::move(second)},
                      {"machine"},
                      {"settings"},
                      {"batch", Align::kRight},
                      {"latency", Align::kRight},
                      {"per s", Align::kRight},
                      {"memory", Align::kRight},
                      {"cost/M", Align::kRight}});
  }

  void add_configuration(std::string first, std::string second, size_t number,
                         TextTable* table) const {
    const SweepPoint point = result_.points[number];
    const SweepRow row = result_.rows[number];
    const SweepFigures& figures = row.figures;
    const auto cost = cost_per_million(point, figures, report_.constraints.prices);
    table->add_row({std::move(first), std::move(second), printable(point.hardware, 24),
                    names_.settings(point, row), std::to_string(figures.batch),
                    format_time(figures.latency_ns), rate_text(figures.throughput_per_s),
                    format_bytes(figures.peak_memory_bytes),
                    cost.has_value() ? fmt::format("{:.4g}", *cost) : "-"});
  }

  std::string best_configurations() const {
    TextTable table = configuration_table("Best of", "in");
    bool any = false;
    for (const SweepModelReport& model : report_.models) {
      std::string name = names_.model(model.model, model.mode);
      for (size_t goal = 0; goal < model.best.size(); ++goal) {
        if (model.best[goal].has_value()) {
          add_configuration(std::exchange(name, ""), std::string(kSweepGoalNames[goal]),
                            *model.best[goal], &table);
          any = true;
        }
      }
    }
    table.drop_empty_columns();
    return any ? "\n" + table.render(text_width()) : "\nno configuration can be ranked\n";
  }

  std::string fronts() const {
    TextTable table = configuration_table("Pareto front", "");
    size_t hidden = 0;
    bool any = false;
    for (const SweepModelReport& model : report_.models) {
      std::string name = names_.model(model.model, model.mode);
      for (size_t i = 0; i < model.front.size(); ++i) {
        if (i < kMostInFront) {
          add_configuration(std::exchange(name, ""), "", model.front[i], &table);
          any = true;
        } else {
          ++hidden;
        }
      }
    }
    if (!any) {
      return "";
    }
    table.drop_empty_columns();
    std::string out = "\n" + table.render(text_width());
    if (hidden > 0) {
      out += fmt::format("({} more; --json has all)\n", hidden);
    }
    return out + fmt::format("(no other is better in both latency and {})\n",
                             report_.constraints.prices.empty() ? "throughput" : "cost");
  }

  // Whether a row's latency may stand next to others.
  static bool is_shown(const SweepRow& row) { return row.error.empty() && !is_limit(row.figures); }

  // The highest throughput of each model on each machine, a few machines at a time.
  std::string machine_grid() const {
    std::vector<std::string> machines;
    std::map<std::pair<std::string, std::string>, std::map<std::string, double>> best;
    for (size_t r = 0; r < result_.points.size(); ++r) {
      const SweepPoint point = result_.points[r];
      const SweepRow row = result_.rows[r];
      if (std::find(machines.begin(), machines.end(), point.hardware) == machines.end()) {
        machines.push_back(point.hardware);
      }
      if (is_shown(row) && !is_too_large(row.figures)) {
        double& cell = best[{point.model, point.mode}][point.hardware];
        cell = std::max(cell, row.figures.throughput_per_s);
      }
    }
    std::string out;
    for (size_t begin = 0; machines.size() > 1 && begin < machines.size();
         begin += kMachinesAcross) {
      const size_t end = std::min(machines.size(), begin + kMachinesAcross);
      std::vector<TextTable::Column> columns = {{"Highest samples/s"}};
      for (size_t m = begin; m < end; ++m) {
        columns.push_back({printable(machines[m], 14), Align::kRight});
      }
      TextTable table(std::move(columns));
      for (const SweepModelReport& model : report_.models) {
        std::vector<std::string> cells = {names_.model(model.model, model.mode)};
        const auto& values = best[{model.model, model.mode}];
        for (size_t m = begin; m < end; ++m) {
          const auto value = values.find(machines[m]);
          cells.push_back(value == values.end() ? "-" : rate_text(value->second));
        }
        table.add_row(std::move(cells));
      }
      out += "\n" + table.render(text_width());
    }
    return out;
  }

  // Latency over the batch, a column per line of one model.
  std::string batch_lines() const {
    std::string out;
    for (const SweepModelReport& model : report_.models) {
      std::vector<std::string> lines;
      std::map<int64_t, std::map<std::string, std::string>> cells;  // by batch and line
      for (size_t r = 0; r < result_.points.size(); ++r) {
        const SweepPoint point = result_.points[r];
        const SweepRow row = result_.rows[r];
        if (point.model != model.model || point.mode != model.mode || !is_shown(row)) {
          continue;
        }
        const std::string line = names_.line(point, row);
        if (std::find(lines.begin(), lines.end(), line) == lines.end()) {
          lines.push_back(line);
        }
        cells[row.figures.batch][line] = format_time(row.figures.latency_ns);
      }
      for (size_t begin = 0, end = 0; begin < lines.size(); begin = end) {
        const std::string title = names_.model(model.model, model.mode) + ", batch";
        std::vector<TextTable::Column> columns = {{title, Align::kRight}};
        // As many lines as fit the width, at least one.
        size_t width = title.size();
        for (; end < lines.size(); ++end) {
          const std::string name = printable(lines[end], 24);
          width += kColumnGap + std::max(name.size(), kLongestTime);
          if (end > begin && width > text_width()) {
            break;
          }
          columns.push_back({name, Align::kRight});
        }
        TextTable table(std::move(columns));
        for (const auto& [batch, values] : cells) {
          std::vector<std::string> texts = {std::to_string(batch)};
          for (size_t l = begin; l < end; ++l) {
            const auto value = values.find(lines[l]);
            texts.push_back(value == values.end() ? "-" : value->second);
          }
          table.add_row(std::move(texts));
        }
        out += "\n" + table.render(text_width());
      }
    }
    return out;
  }

  std::string not_ranked() const {
    size_t limits = 0;
    size_t too_large = 0;
    size_t excluded = 0;
    for (const SweepModelReport& model : report_.models) {
      limits += model.limits;
      too_large += model.too_large;
      excluded += model.excluded;
    }
    std::vector<std::string> parts;
    if (limits > 0) {
      parts.push_back(fmt::format(
          "{} with lower limits only (work or times of operators are not known)", limits));
    }
    if (too_large > 0) {
      parts.push_back(fmt::format("{} with too much memory for the device", too_large));
    }
    if (excluded > 0) {
      parts.push_back(fmt::format("{} outside the constraints", excluded));
    }
    return parts.empty() ? "" : fit_lines("\nnot ranked: " + join(parts, "; ") + "\n");
  }

  // Points whose device idles for the host rank hosts, not devices.
  std::string host_limited() const {
    constexpr double kBusyHost = 0.9;
    constexpr double kIdleDevice = 0.7;
    size_t count = 0;
    for (const SweepRow row : result_.rows) {
      const auto latency = static_cast<double>(row.figures.latency_ns);
      count += row.error.empty() && latency > 0 &&
                       static_cast<double>(row.figures.host_busy_ns) > kBusyHost * latency &&
                       static_cast<double>(row.figures.device_busy_ns) < kIdleDevice * latency
                   ? 1
                   : 0;
    }
    if (count == 0) {
      return "";
    }
    return fit_lines(
        fmt::format("\n{} for the host, whose speed is the hardware file's "
                    "(host: dispatch_speed); --runtime cuda-graph compares the devices alone\n",
                    count == 1 ? "1 point waits" : fmt::format("{} points wait", count)));
  }

  std::string errors() const {
    std::string out;
    for (size_t e = 0; e < std::min(kMostErrors, report_.errors.size()); ++e) {
      const SweepError& error = report_.errors[e];
      out +=
          fmt::format("{} point{}: {}\n", error.points, error.points == 1 ? "" : "s", error.text);
    }
    if (report_.errors.size() > kMostErrors) {
      out += fmt::format("and {} other errors\n", report_.errors.size() - kMostErrors);
    }
    return out.empty() ? "" : "\nfailed:\n" + fit_lines(out);
  }

  const SweepResult& result_;
  const SweepReport& report_;
  const SweepNames names_;
};

}  // namespace

SweepNames::SweepNames(const SweepResult& result) {
  std::set<std::string> runtimes;
  std::set<std::string> files;
  std::set<std::string> names;
  const SweepPoint first = result.points.empty() ? SweepPoint() : result.points.front();
  for (const SweepPoint point : result.points) {
    runtimes.insert(point.runtime);
    precisions_ = precisions_ || point.precision != first.precision;
    modes_ = modes_ || point.mode != first.mode;
    policies_ = policies_ || point.policy != first.policy;
    if (files.insert(point.model).second) {
      names_clash_ = !names.insert(model_name(point.model)).second || names_clash_;
    }
  }
  runtimes_ = runtimes.size() > 1;
}

std::string SweepNames::settings(const SweepPoint& point, const SweepRow& row) const {
  std::vector<std::string> parts;
  if (runtimes_) {
    parts.push_back(row.runtime);
  }
  if (precisions_) {
    parts.push_back(point.precision.empty() ? "own precision" : printable(point.precision, 20));
  }
  if (policies_) {
    parts.push_back(point.policy);
  }
  for (const auto& [name, extent] : point.param) {
    parts.push_back(fmt::format("{}={}", printable(name, 20), extent));
  }
  return join(parts, ", ");
}

std::string SweepNames::line(const SweepPoint& point, const SweepRow& row) const {
  const std::string rest = settings(point, row);
  return printable(point.hardware, 24) + (rest.empty() ? "" : ", " + rest);
}

std::string SweepNames::model(const std::string& file, const std::string& mode) const {
  std::string text = names_clash_ ? printable(file, 40) : model_name(file);
  return modes_ ? text + ", " + mode : text;
}

std::string sweep_text(const SweepResult& result, const SweepReport& report, bool lines) {
  return SweepText(result, report).text(lines);
}

}  // namespace dfsim::inline report
