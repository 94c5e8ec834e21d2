// Reading and writing whole files with clear errors.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace dfsim::inline base {

// Reads a regular file of at most `max_bytes`. Errors: kNotFound (no such file), kInvalidInput (a
// directory, unreadable, or larger than `max_bytes`; the message says both sizes).
StatusOr<std::string> read_file(const std::string& path, int64_t max_bytes);

// Writes the whole content as OutputFile does: all of it or nothing, in place when `path` is a
// device or a pipe, to stdout when it is "-". Error: kFailed, with the system's reason.
Status write_file(const std::string& path, std::string_view content);

}  // namespace dfsim::inline base
