// dfsim hardware: lists the known hardware files, or shows one.
#include <memory>
#include <string>

#include "base/io/file.h"
#include "base/text_table.h"
#include "cli/commands/commands.h"
#include "report/machines/machine_views.h"
#include "study/machines/machines.h"

namespace dfsim::cli {
namespace {

struct HardwareOptions {
  std::string name;
  std::string output = "-";
  bool json = false;
};

Status run_hardware(const HardwareOptions& options) {
  std::string text;
  if (options.name.empty()) {
    DFSIM_ASSIGN_OR_RETURN(const MachineList list, list_machines());
    text = options.json ? machine_list_json(list).text() : fit_lines(machine_list_text(list));
  } else {
    DFSIM_ASSIGN_OR_RETURN(const Machine machine, find_machine(options.name));
    text = options.json ? machine_json(machine).text() : fit_lines(machine_text(machine));
  }
  return write_file(options.output, text);
}

OptionTable hardware_options(HardwareOptions& o) {
  return {
      {.names = "name",
       .target = &o.name,
       .help = "A hardware file, or the name or alias of a built-in one; without it, a list"},
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
                       {"dfsim hardware a100", "peaks, memory and sources of one of them"}},
          .run = [options](const GlobalOptions&) { return run_hardware(*options); }};
}

}  // namespace dfsim::cli
