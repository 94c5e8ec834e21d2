// FeatureWriter: one walk over a family's formulas gives its values, or its names.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "opmodel/features/roofline.h"

namespace dfsim::inline opmodel {

class FeatureWriter {
 public:
  // Writes values into `values`, or names into `names` when that is given.
  FeatureWriter(std::span<float> values, std::vector<std::string>* names)
      : values_(values), names_(names) {}

  void add(std::string_view name, double value) {
    if (names_ != nullptr) {
      names_->emplace_back(name);
    } else {
      write(value);
    }
  }
  // ln(value), tiny values held at 1e-12.
  void add_log(std::string_view name, double value) {
    add(name, names_ != nullptr ? 0 : std::log(std::max(value, 1e-12)));
  }
  // "w128x64": a name with a tile in it. Strings are only made when names are wanted.
  void add_tile(std::string_view prefix, int a, int b, double value) {
    if (names_ != nullptr) {
      names_->push_back(std::string(prefix) + std::to_string(a) + "x" + std::to_string(b));
    } else {
      write(value);
    }
  }
  bool naming() const { return names_ != nullptr; }
  // No more values are wanted.
  bool full() const { return names_ == nullptr && next_ == values_.size(); }

 private:
  void write(double value) {
    if (next_ < values_.size()) {  // a model of earlier days knows the first ones only
      values_[next_++] = static_cast<float>(value);
    }
  }

  std::span<float> values_;
  std::vector<std::string>* names_;
  size_t next_ = 0;
};

// The power of two that divides n, as an exponent: at most 8, the largest that kernels care about.
inline double alignment(double n) {
  const auto value = static_cast<uint64_t>(std::max(n, 1.0));
  return std::min(std::countr_zero(value), 8);
}
inline double remainder_of(double n, int64_t divisor) {
  return static_cast<double>(static_cast<int64_t>(n) % divisor);
}
inline double log_of(double value) { return std::log(std::max(value, 1e-12)); }

// Features about device and dtype that all families add.
struct DeviceFacts {
  double units = 1;
  double l2_bytes = 1;
  double peak_per_us = 1;       // FLOPs
  double bandwidth_per_us = 1;  // bytes
  double clock_per_us = 1;      // cycles
};
DeviceFacts device_facts(const OpGeometry& geometry, const DeviceSpec& device);
void add_device_features(const OpGeometry& geometry, const DeviceFacts& facts,
                         const Roofline& roofline, FeatureWriter& writer);
// ln FLOPs, bytes, intensity, both arms over the floor and over each other, bytes over the cache.
void add_roofline_features(const OpGeometry& geometry, const DeviceFacts& facts,
                           const Roofline& roofline, FeatureWriter& writer);

void gemm_features(const OpGeometry& geometry, const DeviceFacts& facts, FeatureWriter& writer);
void conv_features(const OpGeometry& geometry, const DeviceFacts& facts, const Roofline& roofline,
                   FeatureWriter& writer);
void attention_features(const OpGeometry& geometry, const DeviceFacts& facts,
                        const Roofline& roofline, FeatureWriter& writer);
void rows_features(const OpGeometry& geometry, const DeviceFacts& facts, FeatureWriter& writer);
void row_cache_features(const OpGeometry& geometry, const DeviceFacts& facts,
                        const Roofline& roofline, FeatureWriter& writer);
void generic_features(const OpDescriptor& op, const OpGeometry& geometry, FeatureWriter& writer);
// Features of rows and generic ops, last: models from before them still work.
void walk_features(const OpDescriptor& op, FeatureWriter& writer);

// Features of convolutions, matrix products and generic ops, last for the same reason.
void cpu_conv_features(const OpDescriptor& op, const OpGeometry& geometry, FeatureWriter& writer);
void cpu_gemm_features(const OpDescriptor& op, const OpGeometry& geometry, FeatureWriter& writer);
void cpu_rows_features(const OpDescriptor& op, FeatureWriter& writer);
void cpu_generic_features(const OpDescriptor& op, const DeviceFacts& facts, FeatureWriter& writer);

// Elements of a tensor; 0 where an extent is not known.
double element_count(const std::vector<int64_t>& extents);
// Whole numbers of an attribute's list; empty when it is absent or something else.
std::vector<size_t> index_list(const OpDescriptor& op, std::string_view name);
// Pieces that a gather copies or a scatter writes, each of elements that lie side by side; 0 for
// other operators.
double indexed_pieces(const OpDescriptor& op);
// Elements that lie side by side in both of two tensors of one rank: a slice, part or join and its
// whole.
double common_run(const std::vector<int64_t>& x, const std::vector<int64_t>& y);
// The axis whose removal leaves the others in order; perm.size() when there is none. Kernels for
// one moved axis copy blocks, others go element by element.
size_t single_moved_axis(const std::vector<size_t>& perm);

// ONNX Runtime's CPU provider copies what `op`, a Transpose, moves element by element: the last
// axis moves, and others with it, but not as the two axes of a matrix would.
bool copies_each_element(const OpDescriptor& op);

}  // namespace dfsim::inline opmodel
