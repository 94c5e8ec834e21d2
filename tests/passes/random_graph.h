// Random valid graphs of a few operators, in the forms that the passes look for.
//
// Every operator is resolved and every tensor that nothing reads is an output. No two operators are
// alike, so that sharing common ones changes no count of MACs. The caller supplies the choices: a
// generator of random numbers in a test, a fuzzer's bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "graphs/ir/graph_builder.h"

namespace dfsim {

class RandomGraph {
 public:
  // `choose(n)` gives a number below n.
  explicit RandomGraph(std::function<uint32_t(uint32_t n)> choose) : choose_(std::move(choose)) {}

  // Up to `steps` steps of one to nine operators.
  StatusOr<Graph> make(int steps);

 private:
  using Attributes = std::vector<std::pair<std::string, AttrValue>>;
  struct Value {
    std::string name;
    std::vector<int64_t> extents;
  };

  int64_t one_of(const std::vector<int64_t>& list) {
    return list[choose_(static_cast<uint32_t>(list.size()))];
  }
  Tensor& declare(const std::string& name, const std::vector<int64_t>& extents);
  std::string weight(const std::vector<int64_t>& extents);
  std::string number(double value);
  std::string ints(const std::vector<int64_t>& values);
  // "" when an equal operator exists.
  std::string op(const std::string& type, const std::vector<std::string>& inputs,
                 const Attributes& attributes = {}, int outputs = 1);
  void keep(const std::string& name, std::vector<int64_t> extents);
  const Value& any() { return values_[choose_(static_cast<uint32_t>(values_.size()))]; }

  void step();
  void add_elementwise(const Value& x);
  void add_binary(const Value& x);
  void add_bias(const Value& x);
  void add_product(const Value& x);
  void add_scores(const Value& x);
  void add_transpose(const Value& x);
  void add_reshape(const Value& x);
  void add_norm(const Value& x);
  void add_written_norm(const Value& x);
  void add_gelu(const Value& x);
  void add_split(const Value& x);
  void add_conv(const Value& x);

  std::function<uint32_t(uint32_t)> choose_;
  GraphBuilder builder_;
  std::vector<Value> values_;
  std::set<std::string> made_;
  int count_ = 0;
};

}  // namespace dfsim
