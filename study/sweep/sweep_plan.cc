// plan_sweep() first turns each setting into a SweepAxis. Combining axes then knows nothing of what
// they stand for, and point number p of a product has the digits of p as the numbers of its values.
#include "study/sweep/sweep_plan.h"

#include <fmt/format.h>
#include <glob.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <functional>
#include <set>

#include "base/text.h"

namespace dfsim::inline study {
namespace {

bool whole_number(std::string_view text, int64_t* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size() && *value >= 1;
}

Status series_error(std::string_view text, std::string_view option) {
  return invalid_input(
      fmt::format("{}: found '{}', expected numbers from 1 on: 8, 1:4, 2:8:3 (step "
                  "3) or 1:256:x2 (doubling)",
                  option, printable(text)));
}

// The next number of a series; 0 behind the greatest that an int64_t holds.
int64_t next_in_series(int64_t value, int64_t step, bool multiply) {
  int64_t next = 0;
  const bool overflow = multiply ? __builtin_mul_overflow(value, step, &next)
                                 : __builtin_add_overflow(value, step, &next);
  return overflow ? 0 : next;
}

// Whether the whole text is the path of a file or folder, perhaps a config.json's behind "hf:".
bool names_file(const std::string& text) {
  constexpr std::string_view kConfigPrefix = "hf:";
  std::error_code error;
  return std::filesystem::exists(
      text.starts_with(kConfigPrefix) ? text.substr(kConfigPrefix.size()) : text, error);
}

StatusOr<std::vector<std::string>> matching_files(const std::string& pattern) {
  glob_t found = {};
  const int result = ::glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found);
  std::vector<std::string> files;
  for (size_t i = 0; result == 0 && i < found.gl_pathc; ++i) {
    files.emplace_back(found.gl_pathv[i]);
  }
  ::globfree(&found);
  if (files.empty()) {
    return not_found(fmt::format(
        "--models: no file matches '{}'; check the folder and the pattern, and quote it "
        "so that the shell leaves it alone",
        printable(pattern)));
  }
  // By bytes, whatever the locale.
  std::sort(files.begin(), files.end());
  return files;
}

StatusOr<std::vector<std::string>> model_files(const std::vector<std::string>& patterns) {
  std::vector<std::string> files;
  std::set<std::string> seen;
  for (const std::string& pattern : patterns) {
    std::vector<std::string> matches = {pattern};
    if (pattern.find_first_of("*?[") != std::string::npos && !names_file(pattern)) {
      DFSIM_ASSIGN_OR_RETURN(matches, matching_files(pattern));
    }
    for (std::string& file : matches) {
      if (seen.insert(file).second) {
        files.push_back(std::move(file));
      }
    }
  }
  return files;
}

SweepAxis text_axis(std::string option, const std::vector<std::string>& values,
                    std::string SweepPoint::*member) {
  return {std::move(option), values.size(),
          [values, member](size_t value, SweepPoint* point) { point->*member = values[value]; }};
}

StatusOr<SweepAxis> param_axis(const std::string& text) {
  const size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0) {
    return invalid_input(
        fmt::format("--param: found '{}', expected NAME=SERIES, such as "
                    "sequence=128:2048:x2",
                    printable(text)));
  }
  const std::string name = text.substr(0, equals);
  const std::string option = "--param " + printable(name);
  std::vector<int64_t> extents;
  for (const std::string& part : split(text.substr(equals + 1), ',')) {
    DFSIM_ASSIGN_OR_RETURN(const std::vector<int64_t> series, parse_series(part, option));
    extents.insert(extents.end(), series.begin(), series.end());
  }
  return SweepAxis{option, extents.size(), [name, extents](size_t value, SweepPoint* point) {
                     point->param.emplace_back(name, extents[value]);
                   }};
}

// Those with values, slowest first.
StatusOr<std::vector<SweepAxis>> axes_of(const SweepAxes& axes) {
  std::vector<SweepAxis> list;
  DFSIM_ASSIGN_OR_RETURN(const std::vector<std::string> models, model_files(axes.models));
  list.push_back(text_axis("--models", models, &SweepPoint::model));
  list.push_back(text_axis("--hw", axes.hardware, &SweepPoint::hardware));
  list.push_back(text_axis("--runtime", axes.runtimes, &SweepPoint::runtime));
  list.push_back(text_axis("--precision", axes.precisions, &SweepPoint::precision));
  list.push_back(text_axis("--mode", axes.modes, &SweepPoint::mode));
  list.push_back(text_axis("--policy", axes.policies, &SweepPoint::policy));
  std::set<std::string> named;
  for (const std::string& param : axes.params) {
    DFSIM_ASSIGN_OR_RETURN(SweepAxis axis, param_axis(param));
    if (!named.insert(axis.option).second) {
      return invalid_input(axis.option +
                           ": found twice, expected once; join its values with commas");
    }
    list.push_back(std::move(axis));
  }
  std::vector<int64_t> batches;
  for (const std::string& text : axes.batches) {
    DFSIM_ASSIGN_OR_RETURN(const std::vector<int64_t> series, parse_series(text, "--batch"));
    batches.insert(batches.end(), series.begin(), series.end());
  }
  list.push_back({"--batch", batches.size(),
                  [batches](size_t value, SweepPoint* point) { point->batch = batches[value]; }});
  std::erase_if(list, [](const SweepAxis& axis) { return axis.size == 0; });
  return list;
}

Status too_many_points(size_t points) {
  return invalid_input(fmt::format(
      "the sweep has {} points or more, expected at most {}; divide it", points, kMaxSweepPoints));
}

Status check_product(const std::vector<SweepAxis>& axes) {
  size_t count = 1;
  for (const SweepAxis& axis : axes) {
    count *= axis.size;
    if (count > kMaxSweepPoints) {
      return too_many_points(count);
    }
  }
  return ok_status();
}

Status check_zipped(const std::vector<SweepAxis>& axes) {
  if (axes.empty()) {
    return ok_status();
  }
  const auto longest = std::ranges::max_element(axes, {}, &SweepAxis::size);
  for (const SweepAxis& axis : axes) {
    if (axis.size != 1 && axis.size != longest->size) {
      return invalid_input(fmt::format(
          "--combine zip: found {} values of {} and {} of {}, expected lists of one length; a list "
          "of one value goes with all of them",
          axis.size, axis.option, longest->size, longest->option));
    }
  }
  return longest->size > kMaxSweepPoints ? too_many_points(longest->size) : ok_status();
}

Status check_points(const SweepPlan& points) {
  if (points.empty()) {
    return invalid_input("the sweep has no points; give --models and --hw, or a sweep file");
  }
  if (points.size() > kMaxSweepPoints) {
    return too_many_points(points.size());
  }
  for (const SweepPoint point : points) {
    if (point.model.empty() || point.hardware.empty()) {
      return invalid_input(fmt::format("the sweep has a point without {}; give {}",
                                       point.model.empty() ? "a model" : "hardware",
                                       point.model.empty() ? "--models" : "--hw"));
    }
    DFSIM_RETURN_IF_ERROR(check_mode(point.mode));
  }
  return ok_status();
}

}  // namespace

Status check_combine(const std::string& combine) {
  const bool known = combine == "product" || combine == "zip";
  return known ? ok_status()
               : invalid_input(unknown_name_message("way to combine", combine, {"product", "zip"}));
}

Status check_mode(const std::string& mode) {
  const bool known = mode == "infer" || mode == "train";
  return known ? ok_status()
               : invalid_input(unknown_name_message("mode", mode, {"infer", "train"}));
}

std::vector<std::string> listed_values(const std::string& text) {
  if (text.find(',') != std::string::npos && names_file(text)) {
    return {text};
  }
  return split(text, ',');
}

StatusOr<std::vector<int64_t>> parse_series(std::string_view text, std::string_view option) {
  const std::vector<std::string> parts = split(text, ':');
  int64_t first = 0;
  if (parts.size() > 3 || !whole_number(parts[0], &first)) {
    return series_error(text, option);
  }
  int64_t last = first;
  if (parts.size() > 1 && (!whole_number(parts[1], &last) || last < first)) {
    return series_error(text, option);
  }
  int64_t step = 1;
  const bool multiply = parts.size() > 2 && parts[2].starts_with('x');
  if (parts.size() > 2 &&
      (!whole_number(std::string_view(parts[2]).substr(multiply ? 1 : 0), &step) ||
       (multiply && step < 2))) {
    return series_error(text, option);
  }
  std::vector<int64_t> values;
  for (int64_t value = first; value != 0 && value <= last;
       value = next_in_series(value, step, multiply)) {
    if (values.size() == kMaxSweepPoints) {
      return invalid_input(fmt::format(
          "{}: found more than {} numbers in '{}', expected at most that; give a larger step",
          option, kMaxSweepPoints, printable(text)));
    }
    values.push_back(value);
  }
  return values;
}

SweepPlan::SweepPlan(std::vector<SweepAxis> axes, bool zip, std::vector<SweepPoint> listed) {
  size_t points = axes.empty() ? 0 : 1;
  for (const SweepAxis& axis : axes) {
    points = zip ? std::max(points, axis.size) : points * axis.size;
  }
  axes_ = std::make_shared<const Axes>(Axes{std::move(axes), zip, points, std::move(listed)});
}

SweepPoint SweepPlan::operator[](size_t point) const {
  const Axes& all = *axes_;
  const size_t number = is_part_ ? part_[point] : point;
  if (number >= all.points) {
    return all.listed[number - all.points];
  }
  SweepPoint made;
  // The digits of the number in the mixed radix of the axes' sizes, the last axis being the lowest
  // digit.
  size_t block = all.points;
  size_t rest = number;
  for (const SweepAxis& axis : all.axes) {
    if (all.zip) {
      axis.set(axis.size == 1 ? 0 : number, &made);
      continue;
    }
    block /= axis.size;
    axis.set(rest / block, &made);
    rest %= block;
  }
  return made;
}

SweepPlan SweepPlan::part(const std::vector<uint32_t>& points) const {
  SweepPlan plan = *this;
  plan.is_part_ = true;
  plan.part_ = points;
  for (uint32_t& point : plan.part_) {
    point = is_part_ ? part_[point] : point;
  }
  return plan;
}

StatusOr<SweepPlan> plan_sweep(const SweepOptions& options) {
  if (!check_combine(options.combine).ok()) {
    return check_combine(options.combine).with_place("--combine");
  }
  DFSIM_ASSIGN_OR_RETURN(std::vector<SweepAxis> axes, axes_of(options.axes));
  const bool zip = options.combine == "zip";
  DFSIM_RETURN_IF_ERROR(zip ? check_zipped(axes) : check_product(axes));
  const SweepPlan points(std::move(axes), zip, options.points);
  DFSIM_RETURN_IF_ERROR(check_points(points));
  return points;
}

}  // namespace dfsim::inline study
