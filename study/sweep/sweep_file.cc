// Both files are read from the tree of YamlNodes: the keys of prices and parameters are names of
// the user, and a list may also be written as one text ("batch: 1:256:x2").
#include "study/sweep/sweep_file.h"

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "base/io/file.h"
#include "base/text.h"
#include "graphs/training/training_names.h"
#include "hardware/yaml/yaml_fields.h"
#include "schedulers/registry.h"
#include "study/chain/precision_choice.h"
#include "study/sweep/sweep_plan.h"

namespace dfsim::inline study {
namespace {

constexpr const char* kSweepPage = "docs/commands/sweep.md";
constexpr double kMaxPrice = 1e9;

// A model in place of the file of a sweep, as all other commands take it.
bool names_model(const std::string& path) {
  const std::string lower = to_lower(path);
  return lower.ends_with(".onnx") || lower.ends_with(".pb") || lower.ends_with(".pbtxt");
}

StatusOr<YamlNode> read_sweep_yaml(const std::string& path) {
  if (names_model(path)) {
    return invalid_input(fmt::format(
        "{}: found a model, expected the YAML file of a sweep; name models with --models",
        printable(path)));
  }
  DFSIM_ASSIGN_OR_RETURN(const std::string text, read_file(path, kMaxYamlBytes));
  DFSIM_ASSIGN_OR_RETURN(YamlNode root, parse_yaml(text, path, kSweepPage));
  if (root.kind != YamlNode::Kind::kMap) {
    return yaml_error(path, root.place,
                      fmt::format("found {}, expected a map; write 'key: value' pairs, see {}",
                                  describe(root), kSweepPage));
  }
  return root;
}

// Reads one value of a sweep file or of one of its points.
class SweepFileReader {
 public:
  SweepFileReader(const std::string& file, SweepOptions* options)
      : file_(file), options_(*options) {}

  Status read(const YamlNode& root) {
    for (size_t i = 0; i < root.keys.size(); ++i) {
      DFSIM_RETURN_IF_ERROR(read_entry(root.keys[i], root.items[i]));
    }
    return ok_status();
  }

 private:
  struct Setting {
    std::string* target;
    const std::string& default_value;
  };

  Status read_entry(const YamlKey& key, const YamlNode& value) {
    SweepAxes& axes = options_.axes;
    const std::vector<std::pair<std::string, std::vector<std::string>*>> lists = {
        {"models", &axes.models},        {"hw", &axes.hardware},     {"runtime", &axes.runtimes},
        {"mode", &axes.modes},           {"policy", &axes.policies}, {"batch", &axes.batches},
        {"precision", &axes.precisions}, {"param", &axes.params},
    };
    const std::vector<std::pair<std::string, Setting>> texts = {
        {"combine", {&options_.combine, defaults_.combine}},
        {"cost_model", {&options_.cost_model, defaults_.cost_model}},
        {"optimizer", {&options_.training.optimizer, defaults_.training.optimizer}},
        {"recompute", {&options_.training.recompute, defaults_.training.recompute}}};
    for (const auto& [name, list] : lists) {
      if (key.text == name) {
        return name == "param" ? read_params(value, list) : read_list(name, value, list);
      }
    }
    for (const auto& [name, text] : texts) {
      if (key.text == name) {
        return read_setting(name, value, text);
      }
    }
    if (key.text == "points") {
      return read_points(value);
    }
    std::vector<std::string> names = {"points"};
    for (const auto& entry : lists) {
      names.push_back(entry.first);
    }
    for (const auto& entry : texts) {
      names.push_back(entry.first);
    }
    return yaml_error(file_, key.place, unknown_name_message("key", key.text, names));
  }

  Status read_text(const std::string& name, const YamlNode& value, std::string* text) const {
    if (value.kind != YamlNode::Kind::kScalar || value.text.empty()) {
      return yaml_error(file_, value.place,
                        fmt::format("found {}, expected a text for '{}'; see {}", describe(value),
                                    name, kSweepPage));
    }
    *text = value.text;
    return ok_status();
  }

  // Names and series of which the sweep knows what they may be; other values are files.
  static Status check_value(const std::string& name, const std::string& text) {
    return name == "batch"       ? parse_series(text, name).status()
           : name == "mode"      ? check_mode(text).with_place(name)
           : name == "policy"    ? PolicyRegistry().find(text).status().with_place(name)
           : name == "precision" ? check_precision_name(text).with_place(name)
           : name == "combine"   ? check_combine(text).with_place(name)
           : name == "optimizer" ? optimizer_of(text).status().with_place(name)
           : name == "recompute" ? recompute_of(text).status().with_place(name)
                                 : ok_status();
  }

  // The same with the place in the file.
  Status check_at(const YamlNode& value, const Status& status) const {
    return status.ok() ? ok_status() : yaml_error(file_, value.place, status.message());
  }

  // One that is given as an option stays.
  Status read_setting(const std::string& name, const YamlNode& value,
                      const Setting& setting) const {
    std::string text;
    DFSIM_RETURN_IF_ERROR(read_text(name, value, &text));
    DFSIM_RETURN_IF_ERROR(check_at(value, check_value(name, text)));
    if (*setting.target == setting.default_value) {
      *setting.target = std::move(text);
    }
    return ok_status();
  }

  // A list of texts, or one text with commas.
  Status read_list(const std::string& name, const YamlNode& value,
                   std::vector<std::string>* list) const {
    std::vector<std::string> values;
    if (value.kind == YamlNode::Kind::kList) {
      for (const YamlNode& item : value.items) {
        DFSIM_RETURN_IF_ERROR(read_text(name, item, &values.emplace_back()));
        DFSIM_RETURN_IF_ERROR(check_at(item, check_value(name, values.back())));
      }
    } else {
      std::string text;
      DFSIM_RETURN_IF_ERROR(read_text(name, value, &text));
      values = listed_values(text);
      for (const std::string& each : values) {
        DFSIM_RETURN_IF_ERROR(check_at(value, check_value(name, each)));
      }
    }
    list->insert(list->begin(), values.begin(), values.end());
    return ok_status();
  }

  // A map of names to series.
  Status read_params(const YamlNode& value, std::vector<std::string>* list) const {
    if (value.kind != YamlNode::Kind::kMap) {
      return yaml_error(file_, value.place,
                        fmt::format("found {}, expected a map of dimensions for 'param'; write "
                                    "'param: {{sequence: 128:2048:x2}}'",
                                    describe(value)));
    }
    std::vector<std::string> params;
    for (size_t i = 0; i < value.keys.size(); ++i) {
      std::vector<std::string> series;
      DFSIM_RETURN_IF_ERROR(
          read_list("param " + printable(value.keys[i].text), value.items[i], &series));
      for (const std::string& each : series) {
        const auto extents = parse_series(each, "param " + printable(value.keys[i].text));
        DFSIM_RETURN_IF_ERROR(check_at(value.items[i], extents.status()));
      }
      params.push_back(value.keys[i].text + "=" + join(series, ","));
    }
    list->insert(list->begin(), params.begin(), params.end());
    return ok_status();
  }

  Status read_points(const YamlNode& value) {
    if (value.kind != YamlNode::Kind::kList) {
      return yaml_error(file_, value.place,
                        fmt::format("found {}, expected a list for 'points'; write "
                                    "'- {{model: m.onnx, hw: a100, batch: 8}}'",
                                    describe(value)));
    }
    for (const YamlNode& item : value.items) {
      YamlFields fields(item, file_, "a point", kSweepPage);
      SweepPoint point;
      fields.text("model", &point.model, Need::kRequired);
      fields.text("hw", &point.hardware, Need::kRequired);
      fields.text("runtime", &point.runtime);
      fields.text("precision", &point.precision);
      fields.text("mode", &point.mode);
      fields.text("policy", &point.policy);
      double batch = 0;
      if (fields.number("batch", {1, 1e15, ""}, &batch)) {
        point.batch = static_cast<int64_t>(batch);
        if (batch != std::floor(batch)) {
          fields.error("batch", "found a fraction, expected a whole number for 'batch'; round it");
        }
      }
      if (const YamlNode* param = fields.map("param")) {
        DFSIM_RETURN_IF_ERROR(read_point_params(*param, &point));
      }
      for (const auto& [key, text] :
           {std::pair("precision", &point.precision), std::pair("mode", &point.mode),
            std::pair("policy", &point.policy)}) {
        if (const Status known = text->empty() ? ok_status() : check_value(key, *text);
            !known.ok()) {
          fields.error(key, known.message());
        }
      }
      DFSIM_RETURN_IF_ERROR(fields.finish());
      options_.points.push_back(std::move(point));
    }
    return ok_status();
  }

  Status read_point_params(const YamlNode& value, SweepPoint* point) const {
    for (size_t i = 0; i < value.keys.size(); ++i) {
      std::string text;
      DFSIM_RETURN_IF_ERROR(read_text(value.keys[i].text, value.items[i], &text));
      const auto extent = parse_series(text, "param " + printable(value.keys[i].text));
      if (!extent.ok()) {
        return yaml_error(file_, value.items[i].place, extent.status().message());
      }
      if (extent->size() != 1) {
        return yaml_error(file_, value.items[i].place,
                          fmt::format("found {} numbers, expected one in a point; use the key "
                                      "'param' of the sweep for a series",
                                      extent->size()));
      }
      point->param.emplace_back(value.keys[i].text, extent->front());
    }
    return ok_status();
  }

  const std::string& file_;
  SweepOptions& options_;
  const SweepOptions defaults_;
};

}  // namespace

Status read_sweep_file(const std::string& path, SweepOptions* options) {
  DFSIM_ASSIGN_OR_RETURN(const YamlNode root, read_sweep_yaml(path));
  return SweepFileReader(path, options).read(root);
}

StatusOr<HourlyPrices> read_prices(const std::string& path) {
  DFSIM_ASSIGN_OR_RETURN(const YamlNode root, read_sweep_yaml(path));
  HourlyPrices prices;
  for (size_t i = 0; i < root.keys.size(); ++i) {
    DFSIM_ASSIGN_OR_RETURN(prices[root.keys[i].text],
                           yaml_number(root.items[i], path, {0, kMaxPrice, "per hour"}));
  }
  return prices;
}

}  // namespace dfsim::inline study
