// The knobs of a command unknown to dfsim: threads, copies, placement, batch, and any
// environment variable or {placeholder} that the user names.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "study/measuring/command_run.h"
#include "study/measuring/cpu_topology.h"
#include "study/tuning/setting_search.h"

namespace dfsim::inline study {

struct CommandKnob {
  std::string name;                 // "threads", "OMP_WAIT_POLICY", "batch"
  std::vector<std::string> values;  // the first is the default's
  bool numbers = false;             // all values are numbers above 0
};

// One value per knob, as text.
using CommandSetting = std::vector<std::string>;

struct CommandSpace {
  std::vector<std::string> command;
  std::vector<Cpu> cpus;
  std::vector<CommandKnob> knobs;
  std::vector<SearchAxis> axes;        // of the knobs
  std::vector<SettingIndex> settings;  // the default first
  std::vector<double> priors;          // logarithm of the expected time per sample

  CommandSetting values(const SettingIndex& setting) const;
  // The value of a knob as a number; `otherwise` when there is no such knob.
  int64_t number(const SettingIndex& setting, const std::string& knob, int64_t otherwise) const;
  // The copies to run for a setting.
  StatusOr<std::vector<CommandCopy>> copies(const SettingIndex& setting) const;
};

// "threads 2, processes 1, batch 8"; knobs with one value are left out.
std::string command_setting_text(const CommandSpace& space, const SettingIndex& setting);

// `vary` holds "NAME=A,B,...". Without an entry of that name, threads and processes are 1, 2, 4...
// and all cores, and placement has the names that differ on this machine; a {placeholder} needs an
// entry. A knob `batch`, `inter`, or of another name replaces {NAME} in the command; without such a
// placeholder NAME is an environment variable, which an empty value removes. Settings with more
// threads than processors run only as one process. The first value of each entry is the default's;
// so are all cores, one process, free placement. Errors: kInvalidInput.
StatusOr<CommandSpace> command_space(const std::vector<std::string>& command,
                                     const std::vector<std::string>& vary, std::vector<Cpu> cpus);

}  // namespace dfsim::inline study
