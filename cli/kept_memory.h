// How the program treats memory that it has freed.
#pragma once

namespace dfsim::cli {

// Keeps freed memory for the next allocation instead of returning it to the system. Simulating a
// long trace again and again allocates the same large arrays each time, and the zeroing of their
// new pages takes as long as the simulation. For commands that end after one task; does nothing
// where the C library has no such setting.
void keep_freed_memory();

}  // namespace dfsim::cli
