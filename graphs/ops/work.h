// OpWork: how much arithmetic and memory traffic one operator is, independent of hardware.
#pragma once

#include "base/dtype.h"
#include "base/units.h"

namespace dfsim::inline graphs {

// MACs and FLOPs are separate: a multiply-add is 1 MAC and 2 FLOPs; an elementwise op has FLOPs
// only. Bytes assume that each operand is read or written once from main memory; views move none.
struct OpWork {
  int64_t macs = 0;
  int64_t flops = 0;
  Bytes bytes_read = 0;  // activations and weights
  Bytes bytes_written = 0;
  Bytes weight_bytes = 0;         // the part of bytes_read that is parameters
  DType dtype = DType::kUnknown;  // what arithmetic is done in
  bool matrix = false;            // eligible for matrix units

  Bytes bytes() const { return bytes_read + bytes_written; }
  bool operator==(const OpWork&) const = default;
};

}  // namespace dfsim::inline graphs
