// Machines as text and JSON, for `dfsim hardware`.
#pragma once

#include <string>

#include "base/json/json_tree.h"
#include "study/machines/machines.h"

namespace dfsim::inline report {

// One machine: its devices with peaks, data-sheet and sustained, its links, collectives, host and
// runtime, each with what it was taken from. The text is up to 100 columns wide.
std::string machine_text(const Machine& machine);
JsonTree machine_json(const Machine& machine);  // schema dfsim.hardware/1

// One line per machine, with the figures of its first device.
std::string machine_list_text(const MachineList& list);
JsonTree machine_list_json(const MachineList& list);  // schema dfsim.hardware-list/1

}  // namespace dfsim::inline report
