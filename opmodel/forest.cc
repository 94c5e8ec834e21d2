#include "opmodel/forest.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>

#include "opmodel/ubjson.h"

namespace dfsim {

namespace {

constexpr size_t kMaxColumns = 4096;
constexpr size_t kLanes = 8;  // rows that walk a tree together

// One tree as the file has it: parallel arrays over its nodes.
struct FileTree {
  std::vector<int32_t> left;
  std::vector<int32_t> right;
  std::vector<int32_t> feature;
  std::vector<float> condition;  // threshold, or the value of a leaf
  std::vector<int32_t> default_left;
  std::vector<int32_t> split_type;
};

}  // namespace

class ForestReader {
 public:
  ForestReader(std::string_view bytes, std::string_view place) : reader_(bytes), place_(place) {}

  StatusOr<Forest> read() {
    std::string_view key;
    reader_.begin_object();
    while (reader_.next_key(key)) {
      DFSIM_RETURN_IF_ERROR(key == "learner" ? read_learner() : skip());
    }
    if (!reader_.ok()) {
      return damaged("the file ends early or holds bytes that are not UBJSON");
    }
    if (forest_.columns_ == 0 || forest_.columns_ > kMaxColumns || !std::isfinite(base_score_)) {
      return damaged("the number of features or the base score is missing or out of range");
    }
    for (const Forest::Node& node : forest_.nodes_) {
      if (node.feature >= forest_.columns_) {
        return damaged("a split uses a feature the model does not have");
      }
    }
    forest_.base_score_ = base_score_;
    return std::move(forest_);
  }

 private:
  Status damaged(std::string_view what) const {
    return invalid_input(
        fmt::format("{}: not a usable XGBoost model: {} (near byte {}); train it "
                    "again or restore the file",
                    place_, what, reader_.position()));
  }
  Status skip() {
    reader_.skip();
    return ok_status();
  }

  Status read_learner() {
    std::string_view key;
    reader_.begin_object();
    while (reader_.next_key(key)) {
      if (key == "gradient_booster") {
        DFSIM_RETURN_IF_ERROR(read_booster());
      } else if (key == "learner_model_param") {
        DFSIM_RETURN_IF_ERROR(read_params());
      } else {
        reader_.skip();
      }
    }
    return ok_status();
  }

  Status read_params() {
    std::string_view key;
    std::string_view text;
    reader_.begin_object();
    while (reader_.next_key(key)) {
      if (!reader_.read_string(text)) {
        break;
      }
      float value = std::numeric_limits<float>::quiet_NaN();
      std::from_chars(text.data(), text.data() + text.size(), value);
      if (key == "base_score") {
        base_score_ = value;
      } else if (key == "num_feature" && value > 0 && value <= kMaxColumns) {
        forest_.columns_ = static_cast<size_t>(value);
      } else if ((key == "num_target" || key == "num_class") && value > 1) {
        return damaged("it has more than one output");
      }
    }
    return ok_status();
  }

  Status read_booster() {
    std::string_view key;
    std::string_view name;
    reader_.begin_object();
    while (reader_.next_key(key)) {
      if (key == "name") {
        if (reader_.read_string(name) && name != "gbtree") {
          return damaged("its booster is not 'gbtree'");
        }
      } else {
        DFSIM_RETURN_IF_ERROR(key == "model" ? read_trees() : skip());
      }
    }
    return ok_status();
  }

  Status read_trees() {
    std::string_view key;
    reader_.begin_object();
    while (reader_.next_key(key)) {
      if (key != "trees") {
        reader_.skip();
        continue;
      }
      int64_t left = 0;
      reader_.begin_array(left);
      while (reader_.next_item(left)) {
        DFSIM_RETURN_IF_ERROR(read_tree());
      }
    }
    return ok_status();
  }

  Status read_tree() {
    std::string_view key;
    reader_.begin_object();
    while (reader_.next_key(key)) {
      if (key == "left_children") {
        reader_.read_numbers(tree_.left);
      } else if (key == "right_children") {
        reader_.read_numbers(tree_.right);
      } else if (key == "split_indices") {
        reader_.read_numbers(tree_.feature);
      } else if (key == "split_conditions") {
        reader_.read_numbers(tree_.condition);
      } else if (key == "default_left") {
        reader_.read_numbers(tree_.default_left);
      } else if (key == "split_type") {
        reader_.read_numbers(tree_.split_type);
      } else {
        reader_.skip();
      }
    }
    if (!reader_.ok()) {
      return damaged("the file ends early or holds bytes that are not UBJSON");
    }
    return append_tree();
  }

  // Renumbers the nodes breadth first, which puts siblings side by side.
  Status append_tree() {
    const size_t count = tree_.left.size();
    if (count == 0 || tree_.right.size() != count || tree_.feature.size() != count ||
        tree_.condition.size() != count || tree_.default_left.size() != count ||
        std::any_of(tree_.split_type.begin(), tree_.split_type.end(),
                    [](int32_t type) { return type != 0; })) {
      return damaged("a tree's arrays differ in length, or it has categorical splits");
    }
    const auto root = static_cast<uint32_t>(forest_.nodes_.size());
    order_.assign(1, {0, 0});
    int depth = 0;
    for (size_t at = 0; at < order_.size(); ++at) {
      const auto [node, level] = order_[at];
      depth = std::max(depth, level);
      const auto i = static_cast<size_t>(node);
      const auto self = static_cast<uint32_t>(root + at);
      if (tree_.left[i] < 0) {
        forest_.nodes_.push_back(
            {std::numeric_limits<float>::infinity(), tree_.condition[i], self, 0, 1});
        continue;
      }
      const auto in_range = [&](int32_t child) {
        return child > 0 && static_cast<size_t>(child) < count;
      };
      if (!in_range(tree_.left[i]) || !in_range(tree_.right[i]) || order_.size() + 2 > count ||
          tree_.feature[i] < 0 || tree_.feature[i] > UINT16_MAX || std::isnan(tree_.condition[i])) {
        return damaged("a tree's children or features are out of range");
      }
      forest_.nodes_.push_back({tree_.condition[i], 0, static_cast<uint32_t>(root + order_.size()),
                                static_cast<uint16_t>(tree_.feature[i]),
                                static_cast<uint16_t>(tree_.default_left[i] != 0)});
      order_.emplace_back(tree_.left[i], level + 1);
      order_.emplace_back(tree_.right[i], level + 1);
    }
    forest_.roots_.push_back({root, depth});
    return ok_status();
  }

  UbjsonReader reader_;
  std::string_view place_;
  FileTree tree_;
  std::vector<std::pair<int32_t, int>> order_;
  Forest forest_;
  float base_score_ = std::numeric_limits<float>::quiet_NaN();
};

StatusOr<Forest> Forest::parse(std::string_view bytes, std::string_view place) {
  return ForestReader(bytes, place).read();
}

void Forest::predict(std::span<const float> values, std::span<float> out) const {
  const Node* const nodes = nodes_.data();
  for (size_t first = 0; first < out.size(); first += kLanes) {
    // Lanes beyond the last row repeat it and are thrown away.
    std::array<const float*, kLanes> rows;
    std::array<float, kLanes> sums;
    for (size_t lane = 0; lane < kLanes; ++lane) {
      rows[lane] = values.data() + std::min(first + lane, out.size() - 1) * columns_;
    }
    sums.fill(base_score_);
    for (const Root& root : roots_) {
      std::array<uint32_t, kLanes> at;
      at.fill(root.node);
      for (int level = 0; level < root.depth; ++level) {
        for (size_t lane = 0; lane < kLanes; ++lane) {
          const Node& node = nodes[at[lane]];
          const float x = rows[lane][node.feature];
          // The two comparisons differ only for NaN, which compares false with everything.
          const bool right = node.missing_left != 0 ? x >= node.threshold : !(x < node.threshold);
          at[lane] = node.left + (right ? 1U : 0U);
        }
      }
      for (size_t lane = 0; lane < kLanes; ++lane) {
        sums[lane] += nodes[at[lane]].leaf;
      }
    }
    for (size_t lane = 0; lane < kLanes && first + lane < out.size(); ++lane) {
      out[first + lane] = sums[lane];
    }
  }
}

}  // namespace dfsim
