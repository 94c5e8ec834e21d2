// Traces of requests: when each arrives and how long prompt and output are.
//
// Formats, recognised by the first line (plain or gzip):
//   Azure LLM inference traces    CSV, columns TIMESTAMP, ContextTokens, GeneratedTokens
//   BurstGPT                      CSV, columns Timestamp (s), Request tokens, Response tokens
//   other CSV                     one column of each list below
//   Mooncake                      JSON Lines: timestamp (ms), input_length, output_length, hash_ids
//   other JSON Lines              one key of each list below
// prompts: input_length, prompt_len, prompt_tokens, input_tokens, isl; outputs: output_length,
// output_len, completion_tokens, output_tokens, osl; times: timestamp_ms, timestamp (ms in JSON
// Lines, else s), arrival_s, or none (lengths only, as lists made from ShareGPT are).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/status.h"
#include "serving/workload/request.h"

namespace dfsim::inline serving {

// Tokens in one of Mooncake's blocks (Qin et al. 2024, arXiv:2407.00079).
inline constexpr int64_t kMooncakeBlockTokens = 512;

class RequestTraceReader {
 public:
  // Errors: kNotFound, kInvalidInput (no format above fits the first line, with what is missing).
  static StatusOr<std::unique_ptr<RequestTraceReader>> open(const std::string& path);
  virtual ~RequestTraceReader() = default;

  // The next request, its arrival counted from the first one's; nullopt at the end. Requests that
  // got no output (failures in BurstGPT) are left out and counted. Errors (kInvalidInput, with file
  // and line): fields that are missing or no numbers, prompts below 1 token, times that go back.
  virtual StatusOr<std::optional<RequestSpec>> next() = 0;
  virtual bool has_times() const = 0;
  virtual int64_t left_out() const = 0;
};

}  // namespace dfsim::inline serving
