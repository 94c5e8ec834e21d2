// Products of matrices as libraries of BLAS compute them: a panel of the second matrix is packed
// and stays in the nearest caches, rows of the first one are broadcast from memory, and a tile of
// the result stays in registers (Goto, van de Geijn 2008, doi:10.1145/1356052.1356053). Unlike bare
// chains of multiply-adds they need the ports that load, too, which a neighbour on the other half
// of the core takes away: on such a machine chains kept 91 % of their best rate, products 59 %.
#include "study/measuring/roof_kernels.h"

#if defined(__x86_64__) && defined(__OPTIMIZE__)

#include <immintrin.h>

#include <array>

namespace dfsim::inline study {
namespace {

constexpr size_t kDepth = 256;    // of the product, K
constexpr size_t kPanels = 4;     // of the second matrix
constexpr size_t kTiles = 32;     // of rows
constexpr size_t kMostRows = 12;  // of a tile
constexpr size_t kMostColumns = 32;

// The matrices of one thread.
struct Operands {
  alignas(64) std::array<float, kTiles * kMostRows * kDepth> a{};
  alignas(64) std::array<float, kPanels * kDepth * kMostColumns> b{};
  alignas(64) std::array<float, kTiles * kMostRows * kPanels * kMostColumns> c{};
};

Operands& operands() {
  thread_local Operands own;
  return own;
}

// One pass is the whole product, tile by tile. The loops over registers have constant bounds and
// are unrolled, so that `sums` never leaves the registers.
#define DFSIM_PRODUCT(isa, function, Vector, lanes, rows, zero, load, store, add, set, fma)       \
  __attribute__((target(isa))) void function(int64_t passes) {                                    \
    Operands& own = operands();                                                                   \
    constexpr size_t kColumns = size_t{2} * (lanes);                                              \
    for (; passes > 0; --passes) {                                                                \
      for (size_t panel = 0; panel < kPanels; ++panel) {                                          \
        const float* const b = own.b.data() + panel * kDepth * kColumns;                          \
        for (size_t tile = 0; tile < kTiles; ++tile) {                                            \
          const float* const a = own.a.data() + tile * (rows)*kDepth;                             \
          float* const c = own.c.data() + (tile * kPanels + panel) * (rows)*kColumns;             \
          Vector sums[rows][2];                                                                   \
          _Pragma("GCC unroll 16") for (size_t r = 0; r < (rows); ++r) {                          \
            sums[r][0] = zero();                                                                  \
            sums[r][1] = zero();                                                                  \
          }                                                                                       \
          for (size_t k = 0; k < kDepth; ++k) {                                                   \
            const Vector left = load(b + k * kColumns);                                           \
            const Vector right = load(b + k * kColumns + (lanes));                                \
            _Pragma("GCC unroll 16") for (size_t r = 0; r < (rows); ++r) {                        \
              const Vector value = set(a[r * kDepth + k]);                                        \
              sums[r][0] = fma(value, left, sums[r][0]);                                          \
              sums[r][1] = fma(value, right, sums[r][1]);                                         \
            }                                                                                     \
          }                                                                                       \
          _Pragma("GCC unroll 16") for (size_t r = 0; r < (rows); ++r) {                          \
            store(c + r * kColumns, add(load(c + r * kColumns), sums[r][0]));                     \
            store(c + r * kColumns + (lanes), add(load(c + r * kColumns + (lanes)), sums[r][1])); \
          }                                                                                       \
        }                                                                                         \
      }                                                                                           \
    }                                                                                             \
  }

constexpr size_t kRows256 = 6;
constexpr size_t kRows512 = 12;
DFSIM_PRODUCT("avx2,fma", product_avx2, __m256, 8, kRows256, _mm256_setzero_ps, _mm256_load_ps,
              _mm256_store_ps, _mm256_add_ps, _mm256_set1_ps, _mm256_fmadd_ps)
DFSIM_PRODUCT("avx512f", product_avx512, __m512, 16, kRows512, _mm512_setzero_ps, _mm512_load_ps,
              _mm512_store_ps, _mm512_add_ps, _mm512_set1_ps, _mm512_fmadd_ps)

constexpr double operations(size_t rows, size_t columns) {
  return 2.0 * static_cast<double>(kTiles * rows * kPanels * columns * kDepth);
}

}  // namespace

std::vector<ComputeKernel> product_kernels() {
  std::vector<ComputeKernel> kernels;
  if (__builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0) {
    kernels.push_back({"avx2 product", DType::kFloat32, operations(kRows256, 16), product_avx2});
  }
  if (__builtin_cpu_supports("avx512f") != 0) {
    kernels.push_back(
        {"avx512 product", DType::kFloat32, operations(kRows512, 32), product_avx512});
  }
  return kernels;
}

}  // namespace dfsim::inline study

#else

namespace dfsim::inline study {

std::vector<ComputeKernel> product_kernels() { return {}; }

}  // namespace dfsim::inline study

#endif
