// Puts a report together from the embedded template, scripts and style, and the result's JSON.
// "</" is escaped inside scripts, because names from models may contain the end of a script.
#include "report/html/html_page.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/counted.h"
#include "base/text.h"

// The files of the page, put into the program by the assembler: a string literal of half a megabyte
// would be cut by some compilers and slow down the others.
#define DFSIM_EMBED(name, file)                                                                   \
  __asm__(".section .rodata\n.balign 16\n.global dfsim_embedded_" #name "\ndfsim_embedded_" #name \
          ":\n.incbin \"" DFSIM_HTML_DIR "/" file "\"\n.global dfsim_embedded_" #name             \
          "_end\ndfsim_embedded_" #name                                                           \
          "_end:\n.byte "                                                                         \
          "0\n.previous\n");                                                                      \
  extern "C" const char dfsim_embedded_##name[];                                                  \
  extern "C" const char dfsim_embedded_##name##_end[]

DFSIM_EMBED(page, "page.html");
DFSIM_EMBED(style, "style.css");
DFSIM_EMBED(charts, "echarts.min.js");
DFSIM_EMBED(app, "app.js");

namespace dfsim::inline report {
namespace {

std::string_view embedded(const char* begin, const char* end) {
  return {begin, static_cast<size_t>(end - begin)};
}

// "</script" inside a script would end it: in JSON and in strings of JavaScript "<\/" is the same.
std::string safe_in_script(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    out += text[i];
    if (text[i] == '<' && i + 1 < text.size() && (text[i + 1] == '/' || text[i + 1] == '!')) {
      out += text[i + 1] == '/' ? "\\" : "\\u0021";
      i += text[i + 1] == '/' ? 0 : 1;
    }
  }
  return out;
}

bool is_report(const nlohmann::json& json) {
  if (!json.is_object()) {
    return false;
  }
  const std::string schema =
      json.contains("schema") && json["schema"].is_string() ? json["schema"] : "";
  return json.contains("policies") || schema.starts_with("dfsim.predict/1") ||
         schema == "dfsim.compare-many/1" || schema == "dfsim.analyze/1" ||
         schema == "dfsim.roofline/1" || schema == "dfsim.replay/1" || schema == "dfsim.diff/1" ||
         schema == "dfsim.partition/1" || schema == "dfsim.sweep/1" ||
         schema == "dfsim.llm-serve/1";
}

// The reason of one result, "" when it is complete.
std::string reason_of_result(const nlohmann::json& result) {
  if (!result.is_object() || result.value("complete", nlohmann::json(true)) != false) {
    return "";
  }
  const nlohmann::json unknown = result.value("unknown_work", nlohmann::json());
  const auto count = [&](const char* name) {
    return unknown.is_object() && unknown.contains(name) && unknown[name].is_number_unsigned()
               ? unknown[name].get<uint64_t>()
               : 0;
  };
  if (count("ops") == 0) {
    return "how often a loop runs is not known";
  }
  return fmt::format("the work of {} of {} is not known", count("ops"),
                     counted(count("of"), "operator"));
}

}  // namespace

std::string incomplete_reason(std::string_view json) {
  const nlohmann::json parsed = nlohmann::json::parse(json, nullptr, false);
  std::string reason = reason_of_result(parsed);
  for (const char* const list : {"instances", "rooflines"}) {
    if (parsed.is_object() && parsed.contains(list) && parsed[list].is_array()) {
      for (const nlohmann::json& result : parsed[list]) {
        reason = reason.empty() ? reason_of_result(result) : reason;
      }
    }
  }
  return reason;
}

StatusOr<std::string> html_page(std::string_view place, std::string_view json) {
  const nlohmann::json parsed = nlohmann::json::parse(json, nullptr, false);
  if (parsed.is_discarded()) {
    return invalid_input(
        fmt::format("{}: is not JSON; expected the result of a command's --json", place));
  }
  if (!is_report(parsed)) {
    return invalid_input(fmt::format(
        "{}: JSON that no report is made of; expected the --json of predict, compare, analyze, "
        "diff, replay, roofline, partition, sweep or llm serve of this version",
        place));
  }
  const std::string_view page = embedded(dfsim_embedded_page, dfsim_embedded_page_end);
  std::string out;
  out.reserve(page.size() + json.size() + (size_t{1} << 20));
  size_t from = 0;
  // The marks are looked for in the template only, never in what was put in.
  while (true) {
    const size_t mark = page.find('@', from);
    const size_t end = mark == std::string_view::npos ? mark : page.find('@', mark + 1);
    if (end == std::string_view::npos) {
      out += page.substr(from);
      return out;
    }
    const std::string_view name = page.substr(mark + 1, end - mark - 1);
    out += page.substr(from, mark - from);
    if (name == "STYLE") {
      out += embedded(dfsim_embedded_style, dfsim_embedded_style_end);
    } else if (name == "DATA") {
      out += safe_in_script(json);
    } else if (name == "CHARTS") {
      out += safe_in_script(embedded(dfsim_embedded_charts, dfsim_embedded_charts_end));
    } else if (name == "APP") {
      out += safe_in_script(embedded(dfsim_embedded_app, dfsim_embedded_app_end));
    } else {
      out += page.substr(mark, end - mark);
      from = end;
      continue;
    }
    from = end + 1;
  }
}

}  // namespace dfsim::inline report
