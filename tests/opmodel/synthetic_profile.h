// A made-up GPU whose operator times are known exactly: the ground on which training is tested.
#pragma once

#include <string>

#include "base/rng.h"
#include "datasets/profiles/profile.h"

namespace dfsim {

inline constexpr const char* kToyDevice = "Toy GPU";

inline ProfileRow make_row(Profile& profile, const std::string& op_type, OpClass op_class,
                           const TensorList& inputs, const TensorList& outputs, double time_us,
                           const std::string& attributes = "") {
  ProfileRow row;
  row.device = profile.intern(kToyDevice);
  row.op_type = profile.intern(op_type);
  row.op_class = op_class;
  row.attributes = profile.intern(attributes);
  row.inputs = profile.intern(inputs);
  row.outputs = profile.intern(outputs);
  row.timing = TimingKind::kKernelOnly;
  row.time_ns = static_cast<TimeNs>(time_us * 1000);
  return row;
}

// 10 TFLOP/s, 1 TB/s, 3 us floor; products reach 80 % of the peak, 60 % where N is odd.
inline double toy_gemm_us(double m, double n, double k) {
  const double compute = 2 * m * n * k / 1e7 / (static_cast<int64_t>(n) % 2 == 1 ? 0.6 : 0.8);
  const double memory = 4 * (m * k + k * n + m * n) / 1e6;
  return std::max(compute, memory) + 3;
}

inline TensorSpec f32(std::vector<int64_t> extents) {
  return {DType::kFloat32, std::move(extents), ""};
}

inline void add_gemm(Profile& profile, int64_t m, int64_t n, int64_t k, double factor = 1) {
  profile.add(make_row(profile, "MatMul", OpClass::kMatMul, {f32({m, k}), f32({k, n})},
                       {f32({m, n})}, factor * toy_gemm_us(m, n, k)));
}

inline Profile toy_profile(size_t rows, uint64_t seed) {
  Profile profile;
  Rng rng(seed);
  for (size_t i = 0; i < rows; ++i) {
    add_gemm(profile, 64 + rng.below(2000), 64 + rng.below(2000), 64 + rng.below(2000));
  }
  return profile;
}

}  // namespace dfsim
