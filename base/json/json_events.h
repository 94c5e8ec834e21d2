// A JSON file as a sequence of scalars with their paths and lines: no document is kept.
#pragma once

#include "base/json/json_event.h"
#include "base/status.h"

namespace dfsim::inline base {

class JsonStream;

// Reads a strict stream to its end and tells `listener` of every value but the root. Errors
// (kInvalidInput, "FILE:LINE: what"): malformed JSON, nesting over kMaxJsonDepth levels, a repeated
// key of the root, whatever the listener objects to. O(size); memory: one item of the stream.
Status read_json_events(JsonStream& stream, JsonListener& listener);

}  // namespace dfsim::inline base
