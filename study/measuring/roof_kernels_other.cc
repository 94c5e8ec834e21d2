// Kernels of 64-bit Arm, whose NEON every such processor has; and of all others: none. The chains
// are arrays here: 24 of them in 32 registers, which the compilers unroll.
#include "study/measuring/roof_kernels.h"

#if !defined(__x86_64__) || !defined(__OPTIMIZE__)

#if defined(__aarch64__) && defined(__OPTIMIZE__)

#include <arm_neon.h>

namespace dfsim::inline study {
namespace {

constexpr size_t kNeonChains = 24;
constexpr size_t kNeonUnroll = 8;
constexpr size_t kNeonLanes = 4;

template <typename T>
void keep_neon(const T& value) {
  asm volatile("" : : "m"(value) : "memory");
}

void fma_f32_neon(int64_t passes) {
  float32x4_t chains[kNeonChains];
  const float32x4_t half = vdupq_n_f32(0.5F);
  for (float32x4_t& chain : chains) {
    chain = vdupq_n_f32(0);
    asm volatile("" : "+w"(chain));  // hides that all chains begin alike
  }
  for (; passes > 0; --passes) {
    for (size_t i = 0; i < kNeonChains; ++i) {
      chains[i] = vfmaq_f32(chains[i], half, half);
    }
  }
  keep_neon(chains);
}

void fma_f64_neon(int64_t passes) {
  float64x2_t chains[kNeonChains];
  const float64x2_t half = vdupq_n_f64(0.5);
  for (float64x2_t& chain : chains) {
    chain = vdupq_n_f64(0);
    asm volatile("" : "+w"(chain));
  }
  for (; passes > 0; --passes) {
    for (size_t i = 0; i < kNeonChains; ++i) {
      chains[i] = vfmaq_f64(chains[i], half, half);
    }
  }
  keep_neon(chains);
}

void triad_neon(float* a, const float* b, const float* c, size_t n, int64_t passes) {
  const float32x4_t scale = vdupq_n_f32(0.5F);
  for (; passes > 0; --passes) {
    for (size_t at = 0; at < n; at += kNeonUnroll * kNeonLanes) {
      for (size_t i = at; i < at + kNeonUnroll * kNeonLanes; i += kNeonLanes) {
        vst1q_f32(a + i, vfmaq_f32(vld1q_f32(b + i), vld1q_f32(c + i), scale));
      }
    }
    asm volatile("" : : : "memory");
  }
}

void sum_neon(float* /*a*/, const float* b, const float* c, size_t n, int64_t passes) {
  float32x4_t sums[kNeonUnroll];
  for (float32x4_t& sum : sums) {
    sum = vdupq_n_f32(0);
  }
  for (; passes > 0; --passes) {
    for (size_t at = 0; at < n; at += kNeonUnroll * kNeonLanes) {
      for (size_t i = 0; i < kNeonUnroll; ++i) {
        sums[i] = vaddq_f32(sums[i], vld1q_f32(b + at + i * kNeonLanes));
        sums[i] = vaddq_f32(sums[i], vld1q_f32(c + at + i * kNeonLanes));
      }
    }
    asm volatile("" : : : "memory");
  }
  keep_neon(sums);
}

}  // namespace

std::vector<ComputeKernel> compute_kernels() {
  return {{"neon fma", DType::kFloat64, 2.0 * 2 * kNeonChains, fma_f64_neon},
          {"neon fma", DType::kFloat32, 2.0 * 4 * kNeonChains, fma_f32_neon}};
}

std::vector<StreamKernel> stream_kernels() {
  return {{"neon triad", 12, triad_neon}, {"neon sum", 8, sum_neon}};
}

bool has_unmeasured_matrix_unit(DType /*dtype*/) { return false; }

}  // namespace dfsim::inline study

#else

namespace dfsim::inline study {

std::vector<ComputeKernel> compute_kernels() { return {}; }
std::vector<StreamKernel> stream_kernels() { return {}; }
bool has_unmeasured_matrix_unit(DType /*dtype*/) { return false; }

}  // namespace dfsim::inline study

#endif
#endif
