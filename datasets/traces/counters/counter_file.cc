// Each format becomes sums by name and counter; then the sums are shared out among the spans.
#include "datasets/traces/counters/counter_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/text.h"
#include "datasets/tables/csv.h"

namespace dfsim::inline datasets {
namespace {

// By name of operator or kernel, then counter.
using CounterSums = std::map<std::string, std::map<std::string, double>>;

// "1,234.5" too: nvprof and ncu group digits.
std::optional<double> number_in(std::string_view cell) {
  std::string digits;
  std::ranges::copy_if(cell, std::back_inserter(digits),
                       [](char c) { return c != ',' && c != ' '; });
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const bool whole = error == std::errc() && end == digits.data() + digits.size() &&
                     std::isfinite(value) && !digits.empty();
  return whole ? std::optional(value) : std::nullopt;
}

// Units of Nsight Compute's values.
double unit_factor(std::string_view unit) {
  const std::string lower = to_lower(unit);
  return lower.starts_with("k")   ? 1e3
         : lower.starts_with("m") ? 1e6
         : lower.starts_with("g") ? 1e9
                                  : 1;
}

// A region of LIKWID: what its tables say, summed over the hardware threads (times: the longest).
struct Region {
  double seconds = 0;
  double sp_mflops = 0;
  double dp_mflops = 0;
  double memory_gbytes = 0;
  std::map<std::string, double> events;
};

class CounterFileReader {
 public:
  explicit CounterFileReader(CsvReader lines) : lines_(std::move(lines)) {}

  StatusOr<CounterSums> read(std::string* format) {
    while (true) {
      DFSIM_ASSIGN_OR_RETURN(const CsvReader::Record record, lines_.next());
      if (record == CsvReader::Record::kEnd) {
        break;
      }
      if (record == CsvReader::Record::kFields) {
        DFSIM_RETURN_IF_ERROR(take(lines_.fields()));
      }
    }
    *format = format_;
    for (const auto& [name, region] : regions_) {
      add_region(name, region);
    }
    return std::move(sums_);
  }

 private:
  using Cells = std::span<const std::string_view>;

  Status take(Cells cells) {
    if (cells.size() > 3 && cells[0] == "TABLE") {
      const std::string_view what = cells[1];
      format_ = "LIKWID";
      region_ = what.starts_with("Region ") ? &regions_[std::string(what.substr(7))] : nullptr;
      statistics_ = cells[2].ends_with("STAT");
      return ok_status();
    }
    if (format_ == "LIKWID") {
      take_likwid(cells);
      return ok_status();
    }
    if (format_.empty()) {
      find_header(cells);
      return ok_status();
    }
    return take_metric(cells);
  }

  // A row is a name, for events the counter's name, and a value per hardware thread.
  void take_likwid(Cells cells) {
    if (region_ == nullptr || statistics_ || cells.size() < 2 || cells[0] == "Metric" ||
        cells[0] == "Event" || cells[0] == "Region Info" || cells[0] == "STRUCT") {
      return;
    }
    double sum = 0;
    double most = 0;
    for (const std::string_view cell : cells.subspan(1)) {
      const auto value = number_in(cell);  // the counter's name is none
      sum += value.value_or(0);
      most = std::max(most, value.value_or(0));
    }
    const std::string name(cells[0]);
    if (name.starts_with("Runtime (RDTSC)")) {
      region_->seconds = std::max(region_->seconds, most);
    } else if (name.starts_with("SP [MFLOP/s]")) {
      region_->sp_mflops = sum;
    } else if (name.starts_with("DP [MFLOP/s]")) {
      region_->dp_mflops = sum;
    } else if (name.starts_with("Memory data volume")) {
      region_->memory_gbytes = sum;
    } else if (name.find('[') == std::string::npos && name.find(' ') == std::string::npos) {
      region_->events[name] += sum;
    }
  }

  void add_region(const std::string& name, const Region& region) {
    std::map<std::string, double>& counters = sums_[name];
    counters = region.events;
    if (const double flops = (region.sp_mflops + region.dp_mflops) * 1e6 * region.seconds;
        flops > 0) {
      counters["LIKWID FLOP"] = flops;
    }
    if (region.memory_gbytes > 0) {
      counters["LIKWID memory bytes"] = region.memory_gbytes * 1e9;
    }
  }

  void find_header(Cells cells) {
    const auto place = [&cells](std::initializer_list<std::string_view> names) {
      for (size_t i = 0; i < cells.size(); ++i) {
        if (std::ranges::find(names, cells[i]) != names.end()) {
          return static_cast<int>(i);
        }
      }
      return -1;
    };
    kernel_ = place({"Kernel Name", "Kernel"});
    metric_ = place({"Metric Name"});
    value_ = place({"Metric Value", "Avg"});
    unit_ = place({"Metric Unit"});
    calls_ = place({"Invocations"});
    if (kernel_ >= 0 && metric_ >= 0 && value_ >= 0) {
      format_ = calls_ >= 0 ? "nvprof" : "Nsight Compute";
    }
  }

  Status take_metric(Cells cells) {
    const auto cell = [&cells](int i) {
      return i >= 0 && static_cast<size_t>(i) < cells.size() ? cells[static_cast<size_t>(i)] : "";
    };
    if (cell(kernel_).empty() || cell(metric_).empty()) {
      return ok_status();  // a line of units, or a message between the tables
    }
    const auto value = number_in(cell(value_));
    const auto calls = calls_ < 0 ? std::optional(1.0) : number_in(cell(calls_));
    if (!value || !calls) {
      if (!number_in(cell(value_).substr(0, 1))) {
        return ok_status();  // "(!) n/a", or a text such as a kernel's configuration
      }
      return invalid_input(fmt::format("{}:{}: found '{}', expected a number", lines_.path(),
                                       lines_.line_number(), printable(cell(value_))));
    }
    sums_[std::string(cell(kernel_))][std::string(cell(metric_))] +=
        *value * *calls * unit_factor(cell(unit_));
    return ok_status();
  }

  CsvReader lines_;
  std::string format_;
  std::map<std::string, Region> regions_;
  Region* region_ = nullptr;  // whose table is read
  bool statistics_ = false;   // the table repeats another one as sums
  int kernel_ = -1;
  int metric_ = -1;
  int value_ = -1;
  int unit_ = -1;
  int calls_ = -1;
  CounterSums sums_;
};

// "void gemm<float>(int, float*)" and "gemm<float>" name one kernel.
std::string_view kernel_stem(std::string_view name) {
  name = name.starts_with("void ") ? name.substr(5) : name;
  return name.substr(0, name.find('('));
}

}  // namespace

StatusOr<CounterFileSummary> add_counter_file(const std::string& path, Trace* trace) {
  DFSIM_ASSIGN_OR_RETURN(CsvReader lines, CsvReader::open(path));
  CounterFileSummary summary;
  DFSIM_ASSIGN_OR_RETURN(const CounterSums sums,
                         CounterFileReader(std::move(lines)).read(&summary.format));
  if (summary.format.empty()) {
    return invalid_input(fmt::format(
        "{}: found no counters, expected the CSV of LIKWID's marker API (likwid-perfctr -m), of "
        "Nsight Compute (ncu --csv) or of nvprof (--csv --metrics)",
        path));
  }
  std::map<std::string_view, std::vector<size_t>> spans;  // by name
  for (size_t i = 0; i < trace->spans.size(); ++i) {
    const Span& span = trace->spans[i];
    if (span.kind == SpanKind::kOp || span.kind == SpanKind::kKernel) {
      spans[kernel_stem(trace->text(span.name))].push_back(i);
      if (span.detail.valid() && span.kind == SpanKind::kOp) {
        spans[trace->text(span.detail)].push_back(i);  // a node's own name
      }
    }
  }
  std::string missing;
  for (const auto& [name, counters] : sums) {
    const auto found = spans.find(kernel_stem(name));
    if (found == spans.end()) {
      missing = missing.empty() ? name : missing;
      ++summary.not_joined;
      continue;
    }
    ++summary.joined;
    for (const auto& [counter, sum] : counters) {
      const NameId id = trace->intern(printable(counter, 100));
      for (const size_t span : found->second) {
        trace->span_counters.push_back(
            {SpanId(span), id, sum / static_cast<double>(found->second.size())});
      }
    }
  }
  if (summary.joined == 0) {
    return invalid_input(fmt::format(
        "{}: none of its {} names is an operator or kernel of {}, such as '{}'; record both of the "
        "same program",
        path, summary.not_joined, trace->path, printable(missing)));
  }
  if (summary.not_joined > 0) {
    trace->warn("names of the file of counters that the trace does not have", 0,
                summary.not_joined);
  }
  return summary;
}

}  // namespace dfsim::inline datasets
