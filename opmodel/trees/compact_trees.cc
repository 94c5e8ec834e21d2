// Writes and reads the compact layout. A split keeps the position of its threshold among those of
// its feature, a leaf a 16-bit multiple of a power of two. A power of two makes the rounded values
// exact floats, so that what was read is written as the same bytes.
#include "opmodel/trees/compact_trees.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "opmodel/trees/ubjson_writer.h"

namespace dfsim::inline opmodel {

namespace {

constexpr std::string_view kCompactFormat = "dfsim-trees/3";
constexpr int32_t kMostOfALeaf = 32767;
constexpr int kLeastExponent = -149;  // of a float

std::vector<std::vector<float>> thresholds_of(const TreeFile& trees) {
  std::vector<std::vector<float>> thresholds(trees.columns);
  for (size_t i = 0; i < trees.features.size(); ++i) {
    if (trees.features[i] >= 0) {
      thresholds[static_cast<size_t>(trees.features[i])].push_back(trees.values[i]);
    }
  }
  for (std::vector<float>& values : thresholds) {
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
  }
  return thresholds;
}

// The finest power of two of which 32767 reach the largest leaf.
int32_t leaf_exponent(const TreeFile& trees) {
  float largest = 0;
  for (size_t i = 0; i < trees.features.size(); ++i) {
    largest = trees.features[i] < 0 ? std::max(largest, std::abs(trees.values[i])) : largest;
  }
  int32_t exponent = kLeastExponent;
  while (std::ldexp(static_cast<double>(kMostOfALeaf), exponent) < largest) {
    ++exponent;
  }
  return exponent;
}

std::optional<int32_t> only(const std::vector<int32_t>& values) {
  return values.size() == 1 ? std::optional(values[0]) : std::nullopt;
}

// Eight bits an element, the lowest first.
class Bits {
 public:
  void push(bool bit) {
    if (count_ % 8 == 0) {
      bytes_.push_back(0);
    }
    bytes_.back() |= static_cast<int32_t>(uint32_t{bit} << (count_++ % 8));
  }
  const std::vector<int32_t>& bytes() const { return bytes_; }

 private:
  std::vector<int32_t> bytes_;
  size_t count_ = 0;
};

bool bit_of(const std::vector<int32_t>& bytes, size_t index) {
  return (static_cast<uint32_t>(bytes[index / 8]) >> (index % 8) & 1U) != 0;
}

// The narrowest type that holds them all; none is negative.
char type_of(const std::vector<int32_t>& values) {
  const auto largest = std::max_element(values.begin(), values.end());
  if (largest == values.end() || *largest <= UINT8_MAX) {
    return 'U';
  }
  return *largest <= INT16_MAX ? 'I' : 'l';
}

}  // namespace

bool CompactTrees::read_member(std::string_view key, UbjsonReader* reader) {
  if (key == "format") {
    std::string_view format;
    found_ = reader->read_string(format) && format == kCompactFormat;
    return true;
  }
  if (key == "base_score" || key == "thresholds") {
    reader->read_numbers(key == "thresholds" ? thresholds_ : base_score_);
    return true;
  }
  const std::array<std::pair<std::string_view, std::vector<int32_t>*>, 9> members{{
      {"columns", &columns_},
      {"nodes", &nodes_},
      {"inner", &inner_},
      {"features", &features_},
      {"counts", &counts_},
      {"splits", &splits_},
      {"missing_left", &missing_left_},
      {"leaf_exponent", &leaf_exponent_},
      {"leaves", &leaves_},
  }};
  for (const auto& [name, values] : members) {
    if (key == name) {
      reader->read_numbers(*values);
      return true;
    }
  }
  return false;
}

bool CompactTrees::is_split(size_t node) const { return bit_of(inner_, node); }

// Children follow their parent, each tree has as many as its splits want, and no node is left over.
bool CompactTrees::has_whole_trees(size_t nodes) const {
  size_t first = 0;
  for (const int32_t size : nodes_) {
    if (size <= 0 || static_cast<size_t>(size) > nodes - first) {
      return false;
    }
    const auto count = static_cast<size_t>(size);
    size_t splits = 0;
    for (size_t i = 0; i < count; ++i) {
      if (is_split(first + i) && 1 + 2 * splits++ <= i) {
        return false;
      }
    }
    if (count != 1 + 2 * splits) {
      return false;
    }
    first += count;
  }
  return first == nodes;
}

const char* CompactTrees::unpack(TreeFile* trees) const {
  const std::optional<int32_t> columns = only(columns_);
  const std::optional<int32_t> exponent = only(leaf_exponent_);
  if (!columns || *columns <= 0 || base_score_.size() != 1) {
    return "the number of features or the base score is missing or out of range";
  }
  if (!exponent || *exponent < kLeastExponent ||
      *exponent > std::numeric_limits<float>::max_exponent) {
    return "the exponent of its leaves is missing or out of range";
  }
  std::vector<size_t> first{0};  // threshold of each feature
  for (const int32_t count : counts_) {
    if (count < 0 || static_cast<size_t>(count) > thresholds_.size() - first.back()) {
      return "a feature's thresholds are out of range";
    }
    first.push_back(first.back() + static_cast<size_t>(count));
  }
  const size_t nodes = features_.size() + leaves_.size();
  if (counts_.size() != static_cast<size_t>(*columns) || splits_.size() != features_.size() ||
      inner_.size() != (nodes + 7) / 8 || missing_left_.size() != (splits_.size() + 7) / 8) {
    return "its arrays differ in length";
  }
  if (!has_whole_trees(nodes)) {
    return "a tree's nodes are out of range";
  }
  trees->base_score = base_score_[0];
  trees->columns = static_cast<size_t>(*columns);
  trees->nodes.assign(nodes_.begin(), nodes_.end());
  trees->features.assign(nodes, -1);
  trees->values.resize(nodes);
  trees->missing_left.resize(nodes);
  size_t split = 0;
  size_t leaf = 0;
  const float unit = std::ldexp(1.0F, *exponent);
  for (size_t i = 0; i < nodes; ++i) {
    if (!is_split(i)) {
      if (leaf == leaves_.size()) {
        return "its arrays differ in length";
      }
      trees->values[i] = static_cast<float>(leaves_[leaf++]) * unit;
      continue;
    }
    if (split == splits_.size()) {
      return "its arrays differ in length";
    }
    const int32_t feature = features_[split];
    if (feature < 0 || feature >= *columns || splits_[split] < 0 ||
        splits_[split] >= counts_[static_cast<size_t>(feature)]) {
      return "a split's feature or threshold is out of range";
    }
    trees->features[i] = feature;
    const size_t at = first[static_cast<size_t>(feature)] + static_cast<size_t>(splits_[split]);
    trees->values[i] = thresholds_[at];
    trees->missing_left[i] = bit_of(missing_left_, split) ? 1 : 0;
    ++split;
  }
  return nullptr;
}

std::string compact_trees(const TreeFile& trees) {
  const std::vector<std::vector<float>> thresholds = thresholds_of(trees);
  std::vector<int32_t> counts;
  std::vector<float> all_thresholds;
  for (const std::vector<float>& values : thresholds) {
    counts.push_back(static_cast<int32_t>(values.size()));
    all_thresholds.insert(all_thresholds.end(), values.begin(), values.end());
  }
  const int32_t exponent = leaf_exponent(trees);
  Bits inner;
  Bits missing_left;
  std::vector<int32_t> features;
  std::vector<int32_t> splits;
  std::vector<int32_t> leaves;
  for (size_t i = 0; i < trees.features.size(); ++i) {
    inner.push(trees.features[i] >= 0);
    if (trees.features[i] < 0) {
      leaves.push_back(static_cast<int32_t>(
          std::lround(std::ldexp(static_cast<double>(trees.values[i]), -exponent))));
      continue;
    }
    const std::vector<float>& values = thresholds[static_cast<size_t>(trees.features[i])];
    features.push_back(trees.features[i]);
    missing_left.push(trees.missing_left[i] != 0);
    splits.push_back(static_cast<int32_t>(
        std::lower_bound(values.begin(), values.end(), trees.values[i]) - values.begin()));
  }
  const std::vector<int32_t> nodes(trees.nodes.begin(), trees.nodes.end());
  UbjsonWriter out;
  out.begin_object();
  out.key("format").string(kCompactFormat);
  out.key("base_score").floats({trees.base_score});
  out.key("columns").integers('l', {static_cast<int32_t>(trees.columns)});
  out.key("nodes").integers(type_of(nodes), nodes);
  out.key("inner").integers('U', inner.bytes());
  out.key("features").integers(type_of(features), features);
  out.key("counts").integers(type_of(counts), counts);
  out.key("thresholds").floats(all_thresholds);
  out.key("splits").integers(type_of(splits), splits);
  out.key("missing_left").integers('U', missing_left.bytes());
  out.key("leaf_exponent").integers('l', {exponent});
  out.key("leaves").integers('I', leaves);
  out.end_object();
  return std::move(out).bytes();
}

bool are_compact_trees(std::string_view bytes) {
  UbjsonReader reader(bytes);
  std::string_view key;
  std::string_view format;
  return reader.begin_object() && reader.next_key(key) && key == "format" &&
         reader.read_string(format) && format == kCompactFormat;
}

}  // namespace dfsim::inline opmodel
