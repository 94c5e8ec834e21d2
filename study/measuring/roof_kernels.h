// The loops that roofs are measured with: fused multiply-adds that no unit can do faster, and
// streams over vectors.
//
// Each compute kernel keeps twelve or more independent chains of multiply-adds in registers: enough
// for two ports of latency 4 (Intel, AMD), or four (Arm). It reads no memory. Streams are STREAM's
// triad a = b + s c (McCalpin 1995), with ordinary and with non-temporal stores, and a sum of two
// vectors' elements, which stores nothing. Empirical rooflines: Yang, Kurth, Williams 2020,
// doi:10.1002/cpe.5547.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/dtype.h"

namespace dfsim::inline study {

struct ComputeKernel {
  std::string name;  // "avx512 fma"
  DType dtype = DType::kUnknown;
  double ops_per_pass = 0;  // 2 per multiply-add
  void (*run)(int64_t passes) = nullptr;
};

// Works on `n` floats of each vector, a multiple of kStreamStep, aligned to 64 bytes.
struct StreamKernel {
  std::string name;          // "avx2 triad"
  double bytes_per_element;  // that the loop reads and writes
  void (*run)(float* a, const float* b, const float* c, size_t n, int64_t passes) = nullptr;
};
inline constexpr size_t kStreamStep = 128;

// Those that this processor and operating system can run; empty on processors without kernels here,
// and in a program that was compiled without optimisation, whose loops would measure the compiler.
std::vector<ComputeKernel> compute_kernels();
// Products of fp32 matrices that stay in the first two caches: what a library of kernels reaches.
// None where compute_kernels() has none, and on Arm.
std::vector<ComputeKernel> product_kernels();
std::vector<StreamKernel> stream_kernels();

// Matrix units (AMX) that have no kernel here: their dtypes have a higher roof than any kernel
// shows.
bool has_unmeasured_matrix_unit(DType dtype);

}  // namespace dfsim::inline study
