// Trace files: open() looks at the first line to choose between CSV and JSON Lines; TraceFile does
// what both share (order of times, lengths, line numbers), the two subclasses take a line apart.
#include "serving/workload/trace_reader.h"

#include <array>
#include <charconv>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "base/io/text_file.h"
#include "base/json/json_value.h"
#include "base/text.h"

namespace dfsim::inline serving {
namespace {

constexpr std::array<std::string_view, 7> kPromptNames = {
    "input_length", "prompt_len",    "prompt_tokens", "input_tokens",
    "isl",          "contexttokens", "request tokens"};
constexpr std::array<std::string_view, 7> kOutputNames = {
    "output_length", "output_len",      "completion_tokens", "output_tokens",
    "osl",           "generatedtokens", "response tokens"};
constexpr std::array<std::string_view, 3> kTimeNames = {"timestamp_ms", "timestamp", "arrival_s"};
constexpr double kMaxTraceTokens = 1e8;

template <size_t N>
int index_of(const std::array<std::string_view, N>& names, std::string_view name) {
  for (size_t i = 0; i < N; ++i) {
    if (names[i] == name) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '"')) {
    text.remove_prefix(1);
  }
  while (!text.empty() && (text.back() == ' ' || text.back() == '"')) {
    text.remove_suffix(1);
  }
  return text;
}

bool parse_number(std::string_view text, double* number) {
  const auto result = std::from_chars(text.data(), text.data() + text.size(), *number);
  return result.ec == std::errc() && result.ptr == text.data() + text.size() &&
         std::isfinite(*number);
}

// Days since 1970-01-01 of a proleptic Gregorian date (Hinnant, "chrono-compatible low-level date
// algorithms").
int64_t days_from_civil(int64_t year, int64_t month, int64_t day) {
  year -= month <= 2 ? 1 : 0;
  const int64_t era = (year >= 0 ? year : year - 399) / 400;
  const int64_t year_of_era = year - era * 400;
  const int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year -
         719468;
}

// Seconds of "2023-11-16 18:17:03.9799600" (also with a T, a Z or "+00:00" behind), as Azure's
// traces have them.
bool parse_date_time(std::string_view text, double* seconds) {
  if (text.size() < 19 || text[4] != '-' || text[7] != '-' || text[13] != ':' || text[16] != ':') {
    return false;
  }
  const auto field = [&](size_t begin, size_t length, double* value) {
    return parse_number(text.substr(begin, length), value);
  };
  std::string_view second = text.substr(17);
  if (const size_t zone = second.find_first_of("Z+"); zone != std::string_view::npos) {
    second = second.substr(0, zone);
  }
  double year = 0, month = 0, day = 0, hour = 0, minute = 0, rest = 0;
  if (!field(0, 4, &year) || !field(5, 2, &month) || !field(8, 2, &day) || !field(11, 2, &hour) ||
      !field(14, 2, &minute) || !parse_number(second, &rest) || month < 1 || month > 12) {
    return false;
  }
  const int64_t days = days_from_civil(static_cast<int64_t>(year), static_cast<int64_t>(month),
                                       static_cast<int64_t>(day));
  *seconds = static_cast<double>(days) * 86400 + hour * 3600 + minute * 60 + rest;
  return true;
}

// One line as numbers.
struct TraceLine {
  double time_s = 0;
  double prompt = 0;
  double output = 0;
  std::vector<uint64_t> hashes;
};

class TraceFile : public RequestTraceReader {
 public:
  explicit TraceFile(LineReader lines) : lines_(std::move(lines)) {}

  StatusOr<std::optional<RequestSpec>> next() override {
    while (true) {
      std::string_view text = pending_;
      if (!has_pending_) {
        DFSIM_ASSIGN_OR_RETURN(const bool more, lines_.next(&text));
        if (!more) {
          return std::optional<RequestSpec>();
        }
      }
      has_pending_ = false;
      if (text.empty()) {
        continue;
      }
      TraceLine line;
      DFSIM_RETURN_IF_ERROR(parse(text, &line).with_place(place()));
      DFSIM_RETURN_IF_ERROR(check(line).with_place(place()));
      if (line.output == 0) {
        ++left_out_;
        continue;
      }
      return std::optional<RequestSpec>(spec(std::move(line)));
    }
  }
  int64_t left_out() const override { return left_out_; }

  // Takes the line that open() read already.
  void push_back(std::string_view line) {
    pending_ = line;
    has_pending_ = true;
  }

 protected:
  virtual Status parse(std::string_view text, TraceLine* line) const = 0;

 private:
  std::string place() const {
    return lines_.path() + " line " + std::to_string(lines_.line_number());
  }
  Status check(const TraceLine& line) {
    const auto whole = [](double value) { return value == std::floor(value); };
    if (line.prompt < 1 || line.prompt > kMaxTraceTokens || !whole(line.prompt)) {
      return invalid_input("a prompt of " + format_count(line.prompt) +
                           " tokens, expected a whole number from 1 to 100000000");
    }
    if (line.output < 0 || line.output > kMaxTraceTokens || !whole(line.output)) {
      return invalid_input("an output of " + format_count(line.output) +
                           " tokens, expected a whole number from 0 to 100000000");
    }
    if (!first_s_) {
      first_s_ = line.time_s;
    }
    if (line.time_s < last_s_.value_or(line.time_s)) {
      return invalid_input("its time lies " + std::to_string(*last_s_ - line.time_s) +
                           " s before the line above, expected times in order; sort the file");
    }
    last_s_ = line.time_s;
    return ok_status();
  }
  RequestSpec spec(TraceLine line) {
    RequestSpec result;
    result.id = next_id_++;
    result.arrival_ns = ns_from_seconds(line.time_s - *first_s_);
    result.prompt_tokens = static_cast<int64_t>(line.prompt);
    result.output_tokens = static_cast<int64_t>(line.output);
    result.prefix_hashes = std::move(line.hashes);
    result.tokens_per_hash = result.prefix_hashes.empty() ? 0 : kMooncakeBlockTokens;
    return result;
  }

  LineReader lines_;
  std::string pending_;
  bool has_pending_ = false;
  std::optional<double> first_s_, last_s_;
  int64_t next_id_ = 0;
  int64_t left_out_ = 0;
};

class CsvTrace final : public TraceFile {
 public:
  struct Columns {
    int time = -1, prompt = -1, output = -1;
    bool milliseconds = false;
    size_t count = 0;
  };
  CsvTrace(LineReader lines, Columns columns) : TraceFile(std::move(lines)), columns_(columns) {}
  bool has_times() const override { return columns_.time >= 0; }

  static Columns find_columns(std::string_view header) {
    Columns columns;
    const std::vector<std::string> names = split(header, ',');
    columns.count = names.size();
    for (size_t i = 0; i < names.size(); ++i) {
      const std::string name = to_lower(trimmed(names[i]));
      const int column = static_cast<int>(i);
      if (index_of(kPromptNames, name) >= 0) {
        columns.prompt = column;
      } else if (index_of(kOutputNames, name) >= 0) {
        columns.output = column;
      } else if (index_of(kTimeNames, name) >= 0) {
        columns.time = column;
        columns.milliseconds = name == "timestamp_ms";
      }
    }
    return columns;
  }

 protected:
  Status parse(std::string_view text, TraceLine* line) const override {
    const std::vector<std::string> fields = split(text, ',');
    if (fields.size() != columns_.count) {
      return invalid_input(std::to_string(fields.size()) + " fields, expected " +
                           std::to_string(columns_.count) + " as in the header");
    }
    DFSIM_RETURN_IF_ERROR(number(fields, columns_.prompt, "prompt tokens", &line->prompt));
    DFSIM_RETURN_IF_ERROR(number(fields, columns_.output, "output tokens", &line->output));
    if (columns_.time < 0) {
      return ok_status();
    }
    const std::string_view time = trimmed(fields[static_cast<size_t>(columns_.time)]);
    if (!parse_number(time, &line->time_s) && !parse_date_time(time, &line->time_s)) {
      return invalid_input("the time is '" + printable(time) +
                           "', expected seconds or YYYY-MM-DD HH:MM:SS");
    }
    line->time_s /= columns_.milliseconds ? 1000 : 1;
    return ok_status();
  }

 private:
  static Status number(const std::vector<std::string>& fields, int column, const char* what,
                       double* value) {
    const std::string_view text = trimmed(fields[static_cast<size_t>(column)]);
    return parse_number(text, value) ? ok_status()
                                     : invalid_input(std::string(what) + " are '" +
                                                     printable(text) + "', expected a number");
  }

  Columns columns_;
};

class JsonTrace final : public TraceFile {
 public:
  JsonTrace(LineReader lines, bool times) : TraceFile(std::move(lines)), times_(times) {}
  bool has_times() const override { return times_; }

  // The value of the first key of `names` that `object` has as a number.
  template <size_t N>
  static std::optional<double> find(const JsonValue& object,
                                    const std::array<std::string_view, N>& names) {
    double value = 0;
    for (const std::string_view name : names) {
      if (object[name].get(&value)) {
        return value;
      }
    }
    return std::nullopt;
  }

 protected:
  Status parse(std::string_view text, TraceLine* line) const override {
    JsonParser parser;
    const PaddedJson padded(text);
    JsonValue object;
    if (!parser.parse_object(padded.view(), &object)) {
      return invalid_input("no JSON object, expected one per line");
    }
    const std::optional<double> prompt = find(object, kPromptNames);
    const std::optional<double> output = find(object, kOutputNames);
    if (!prompt || !output) {
      return invalid_input(std::string("no number of ") + (prompt ? "output" : "prompt") +
                           " tokens, expected keys such as input_length and output_length");
    }
    line->prompt = *prompt;
    line->output = *output;
    if (times_) {
      const std::optional<double> time = find(object, kTimeNames);
      if (!time) {
        return invalid_input("no timestamp, expected one as on the first line");
      }
      line->time_s = object["arrival_s"].is(JsonKind::kNumber) ? *time : *time / 1000;
    }
    return read_hashes(object["hash_ids"], line);
  }

 private:
  // The identifiers of the prompt's blocks of tokens, in their order; none when the key is missing.
  static Status read_hashes(const JsonValue& hashes, TraceLine* line) {
    if (hashes.is(JsonKind::kMissing)) {
      return ok_status();
    }
    if (!hashes.is(JsonKind::kArray)) {
      return invalid_input("hash_ids is not a list, expected a list of whole numbers");
    }
    bool whole = true;
    hashes.each_element([&](const JsonValue& hash) {
      int64_t value = 0;
      whole = whole && hash.get(&value);
      line->hashes.push_back(static_cast<uint64_t>(value));
    });
    if (!whole) {
      return invalid_input("hash_ids has a value that is not a whole number");
    }
    return ok_status();
  }

  bool times_;
};

}  // namespace

StatusOr<std::unique_ptr<RequestTraceReader>> RequestTraceReader::open(const std::string& path) {
  DFSIM_ASSIGN_OR_RETURN(LineReader lines, LineReader::open(path));
  std::string_view first;
  DFSIM_ASSIGN_OR_RETURN(const bool more, lines.next(&first));
  if (!more) {
    return invalid_input(path + ": the file is empty, expected a trace of requests");
  }
  if (first.starts_with("\xEF\xBB\xBF")) {
    first.remove_prefix(3);  // a byte-order mark
  }
  if (first.starts_with("{")) {
    JsonParser parser;
    const PaddedJson padded(first);
    JsonValue object;
    const bool times = parser.parse_object(padded.view(), &object) &&
                       JsonTrace::find(object, kTimeNames).has_value();
    const std::string line(first);
    auto trace = std::make_unique<JsonTrace>(std::move(lines), times);
    trace->push_back(line);
    return std::unique_ptr<RequestTraceReader>(std::move(trace));
  }
  const CsvTrace::Columns columns = CsvTrace::find_columns(first);
  if (columns.prompt < 0 || columns.output < 0) {
    return invalid_input(path + " line 1: no column of " +
                         (columns.prompt < 0 ? "prompt" : "output") +
                         " tokens, expected a header such as TIMESTAMP,ContextTokens,"
                         "GeneratedTokens, or JSON Lines with input_length and output_length");
  }
  return std::unique_ptr<RequestTraceReader>(std::make_unique<CsvTrace>(std::move(lines), columns));
}

}  // namespace dfsim::inline serving
