// Kernels of x86-64. Each function is compiled for its own instruction set (`target`), whatever the
// flags of the build, and only called where the processor and the operating system have it. Vectors
// stay inside a function: the calling convention of wide registers depends on the flags.
#include "study/measuring/roof_kernels.h"

#if defined(__x86_64__) && defined(__OPTIMIZE__)

#include <cpuid.h>
#include <immintrin.h>

namespace dfsim::inline study {
namespace {

// Arrays are not certain to be kept in registers, so the chains are variables of their own.
#define DFSIM_TWELVE(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
// The empty assembly hides that all chains begin alike: else the compiler would keep one of them.
#define DFSIM_DECLARE(i) \
  Vector s##i = begin;   \
  asm volatile("" : "+x"(s##i));
// Reads a chain in a way that the compiler cannot drop, so that the loop before it stays. It reads
// a register: a chain that has an address is kept in memory when registers are few.
#define DFSIM_ADD_UP(i) asm volatile("" : : "x"(s##i));
#define DFSIM_CHAINS(isa, function, VectorType, begin_value, factors, expression) \
  __attribute__((target(isa))) void function(int64_t passes) {                    \
    using Vector = VectorType;                                                    \
    const Vector begin = begin_value;                                             \
    factors;                                                                      \
    DFSIM_TWELVE(DFSIM_DECLARE)                                                   \
    for (; passes > 0; --passes) {                                                \
      DFSIM_TWELVE(expression)                                                    \
    }                                                                             \
    DFSIM_TWELVE(DFSIM_ADD_UP)                                                    \
  }

// x = x / 2 + 1/2 stays 1: no denormal numbers, no overflow.
#define DFSIM_FMA256(i) s##i = _mm256_fmadd_ps(s##i, half, half);
DFSIM_CHAINS("avx2,fma", fma_f32_avx2, __m256, _mm256_set1_ps(1),
             const __m256 half = _mm256_set1_ps(0.5F), DFSIM_FMA256)
#define DFSIM_FMA256D(i) s##i = _mm256_fmadd_pd(s##i, half, half);
DFSIM_CHAINS("avx2,fma", fma_f64_avx2, __m256d, _mm256_set1_pd(1),
             const __m256d half = _mm256_set1_pd(0.5), DFSIM_FMA256D)
#define DFSIM_FMA512(i) s##i = _mm512_fmadd_ps(s##i, half, half);
DFSIM_CHAINS("avx512f", fma_f32_avx512, __m512, _mm512_set1_ps(1),
             const __m512 half = _mm512_set1_ps(0.5F), DFSIM_FMA512)
#define DFSIM_FMA512D(i) s##i = _mm512_fmadd_pd(s##i, half, half);
DFSIM_CHAINS("avx512f", fma_f64_avx512, __m512d, _mm512_set1_pd(1),
             const __m512d half = _mm512_set1_pd(0.5), DFSIM_FMA512D)

// Products of 8 bits: without an instruction for the whole, three; the first reads the chain, for
// the compiler would compute a product of constants once.
#define DFSIM_MADD256(i) \
  s##i = _mm256_add_epi32(s##i, _mm256_madd_epi16(_mm256_maddubs_epi16(s##i, ones), wide_ones));
DFSIM_CHAINS("avx2", dot_i8_avx2, __m256i, _mm256_setzero_si256(),
             const __m256i ones = _mm256_set1_epi8(1);
             const __m256i wide_ones = _mm256_set1_epi16(1), DFSIM_MADD256)
#define DFSIM_VNNI256(i) s##i = _mm256_dpbusd_avx_epi32(s##i, ones, ones);
DFSIM_CHAINS("avx2,avxvnni", dot_i8_avxvnni, __m256i, _mm256_setzero_si256(),
             const __m256i ones = _mm256_set1_epi8(1), DFSIM_VNNI256)
#define DFSIM_VNNI512(i) s##i = _mm512_dpbusd_epi32(s##i, ones, ones);
DFSIM_CHAINS("avx512f,avx512vnni", dot_i8_avx512, __m512i, _mm512_setzero_si512(),
             const __m512i ones = _mm512_set1_epi8(1), DFSIM_VNNI512)
#define DFSIM_BF16(i) s##i = _mm512_dpbf16_ps(s##i, small, small);
DFSIM_CHAINS("avx512f,avx512bf16", dot_bf16_avx512, __m512, _mm512_setzero_ps(),
             const __m512bh small = _mm512_cvtne2ps_pbh(_mm512_set1_ps(1e-3F),
                                                        _mm512_set1_ps(1e-3F)),
             DFSIM_BF16)

// Keeps passes over the same vectors apart: the compiler may not join them.
void next_pass() { asm volatile("" : : : "memory"); }

#define DFSIM_EIGHT(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#define DFSIM_STREAM_KERNEL(isa, function, lanes, start, step, finish)                   \
  __attribute__((target(isa))) void function([[maybe_unused]] float* a, const float* b,  \
                                             const float* c, size_t n, int64_t passes) { \
    start;                                                                               \
    for (; passes > 0; --passes) {                                                       \
      for (size_t at = 0; at < n; at += size_t{8} * (lanes)) {                           \
        DFSIM_EIGHT(step)                                                                \
      }                                                                                  \
      next_pass();                                                                       \
    }                                                                                    \
    finish                                                                               \
  }

#define DFSIM_HALF256 const __m256 half = _mm256_set1_ps(0.5F)
#define DFSIM_HALF512 const __m512 half = _mm512_set1_ps(0.5F)
#define DFSIM_TRIAD256(i)                                                                 \
  _mm256_store_ps(a + at + i * 8L, _mm256_fmadd_ps(_mm256_load_ps(c + at + i * 8L), half, \
                                                   _mm256_load_ps(b + at + i * 8L)));
#define DFSIM_PAST256(i)                                                                   \
  _mm256_stream_ps(a + at + i * 8L, _mm256_fmadd_ps(_mm256_load_ps(c + at + i * 8L), half, \
                                                    _mm256_load_ps(b + at + i * 8L)));
#define DFSIM_TRIAD512(i)                                                                   \
  _mm512_store_ps(a + at + i * 16L, _mm512_fmadd_ps(_mm512_load_ps(c + at + i * 16L), half, \
                                                    _mm512_load_ps(b + at + i * 16L)));
#define DFSIM_PAST512(i)                                                                     \
  _mm512_stream_ps(a + at + i * 16L, _mm512_fmadd_ps(_mm512_load_ps(c + at + i * 16L), half, \
                                                     _mm512_load_ps(b + at + i * 16L)));
DFSIM_STREAM_KERNEL("avx2,fma", triad_avx2, 8, DFSIM_HALF256, DFSIM_TRIAD256, )
DFSIM_STREAM_KERNEL("avx2,fma", triad_past_avx2, 8, DFSIM_HALF256, DFSIM_PAST256, _mm_sfence();)
DFSIM_STREAM_KERNEL("avx512f", triad_avx512, 16, DFSIM_HALF512, DFSIM_TRIAD512, )
DFSIM_STREAM_KERNEL("avx512f", triad_past_avx512, 16, DFSIM_HALF512, DFSIM_PAST512, _mm_sfence();)

#define DFSIM_ZERO256(i) __m256 s##i = _mm256_setzero_ps();
#define DFSIM_ZERO512(i) __m512 s##i = _mm512_setzero_ps();
#define DFSIM_SUM256(i)                                        \
  s##i = _mm256_add_ps(s##i, _mm256_load_ps(b + at + i * 8L)); \
  s##i = _mm256_add_ps(s##i, _mm256_load_ps(c + at + i * 8L));
#define DFSIM_SUM512(i)                                         \
  s##i = _mm512_add_ps(s##i, _mm512_load_ps(b + at + i * 16L)); \
  s##i = _mm512_add_ps(s##i, _mm512_load_ps(c + at + i * 16L));
DFSIM_STREAM_KERNEL("avx2", sum_avx2, 8, DFSIM_EIGHT(DFSIM_ZERO256), DFSIM_SUM256,
                    DFSIM_EIGHT(DFSIM_ADD_UP))
DFSIM_STREAM_KERNEL("avx512f", sum_avx512, 16, DFSIM_EIGHT(DFSIM_ZERO512), DFSIM_SUM512,
                    DFSIM_EIGHT(DFSIM_ADD_UP))

struct Leaf7 {
  unsigned eax1 = 0;  // of subleaf 1
  unsigned edx = 0;
};

Leaf7 leaf7() {
  Leaf7 leaf;
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned ignored = 0;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &leaf.edx) != 0 && eax >= 1) {
    __get_cpuid_count(7, 1, &leaf.eax1, &ebx, &ecx, &ignored);
  }
  return leaf;
}

}  // namespace

std::vector<ComputeKernel> compute_kernels() {
  constexpr double kChains = 12;
  std::vector<ComputeKernel> kernels;
  // Multiply-adds of one instruction, twice, of every chain.
  const auto add = [&kernels](const char* name, DType dtype, double products,
                              void (*run)(int64_t)) {
    kernels.push_back({name, dtype, 2 * products * kChains, run});
  };
  const bool avx2 = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
  const bool avx512 = __builtin_cpu_supports("avx512f") != 0;
  if (avx2) {
    add("avx2 fma", DType::kFloat64, 4, fma_f64_avx2);
    add("avx2 fma", DType::kFloat32, 8, fma_f32_avx2);
    add("avx2 maddubs", DType::kInt8, 32, dot_i8_avx2);
  }
  if (avx2 && (leaf7().eax1 & (1U << 4U)) != 0) {
    add("avxvnni", DType::kInt8, 32, dot_i8_avxvnni);
  }
  if (avx512) {
    add("avx512 fma", DType::kFloat64, 8, fma_f64_avx512);
    add("avx512 fma", DType::kFloat32, 16, fma_f32_avx512);
  }
  if (avx512 && __builtin_cpu_supports("avx512vnni") != 0) {
    add("avx512 vnni", DType::kInt8, 64, dot_i8_avx512);
  }
  if (avx512 && __builtin_cpu_supports("avx512bf16") != 0) {
    add("avx512 bf16", DType::kBFloat16, 32, dot_bf16_avx512);
  }
  return kernels;
}

std::vector<StreamKernel> stream_kernels() {
  constexpr double kTriadBytes = 12;
  constexpr double kSumBytes = 8;
  std::vector<StreamKernel> kernels;
  if (__builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0) {
    kernels.push_back({"avx2 triad", kTriadBytes, triad_avx2});
    kernels.push_back({"avx2 triad, non-temporal stores", kTriadBytes, triad_past_avx2});
    kernels.push_back({"avx2 sum", kSumBytes, sum_avx2});
  }
  if (__builtin_cpu_supports("avx512f") != 0) {
    kernels.push_back({"avx512 triad", kTriadBytes, triad_avx512});
    kernels.push_back({"avx512 triad, non-temporal stores", kTriadBytes, triad_past_avx512});
    kernels.push_back({"avx512 sum", kSumBytes, sum_avx512});
  }
  return kernels;
}

// AMX: bf16 in bit 22 of EDX, int8 in bit 25.
bool has_unmeasured_matrix_unit(DType dtype) {
  const unsigned edx = leaf7().edx;
  return (dtype == DType::kBFloat16 && (edx & (1U << 22U)) != 0) ||
         (dtype == DType::kInt8 && (edx & (1U << 25U)) != 0);
}

}  // namespace dfsim::inline study

#endif
