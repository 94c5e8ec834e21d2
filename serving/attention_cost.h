// Times of attention over batches whose sequences differ in length.
//
// The measured tables have batches of equal sequences without a cached prefix. A batch of unequal
// ones takes the time of as many equal ones with the same work; a prefix adds keys to each query.
#pragma once

#include <span>

#include "serving/step_batch.h"
#include "serving/step_kernels.h"

namespace dfsim::inline serving {

// The prompts of a step in the numbers that attention's time depends on.
struct PrefillShape {
  explicit PrefillShape(std::span<const SequenceSlice> slices);

  std::span<const SequenceSlice> slices;
  double mean_new = 0;
  double mean_context = 0;
};

// The decodes of a step; `padded` sequences when it runs as a CUDA graph, 0 = as many as there are.
struct DecodeShape {
  DecodeShape(std::span<const SequenceSlice> slices, int64_t padded);

  std::span<const SequenceSlice> slices;
  double sequences = 0;
  double mean_keys = 0;  // cached tokens with the new one
};

// Microseconds of one layer.
double prefill_attention_us(const StepAttention& attention, const PrefillShape& shape);
double decode_attention_us(const StepAttention& attention, const DecodeShape& shape,
                           const KernelGpu& gpu);

}  // namespace dfsim::inline serving
