// slim_message: the bytes of a protobuf message without its large payloads.
//
// Walks protobuf's wire format by a table of the messages on the way to the payloads and copies
// everything else whole, so that the real parser never sees them: a model of gigabytes costs what
// its graph costs, files over protobuf's 2 GB limit work, and memory-mapped weights are never
// touched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"

namespace dfsim::inline base {

// Field `field` of message `parent` is a message of kind `child`. Kinds are the caller's numbers.
struct MessageField {
  int parent;
  uint64_t field;
  int child;
};

struct SlimFormat {
  std::string_view file;                   // for errors: "ONNX model"
  std::string_view owner;                  // who made the format: "ONNX"
  std::string_view nested;                 // what nests: "subgraphs"
  std::span<const MessageField> children;  // all other fields are copied whole
  // Of each message, values of payload fields beyond so many bytes are left out.
  bool (*is_payload)(int message, uint64_t field);
  size_t max_payload_bytes;
  // Left out always; nullptr: none.
  bool (*is_unread)(int message, uint64_t field) = nullptr;
  // Names, each at most `max_name_bytes` long: who reads the message copies them freely. nullptr:
  // none.
  bool (*is_name)(int message, uint64_t field) = nullptr;
  size_t max_name_bytes = size_t{1} << 22;
  int max_nesting = 64;
  int messages_per_level = 1;
};

// Error (kInvalidInput): not well-formed, with the byte offset; nested over the limit; a
// name over its limit; more than 1 GiB without payloads. O(|file|) in fields looked at, not in
// bytes of payloads.
StatusOr<std::string> slim_message(std::string_view file, const SlimFormat& format,
                                   int root_message);

}  // namespace dfsim::inline base
