// slim_graph: the bytes of a GraphDef or SavedModel without its weights.
//
// Walks protobuf's wire format and copies everything but the payload of large constants, and of a
// SavedModel's records that dfsim does not read, so that the real parser never sees them: a frozen
// graph of gigabytes costs what its graph costs, and memory-mapped weights are never touched.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace dfsim::inline graphs {

enum class TensorFlowFile { kGraphDef, kSavedModel };

// Constants above this many bytes are left out.
// Room for kMaxConstElements of 8 bytes.
inline constexpr size_t kMaxKeptConstBytes = (size_t{32} << 10) + 64;

// Dimensions and types of every constant are kept. Error (kInvalidInput): not well-formed, with the
// byte offset; lists of attributes nested over 64 deep; more than 1 GiB without weights. O(|file|)
// in fields looked at, not in bytes of weights.
StatusOr<std::string> slim_graph(std::string_view file, TensorFlowFile kind);

}  // namespace dfsim::inline graphs
