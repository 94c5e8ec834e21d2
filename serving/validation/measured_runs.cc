// Reader of measured deployments, and a search for rows that cannot both be right: a busier server
// gives no user its tokens faster.
#include "serving/validation/measured_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>

#include "base/io/text_file.h"
#include "base/text.h"

namespace dfsim::inline serving {
namespace {

// The fields of one line by column name.
class RunFields {
 public:
  RunFields(const std::map<std::string, size_t>& columns, std::vector<std::string> fields)
      : columns_(columns), fields_(std::move(fields)) {}

  std::string text(const std::string& name) const {
    const auto column = columns_.find(name);
    return column == columns_.end() ? "" : fields_[column->second];
  }
  StatusOr<double> number(const std::string& name) const {
    const std::string value = text(name);
    double result = 0;
    const auto parsed = std::from_chars(value.data(), value.data() + value.size(), result);
    if (parsed.ec != std::errc() || parsed.ptr != value.data() + value.size() ||
        !std::isfinite(result) || result <= 0) {
      return invalid_input("column " + name + " is '" + printable(value) +
                           "', expected a positive number");
    }
    return result;
  }
  // A count; `fallback` where the field is empty or 0.
  StatusOr<int> width(const std::string& name, int fallback) const {
    const std::string value = text(name);
    if (value.empty() || value == "0" || value == "0.0") {
      return fallback;
    }
    DFSIM_ASSIGN_OR_RETURN(const double result, number(name));
    if (result != std::floor(result) || result > 4096) {
      return invalid_input("column " + name + " is '" + printable(value) +
                           "', expected a whole number up to 4096");
    }
    return static_cast<int>(result);
  }

 private:
  const std::map<std::string, size_t>& columns_;
  std::vector<std::string> fields_;
};

// The users that the load generator was set to, where the source says so: "silicon_concurrency=320;
// ...". One campaign records users per GPU as batch_size (80 on 4 GPUs for 320 users).
std::optional<int64_t> recorded_concurrency(const std::string& source) {
  const std::string key = "silicon_concurrency=";
  const size_t at = source.find(key);
  if (at == std::string::npos) {
    return std::nullopt;
  }
  int64_t users = 0;
  const char* const begin = source.data() + at + key.size();
  const auto parsed = std::from_chars(begin, source.data() + source.size(), users);
  return parsed.ec == std::errc() && users > 0 ? std::optional(users) : std::nullopt;
}

StatusOr<MeasuredRun> run_of(const RunFields& fields) {
  MeasuredRun run;
  run.id = fields.text("id");
  run.source = fields.text("silicon_data_source");
  run.framework = fields.text("backend");
  run.version = fields.text("backend_version");
  run.model = fields.text("model_path");
  run.system = fields.text("system");
  run.gemm_mode = fields.text("gemm_quant_mode");
  run.moe_mode = fields.text("moe_quant_mode");
  DFSIM_ASSIGN_OR_RETURN(const double isl, fields.number("isl"));
  DFSIM_ASSIGN_OR_RETURN(const double osl, fields.number("osl"));
  DFSIM_ASSIGN_OR_RETURN(const double users, fields.number("batch_size"));
  run.isl = static_cast<int64_t>(isl);
  run.osl = static_cast<int64_t>(osl);
  run.users = recorded_concurrency(run.source).value_or(static_cast<int64_t>(users));
  DFSIM_ASSIGN_OR_RETURN(run.tp, fields.width("tp_size", 1));
  DFSIM_ASSIGN_OR_RETURN(run.pp, fields.width("pp_size", 1));
  DFSIM_ASSIGN_OR_RETURN(run.dp, fields.width("attention_dp_size", 1));
  run.dp_recorded = !fields.text("attention_dp_size").empty();
  DFSIM_ASSIGN_OR_RETURN(run.moe_tp, fields.width("moe_tp_size", 1));
  DFSIM_ASSIGN_OR_RETURN(run.moe_ep, fields.width("moe_ep_size", 1));
  DFSIM_ASSIGN_OR_RETURN(run.ttft_ms, fields.number("silicon_ttft_ms"));
  DFSIM_ASSIGN_OR_RETURN(run.tpot_ms, fields.number("silicon_tpot_ms"));
  return run;
}

}  // namespace

std::string MeasuredRun::configuration() const {
  return fmt::format("{}|{}|{}|{}|{}|{}/{}|{} users|tp {} pp {} dp {}|experts {} x {}", framework,
                     version, model, system, gemm_mode, isl, osl, users, tp, pp, dp, moe_tp,
                     moe_ep);
}

StatusOr<std::vector<MeasuredRun>> read_measured_runs(const std::string& path) {
  DFSIM_ASSIGN_OR_RETURN(LineReader lines, LineReader::open(path));
  std::string_view line;
  DFSIM_ASSIGN_OR_RETURN(const bool any, lines.next(&line));
  std::map<std::string, size_t> columns;
  if (any) {
    const std::vector<std::string> names = split(line, ',');
    for (size_t i = 0; i < names.size(); ++i) {
      columns[names[i]] = i;
    }
  }
  const size_t count = columns.size();
  for (const char* name : {"backend", "model_path", "system", "isl", "osl", "batch_size", "tp_size",
                           "silicon_ttft_ms", "silicon_tpot_ms"}) {
    if (!columns.contains(name)) {
      return invalid_input(path + " line 1: no column " + name +
                           ", expected the columns of aiconfigurator's silicon tables");
    }
  }
  std::vector<MeasuredRun> runs;
  while (true) {
    DFSIM_ASSIGN_OR_RETURN(const bool more, lines.next(&line));
    if (!more) {
      break;
    }
    const std::string place = path + " line " + std::to_string(lines.line_number());
    std::vector<std::string> fields = split(line, ',');
    if (fields.size() != count) {
      return invalid_input(place + ": " + std::to_string(fields.size()) + " fields, expected " +
                           std::to_string(count) + " as in the header");
    }
    StatusOr<MeasuredRun> run = run_of(RunFields(columns, std::move(fields)));
    DFSIM_RETURN_IF_ERROR(run.status().with_place(place));
    run->line = lines.line_number();
    runs.push_back(std::move(*run));
  }
  if (runs.empty()) {
    return invalid_input(path + ": no rows below the header, expected measured deployments");
  }
  return runs;
}

double MeasuredRun::mean_running() const {
  const double decode_ms = static_cast<double>(osl - 1) * tpot_ms;
  return static_cast<double>(users) * decode_ms / (ttft_ms + decode_ms);
}

std::vector<Contradiction> find_contradictions(const std::vector<MeasuredRun>& runs,
                                               double factor) {
  // Rows of one deployment and lengths, by users. A newer version may be faster, so rows of
  // different versions contradict each other only where a busier server is faster.
  std::map<std::string, std::vector<size_t>> groups;
  for (size_t i = 0; i < runs.size(); ++i) {
    MeasuredRun key = runs[i];
    key.users = 0;
    key.version.clear();
    groups[key.configuration()].push_back(i);
  }
  std::vector<Contradiction> found;
  for (auto& [key, members] : groups) {
    std::stable_sort(members.begin(), members.end(),
                     [&](size_t a, size_t b) { return runs[a].users < runs[b].users; });
    for (size_t a = 0; a < members.size(); ++a) {
      for (size_t b = a + 1; b < members.size(); ++b) {
        const MeasuredRun& few = runs[members[a]];
        const MeasuredRun& many = runs[members[b]];
        const double tpot = few.tpot_ms / many.tpot_ms;
        const bool same_version = few.version == many.version;
        if (same_version && few.users == many.users && std::max(tpot, 1 / tpot) > factor) {
          found.push_back({members[a], members[b],
                           fmt::format("equal configurations, TPOT differs by a factor of {:.2f}",
                                       std::max(tpot, 1 / tpot))});
        } else if (few.users < many.users && tpot > factor) {
          found.push_back(
              {members[a], members[b],
               fmt::format("{} users get tokens {:.2f} times as fast as {}{}", many.users, tpot,
                           few.users, same_version ? "" : " (another version)")});
        }
      }
    }
  }
  return found;
}

}  // namespace dfsim::inline serving
