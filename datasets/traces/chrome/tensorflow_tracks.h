// What timelines and step statistics of TensorFlow 1 have in common: queues of devices are
// processes of their own, and some say again what others say.
#pragma once

#include <string_view>

#include "datasets/traces/trace.h"

namespace dfsim::inline datasets {

// "/gpu:0/stream:7 Compute", "/device:GPU:0/stream:all", "/gpu:0/memcpy".
bool is_tensorflow_queue(std::string_view process);

// Makes such tracks queues, leaves out summaries ("/stream:all", "/memcpy") where there are single
// queues, and joins operators and work of the same node (Span::detail). Operators on queues become
// kernels and copies. Call before finish_trace().
void finish_tensorflow_tracks(Trace* trace);

}  // namespace dfsim::inline datasets
