// Where a step's time goes.
#pragma once

#include <cstdint>

namespace dfsim::inline serving {

enum class StepPart : uint8_t {
  kGemm,
  kAttentionPrefill,
  kAttentionDecode,
  kMoe,
  kComm,
  kQuantize,
  kMemory,  // norms, RoPE, activations, residuals, embedding: bound by memory traffic
  kHost,    // launches, scheduler, sampling: what the GPU waits for
};
inline constexpr int kStepPartCount = static_cast<int>(StepPart::kHost) + 1;

// "gemm", "attention_prefill", ...: as reports and JSON name them.
const char* step_part_name(StepPart part);

}  // namespace dfsim::inline serving
