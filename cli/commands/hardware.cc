// dfsim hardware: lists the known hardware files, or shows one.
#include <memory>
#include <string>

#include "base/text_table.h"
#include "cli/commands/commands.h"
#include "cli/terminal_text.h"
#include "report/machines/machine_views.h"
#include "study/machines/machines.h"

namespace dfsim::cli {
namespace {

struct HardwareOptions {
  std::string name;
  std::string output = "-";
  bool json = false;
  std::string vendor;
  double min_memory_gb = 0;
};

Status run_hardware(const HardwareOptions& options) {
  std::string text;
  if (options.name.empty()) {
    DFSIM_ASSIGN_OR_RETURN(const MachineList list,
                           list_machines({options.vendor, options.min_memory_gb * 1e9}));
    text = options.json ? machine_list_json(list).text() : fit_lines(machine_list_text(list));
  } else {
    DFSIM_ASSIGN_OR_RETURN(const Machine machine, find_machine(options.name));
    text = options.json ? machine_json(machine).text() : fit_lines(machine_text(machine));
  }
  return write_result(options.output, text);
}

OptionTable hardware_options(HardwareOptions& o) {
  return {
      {.names = "name",
       .target = &o.name,
       .help = "A hardware file, or the name or alias of a built-in one; without it, a list"},
      {.names = "--vendor",
       .target = &o.vendor,
       .help = "List only machines of this vendor: nvidia, amd, intel, google, …; nodes for those "
               "of several devices",
       .value = "NAME",
       .excludes = "name"},
      {.names = "--min-memory",
       .target = &o.min_memory_gb,
       .help = "List only machines with a device of that much memory",
       .value = "GB",
       .positive = true,
       .excludes = "name"},
      {.names = "--json", .target = &o.json, .help = "JSON instead of text"},
      {.names = "-o,--output",
       .target = &o.output,
       .help = "Write to this file; - is stdout",
       .show_default = true},
  };
}

}  // namespace

CommandSpec hardware_command() {
  const auto options = std::make_shared<HardwareOptions>();
  return {.name = "hardware",
          .summary = "List the known hardware, or show one: peaks, memory, links, sources",
          .options = hardware_options(*options),
          .examples = {{"dfsim hardware", "the list of built-in hardware"},
                       {"dfsim hardware --vendor nvidia --min-memory 80",
                        "those of one vendor that hold 80 GB"},
                       {"dfsim hardware a100", "peaks, memory and sources of one of them"}},
          .run = [options](const GlobalOptions&) { return run_hardware(*options); }};
}

}  // namespace dfsim::cli
