// The critical path of CPoP and the device that it goes to, for both of its variants.
#pragma once

#include <vector>

#include "schedulers/planning/task_view.h"

namespace dfsim::inline schedulers::policies {

// One path of tasks whose priority (upward + downward rank) equals the largest of an entry.
std::vector<TaskId> critical_path(const TaskView& view, const std::vector<double>& priority);

// The device that runs the path in the least time. Tasks that it cannot run (the paper has none)
// will run elsewhere and count their mean; a device that can run none of the path is not a
// candidate.
size_t path_device(const TaskView& view, const std::vector<TaskId>& path);

}  // namespace dfsim::inline schedulers::policies
