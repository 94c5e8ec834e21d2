// Weights of few bits are unpacked in pieces next to the product, by a kernel for one row, or
// written out in fp32 before a plain product.
#include "opmodel/model/laws/cpu/packed_weights.h"

#include <algorithm>

#include "datasets/profiles/profile.h"

namespace dfsim::inline opmodel {
namespace {

// Unpacking takes time per weight, whatever the number of rows; level 4 multiplies in 8 bits. One
// row at level 0 has a kernel of its own. Products with weights of 4 bits at level 4 follow the
// rate of fp32 on AVX2 and on a Cascade Lake, whose VNNI gains them nothing; on an EPYC Genoa they
// take as long as those with 8 bits.
constexpr double kByteProductNs = 0.0353;

struct PackedCosts {
  double unpack_ns;
  double product_ns;
  double one_row_ns;  // instead of both
  bool int8;
};

// ONNX Runtime has no kernel for the type: it writes the weights out in fp32, then runs a plain
// product.
constexpr PackedCosts kWrittenOut = {2.5, kFp32ProductNs, 2.5, false};

// No campaign measured 2 bits. ONNX Runtime 1.32 has kernels for them at level 4 only: its results
// have the error of activations in 8 bits there, and that of fp32 at other levels.
PackedCosts packed_costs(std::string_view attributes) {
  const std::string_view bits = attribute_value(attributes, "bits");
  const bool in_8_bits = attribute_value(attributes, "accuracy_level") == "4";
  if (in_8_bits) {
    return bits == "8" ? PackedCosts{0.026, kByteProductNs, 0.071, true}
                       : PackedCosts{0.017, 0.0232, 0.041, false};
  }
  return bits == "2" || bits == "8" ? kWrittenOut : PackedCosts{0.275, kFp32ProductNs, 0.15, false};
}

}  // namespace

double packed_weights_ns(std::string_view attributes, double weights, double rows,
                         const CoreRates& rates) {
  const PackedCosts costs = packed_costs(attributes);
  if (rows <= 1) {
    return weights * costs.one_row_ns / rates.fp32;
  }
  double product_ns = costs.product_ns / (costs.int8 ? rates.int8 : rates.fp32);
  if (rates.amd_vnni && attribute_value(attributes, "accuracy_level") == "4") {
    product_ns = std::min(product_ns, kByteProductNs / rates.int8);
  }
  return weights * (costs.unpack_ns / rates.fp32 + rows * product_ns);
}

}  // namespace dfsim::inline opmodel
