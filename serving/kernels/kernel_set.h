// KernelSet: the surfaces of one system, framework and version, as they ship in one file.
//
// The file: "dfsim-kernels/1\n", then a zlib stream of CBOR (RFC 8949). Sheets are kept as
// differences of ln(time / bound) in steps of 0.004, so that a value is within 0.2 % of what was
// learnt. About 1 byte a value; loads in some 20 ms.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "serving/kernels/kernel_surface.h"

namespace dfsim::inline serving {

struct KernelSet {
  std::string system;     // "h100_sxm"
  std::string framework;  // "vllm"
  std::string version;    // "0.24.0"
  KernelGpu gpu;
  std::vector<KernelSurface> surfaces;  // at most one per kind

  const KernelSurface* find(KernelKind kind) const;
};

// Equal sets give equal bytes.
std::string encode_kernel_set(const KernelSet& set);
// Errors: kInvalidInput with `place` for bytes of another format and for damaged ones.
StatusOr<KernelSet> decode_kernel_set(const std::string& bytes, const std::string& place);

}  // namespace dfsim::inline serving
