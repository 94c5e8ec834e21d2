// Matrix products.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "base/text.h"
#include "graphs/tensorflow/node_context_internal.h"

namespace dfsim::inline graphs {
namespace {

void matmul(NodeContext& node, std::string_view /*target*/) {
  const bool a = node.attr_bool("transpose_a", false);
  const bool b = node.attr_bool("transpose_b", false);
  if (!a && !b) {
    node.set(0, node.emit("MatMul", {node.plain(0), node.plain(1)}));
    return;
  }
  node.set(0, node.emit("Gemm", {node.plain(0), node.plain(1)},
                        {{"transA", int64_t{a}}, {"transB", int64_t{b}}}));
}

TensorId last_two_swapped(NodeContext& node, size_t i, bool swap) {
  const int rank = node.rank(i);
  if (!swap || rank < 2) {
    return node.plain(i);
  }
  std::vector<int64_t> perm(static_cast<size_t>(rank));
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return node.emitter().transposed(node.plain(i), perm);
}

void batch_matmul(NodeContext& node, std::string_view target) {
  const TensorId a = last_two_swapped(node, 0, node.attr_bool("adj_x", false));
  const TensorId b = last_two_swapped(node, 1, node.attr_bool("adj_y", false));
  node.set(0, node.emit(target, {a, b}));
}

// The labels of "ab,bc->ac", or nullopt for anything else than two operands without repeats.
struct TwoOperands {
  std::string a;
  std::string b;
  std::string out;
};

std::optional<TwoOperands> parse_two(const std::string& equation) {
  std::string clean;
  std::copy_if(equation.begin(), equation.end(), std::back_inserter(clean),
               [](char c) { return c != ' '; });
  const size_t comma = clean.find(',');
  const size_t arrow = clean.find("->");
  if (comma == std::string::npos || arrow == std::string::npos || arrow < comma) {
    return std::nullopt;
  }
  TwoOperands parsed{clean.substr(0, comma), clean.substr(comma + 1, arrow - comma - 1),
                     clean.substr(arrow + 2)};
  const auto simple = [](std::string labels) {
    const bool letters = std::all_of(labels.begin(), labels.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    });
    std::sort(labels.begin(), labels.end());
    return letters && std::adjacent_find(labels.begin(), labels.end()) == labels.end();
  };
  const auto in = [](char label, const std::string& labels) {
    return labels.find(label) != std::string::npos;
  };
  const auto known = [&](char c) { return in(c, parsed.a) || in(c, parsed.b); };
  const auto used_in_a = [&](char c) { return in(c, parsed.b) || in(c, parsed.out); };
  const auto used_in_b = [&](char c) { return in(c, parsed.a) || in(c, parsed.out); };
  const bool fits = simple(parsed.a) && simple(parsed.b) && simple(parsed.out) &&
                    std::all_of(parsed.out.begin(), parsed.out.end(), known) &&
                    std::all_of(parsed.a.begin(), parsed.a.end(), used_in_a) &&
                    std::all_of(parsed.b.begin(), parsed.b.end(), used_in_b);
  return fits ? std::optional(parsed) : std::nullopt;
}

// An einsum of two operands as a MatMul: labels of both and of the result are the batch, labels of
// both only are contracted. Layouts change by Transpose and Reshape where they must.
class EinsumAsMatmul {
 public:
  EinsumAsMatmul(NodeContext& node, const TwoOperands& labels) : node_(node), labels_(labels) {}

  // False: the operands do not fit the equation.
  bool run() {
    if (!bind(labels_.a, node_.shape(0)) || !bind(labels_.b, node_.shape(1))) {
      return false;
    }
    // In the order of the result, so that as little as possible has to be moved.
    for (const char c : labels_.out) {
      const bool in_a = has(labels_.a, c);
      const bool in_b = has(labels_.b, c);
      (in_a && in_b ? batch_ : in_a ? rows_ : columns_) += c;
    }
    for (const char c : labels_.a) {
      contracted_ += has(labels_.out, c) ? "" : std::string(1, c);
    }
    const bool flat_b = batch_.empty();
    const TensorId a = arranged(
        0, labels_.a, batch_ + rows_ + contracted_,
        batch_.empty() ? std::vector<std::string>{rows_, contracted_} : parts(rows_, contracted_));
    const TensorId b = arranged(
        1, labels_.b, batch_ + contracted_ + columns_,
        flat_b ? std::vector<std::string>{contracted_, columns_} : parts(contracted_, columns_));
    const TensorId product = node_.emit("MatMul", {a, b});
    const std::string order = batch_ + rows_ + columns_;
    std::vector<int64_t> extents;
    for (const char c : order) {
      extents.push_back(extent(c));
    }
    const TensorId shaped = node_.emitter().reshaped(product, extents);
    node_.set(0, node_.emitter().transposed(shaped, permutation(order, labels_.out)));
    return true;
  }

 private:
  static bool has(const std::string& labels, char c) { return labels.find(c) != std::string::npos; }
  int64_t extent(char c) const { return extents_[static_cast<unsigned char>(c)]; }

  bool bind(const std::string& labels, const Shape& shape) {
    if (shape.rank() != static_cast<int>(labels.size())) {
      return false;
    }
    for (size_t i = 0; i < labels.size(); ++i) {
      int64_t& bound = extents_[static_cast<unsigned char>(labels[i])];
      const int64_t found = shape[static_cast<int>(i)].extent();
      if (bound >= 0 && bound != found) {
        return false;
      }
      bound = found;
    }
    return true;
  }

  std::vector<std::string> parts(const std::string& second, const std::string& third) const {
    std::vector<std::string> list;
    for (const char c : batch_) {
      list.emplace_back(1, c);
    }
    list.push_back(second);
    list.push_back(third);
    return list;
  }

  static std::vector<int64_t> permutation(const std::string& from, const std::string& to) {
    std::vector<int64_t> perm;
    for (const char c : to) {
      perm.push_back(static_cast<int64_t>(from.find(c)));
    }
    return perm;
  }

  // The operand with its axes in `order`, and those of each group made one.
  TensorId arranged(size_t input, const std::string& from, const std::string& order,
                    const std::vector<std::string>& groups) {
    const TensorId moved = node_.emitter().transposed(node_.plain(input), permutation(from, order));
    std::vector<int64_t> extents;
    for (const std::string& group : groups) {
      Count product(1);
      for (const char c : group) {
        product *= Count(extent(c));
      }
      extents.push_back(product.overflowed() ? -1 : product.value());
    }
    return node_.emitter().reshaped(moved, extents);
  }

  NodeContext& node_;
  const TwoOperands& labels_;
  std::string batch_;
  std::string rows_;
  std::string columns_;
  std::string contracted_;
  std::array<int64_t, 256> extents_ = [] {
    std::array<int64_t, 256> list;
    list.fill(-1);
    return list;
  }();
};

void einsum(NodeContext& node, std::string_view target) {
  const std::string equation = node.attr_string("equation", "");
  const auto two = parse_two(equation);
  if (two && node.input_count() == 2 && EinsumAsMatmul(node, *two).run()) {
    return;
  }
  node.set(0, node.emit(target, node.all_plain(), {{"equation", equation}}));
}

// clang-format off
constexpr TfRule kMatmulRules[] = {
    {.type = "MatMul", .translate = matmul, .required_inputs = 2},
    {.type = "BatchMatMul", .translate = batch_matmul, .target = "MatMul", .required_inputs = 2},
    {.type = "BatchMatMulV2", .translate = batch_matmul, .target = "MatMul", .required_inputs = 2},
    {.type = "BatchMatMulV3", .translate = batch_matmul, .target = "MatMul", .required_inputs = 2},
    {.type = "Einsum", .translate = einsum, .target = "Einsum"},
    {.type = "XlaEinsum", .translate = einsum, .target = "Einsum"},
};
// clang-format on

}  // namespace

std::span<const TfRule> matmul_tf_rules() { return kMatmulRules; }

}  // namespace dfsim::inline graphs
