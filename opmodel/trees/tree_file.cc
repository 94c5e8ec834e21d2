// Reads both layouts of a part's trees into the same flat arrays and writes them back. The
// reader follows UBJSON's structure itself and checks each count against what is left of the
// file, because XGBoost's own loader trusts the lengths that it reads. Nodes are renumbered
// breadth first, so that siblings are neighbours and the order alone says where the children of
// a split are.
#include "opmodel/trees/tree_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "opmodel/trees/compact_trees.h"
#include "opmodel/trees/ubjson.h"
#include "opmodel/trees/ubjson_writer.h"

namespace dfsim::inline opmodel {

namespace {

constexpr size_t kMaxColumns = 4096;

// One tree as XGBoost has it: parallel arrays over its nodes.
struct FileTree {
  std::vector<int32_t> left;
  std::vector<int32_t> right;
  std::vector<int32_t> feature;
  std::vector<float> condition;  // threshold, or the value of a leaf
  std::vector<int32_t> default_left;
  std::vector<int32_t> split_type;
};

class TreeReader {
 public:
  TreeReader(std::string_view bytes, std::string_view place) : reader_(bytes), place_(place) {}

  StatusOr<TreeFile> read() {
    std::string_view key;
    bool has_learner = false;
    bool has_compact_member = false;
    reader_.begin_object();
    while (reader_.next_key(key)) {
      if (key == "learner") {
        has_learner = true;
        DFSIM_RETURN_IF_ERROR(read_learner());
      } else if (compact_.read_member(key, &reader_)) {
        has_compact_member = true;
      } else {
        reader_.skip();
      }
    }
    if (!reader_.ok()) {
      return damaged("the file ends early or holds bytes that are not UBJSON");
    }
    // Both fill the same arrays, which would no longer fit each other.
    if (has_learner && has_compact_member) {
      return damaged("it has members of both layouts");
    }
    if (!has_learner && !compact_.found()) {
      return damaged("it has no trees of this version of dfsim");
    }
    if (const char* const reason = has_learner ? nullptr : compact_.unpack(&trees_)) {
      return damaged(reason);
    }
    if (trees_.columns == 0 || trees_.columns > kMaxColumns || !std::isfinite(trees_.base_score)) {
      return damaged("the number of features or the base score is missing or out of range");
    }
    for (size_t i = 0; i < trees_.features.size(); ++i) {
      const bool leaf = trees_.features[i] < 0;
      if (trees_.features[i] >= static_cast<int32_t>(trees_.columns)) {
        return damaged("a split uses a feature the model does not have");
      }
      if (leaf ? !std::isfinite(trees_.values[i]) : std::isnan(trees_.values[i])) {
        return damaged("a leaf is not finite, or a threshold not a number");
      }
    }
    return std::move(trees_);
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
    trees_.base_score = std::numeric_limits<float>::quiet_NaN();
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
      // XGBoost 3.1 gives a base score for each output, as in "[5E-1]".
      if (text.size() > 2 && text.front() == '[' && text.back() == ']') {
        text = text.substr(1, text.size() - 2);
      }
      float value = std::numeric_limits<float>::quiet_NaN();
      std::from_chars(text.data(), text.data() + text.size(), value);
      if (key == "base_score") {
        trees_.base_score = value;
      } else if (key == "num_feature" && value > 0 && value <= kMaxColumns) {
        trees_.columns = static_cast<size_t>(value);
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
    order_.assign(1, 0);
    for (size_t at = 0; at < order_.size(); ++at) {
      const auto i = static_cast<size_t>(order_[at]);
      const bool leaf = tree_.left[i] < 0;
      const auto in_range = [&](int32_t child) {
        return child > 0 && static_cast<size_t>(child) < count;
      };
      if (!leaf &&
          (!in_range(tree_.left[i]) || !in_range(tree_.right[i]) || order_.size() + 2 > count ||
           tree_.feature[i] < 0 || std::isnan(tree_.condition[i]))) {
        return damaged("a tree's children or features are out of range");
      }
      trees_.features.push_back(leaf ? -1 : tree_.feature[i]);
      trees_.values.push_back(tree_.condition[i]);
      trees_.missing_left.push_back(leaf || tree_.default_left[i] == 0 ? 0 : 1);
      if (!leaf) {
        order_.push_back(tree_.left[i]);
        order_.push_back(tree_.right[i]);
      }
    }
    trees_.nodes.push_back(static_cast<uint32_t>(order_.size()));
    return ok_status();
  }

  UbjsonReader reader_;
  std::string_view place_;
  FileTree tree_;
  std::vector<int32_t> order_;
  TreeFile trees_;
  CompactTrees compact_;
};

// The members of one of XGBoost's trees. Splits are numbered as they stand: breadth first.
void write_xgboost_tree(const TreeFile& trees, size_t index, size_t first, UbjsonWriter* out) {
  const size_t count = trees.nodes[index];
  std::vector<int32_t> left(count, -1);
  std::vector<int32_t> right(count, -1);
  std::vector<int32_t> parents(count, std::numeric_limits<int32_t>::max());
  std::vector<int32_t> features(count, 0);
  std::vector<int32_t> missing(count, 0);
  int32_t next = 1;
  for (size_t i = 0; i < count; ++i) {
    missing[i] = trees.missing_left[first + i];
    if (trees.features[first + i] >= 0) {
      features[i] = trees.features[first + i];
      left[i] = next++;
      right[i] = next++;
      parents[static_cast<size_t>(left[i])] = static_cast<int32_t>(i);
      parents[static_cast<size_t>(right[i])] = static_cast<int32_t>(i);
    }
  }
  const std::vector<float> zeros(count, 0.0F);
  const std::vector<float> values(trees.values.begin() + static_cast<ptrdiff_t>(first),
                                  trees.values.begin() + static_cast<ptrdiff_t>(first + count));
  out->begin_object();
  out->key("base_weights").floats(zeros);
  out->key("categories").integers('l', {});
  out->key("categories_nodes").integers('l', {});
  out->key("categories_segments").integers('L', {});
  out->key("categories_sizes").integers('L', {});
  out->key("default_left").integers('U', missing);
  out->key("id").integer(static_cast<int32_t>(index));
  out->key("left_children").integers('l', left);
  out->key("loss_changes").floats(zeros);
  out->key("parents").integers('l', parents);
  out->key("right_children").integers('l', right);
  out->key("split_conditions").floats(values);
  out->key("split_indices").integers('l', features);
  out->key("split_type").integers('U', std::vector<int32_t>(count, 0));
  out->key("sum_hessian").floats(zeros);
  out->key("tree_param").begin_object();
  out->key("num_deleted").string("0");
  out->key("num_feature").string(std::to_string(trees.columns));
  out->key("num_nodes").string(std::to_string(count));
  out->key("size_leaf_vector").string("0");
  out->end_object();
  out->end_object();
}

void write_xgboost_trees(const TreeFile& trees, UbjsonWriter* out) {
  out->key("gbtree_model_param").begin_object();
  out->key("num_parallel_tree").string("1");
  out->key("num_trees").string(std::to_string(trees.nodes.size()));
  out->key("size_leaf_vector").string("0");
  out->end_object();
  out->key("tree_info").begin_array(trees.nodes.size());
  for (size_t i = 0; i < trees.nodes.size(); ++i) {
    out->integer(0);
  }
  out->key("trees").begin_array(trees.nodes.size());
  size_t first = 0;
  for (size_t i = 0; i < trees.nodes.size(); ++i) {
    write_xgboost_tree(trees, i, first, out);
    first += trees.nodes[i];
  }
}

}  // namespace

StatusOr<TreeFile> read_trees(std::string_view bytes, std::string_view place) {
  return TreeReader(bytes, place).read();
}

std::string xgboost_trees(const TreeFile& trees) {
  UbjsonWriter out;
  out.begin_object();
  out.key("learner").begin_object();
  out.key("attributes").begin_object();
  out.end_object();
  out.key("feature_names").begin_array(0);
  out.key("feature_types").begin_array(0);
  out.key("gradient_booster").begin_object();
  out.key("model").begin_object();
  write_xgboost_trees(trees, &out);
  out.end_object();
  out.key("name").string("gbtree");
  out.end_object();
  out.key("learner_model_param").begin_object();
  // Nine digits give a float back exactly.
  out.key("base_score").string(fmt::format("{:.9g}", trees.base_score));
  out.key("boost_from_average").string("0");
  out.key("num_class").string("0");
  out.key("num_feature").string(std::to_string(trees.columns));
  out.key("num_target").string("1");
  out.end_object();
  out.key("objective").begin_object();
  out.key("name").string("reg:squarederror");
  out.key("reg_loss_param").begin_object();
  out.key("scale_pos_weight").string("1");
  out.end_object();
  out.end_object();
  out.end_object();
  out.key("version").begin_array(3);
  for (const int part : {1, 7, 4}) {
    out.integer(part);
  }
  out.end_object();
  return std::move(out).bytes();
}

StatusOr<std::string> in_xgboost_layout(std::string bytes, std::string_view place) {
  if (!are_compact_trees(bytes)) {
    return bytes;
  }
  DFSIM_ASSIGN_OR_RETURN(const TreeFile trees, read_trees(bytes, place));
  return xgboost_trees(trees);
}

}  // namespace dfsim::inline opmodel
