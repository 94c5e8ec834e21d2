// Which part of a sweep this process has, from the environment that MPI and Slurm set, and the
// script that starts all parts. The script repeats exactly the options that differ from their
// defaults, quoted for the shell.
#include "cli/sweep_processes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "study/sweep/sweep_parts.h"

namespace dfsim::cli {
namespace {

bool read_environment(const char* name, size_t* count) {
  const char* const text = std::getenv(name);
  if (text == nullptr) {
    return false;
  }
  const std::string_view digits = text;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), *count);
  return error == std::errc() && end == digits.data() + digits.size();
}

// In single quotes unless a shell takes it as it is.
std::string shell_word(const std::string& text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) {
    return text;
  }
  std::string word = "'";
  for (const char c : text) {
    word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return word + "'";
}

struct OptionWords {
  std::string name;  // "" for an argument
  std::vector<std::string> words;

  void add(const std::string& value) {
    words.push_back(name.empty() ? shell_word(value) : name + " " + shell_word(value));
  }
  // Adds the value of `given` if `usual` has another one.
  void add_difference(const bool* given, const bool* usual) {
    if (*given != *usual) {
      words.push_back(name);
    }
  }
  void add_difference(const std::string* given, const std::string* usual) {
    if (*given != *usual) {
      add(*given);
    }
  }
  template <typename Number>
  void add_difference(const Number* given, const Number* usual) {
    if (*given != *usual) {
      add(fmt::format("{}", *given));
    }
  }
  template <typename Value>
  void add_difference(const std::vector<Value>* given, const std::vector<Value>* usual) {
    if (*given != *usual) {
      for (const Value& value : *given) {
        add(fmt::format("{}", value));
      }
    }
  }
  void add_difference(const ParsedTarget* /*given*/, const ParsedTarget* /*usual*/) {}
};

}  // namespace

StatusOr<SweepPart> sweep_part_of_process() {
  constexpr std::array<std::pair<const char*, const char*>, 3> kVariables = {
      {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
       {"PMI_RANK", "PMI_SIZE"},
       {"SLURM_PROCID", "SLURM_NTASKS"}}};
  for (const auto& [rank, size] : kVariables) {
    SweepPart part;
    if (read_environment(rank, &part.index) && read_environment(size, &part.count) &&
        part.index < part.count && part.count <= kMostSweepParts) {
      return part;
    }
  }
  return invalid_input(
      "--mpi: found no rank in the environment, expected mpirun or srun to start the program; "
      "start it so, or give --part I/N");
}

std::string given_options(const OptionTable& given, const OptionTable& defaults, const char* but) {
  const std::vector<std::string> left_out = listed(but);
  std::string line;
  for (size_t i = 0; i < given.size(); ++i) {
    const std::vector<std::string> names = listed(given[i].names);
    if (std::find(left_out.begin(), left_out.end(), names.back()) != left_out.end()) {
      continue;
    }
    OptionWords words = {is_argument(given[i]) ? "" : names.back(), {}};
    std::visit(
        [&]<typename Target>(const Target& target) {
          if constexpr (std::is_pointer_v<Target>) {
            words.add_difference(target, std::get<Target>(defaults[i].target));
          }
        },
        given[i].target);
    for (const std::string& word : words.words) {
      line += (line.empty() ? "" : " ") + word;
    }
  }
  return line;
}

std::string slurm_script(const std::string& options, size_t parts) {
  return fmt::format(
      "#!/bin/sh\n"
      "#SBATCH --job-name=dfsim-sweep\n"
      "#SBATCH --array=1-{0}\n"
      "#SBATCH --ntasks=1\n"
      "#SBATCH --requeue\n"
      "# Each task predicts one of {0} parts; the one that ends last writes the table.\n"
      "# A task that runs again keeps the points that it has. Submit with sbatch, in the\n"
      "# directory of the sweep, which all nodes share; add #SBATCH lines for your\n"
      "# partition and account.\n"
      "set -eu\n"
      "cd \"${{SLURM_SUBMIT_DIR:-.}}\"\n"
      "status=0\n"
      "dfsim sweep {1} \\\n"
      "  --part \"$SLURM_ARRAY_TASK_ID/{0}\" --threads \"${{SLURM_CPUS_PER_TASK:-1}}\" || "
      "status=$?\n"
      "# Slurm itself restarts the tasks of a lost node. A task that was killed, such as for\n"
      "# memory, runs again too, up to three times.\n"
      "if [ \"$status\" -eq 137 ] && [ \"${{SLURM_RESTART_COUNT:-0}}\" -lt 3 ]; then\n"
      "  scontrol requeue \"${{SLURM_ARRAY_JOB_ID}}_$SLURM_ARRAY_TASK_ID\"\n"
      "fi\n"
      "exit \"$status\"\n",
      parts, options);
}

}  // namespace dfsim::cli
