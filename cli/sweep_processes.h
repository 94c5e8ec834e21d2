// Sweeps that many processes share: which part a process has, and a script that starts them all.
#pragma once

#include <string>

#include "base/status.h"
#include "cli/option_table.h"
#include "study/sweep/sweep_options.h"

namespace dfsim::cli {

// The part of a process that mpirun or srun started, from the variables that these set: rank and
// number of processes, of Open MPI, of MPICH and others (PMI), of Slurm. Error: none is set.
StatusOr<SweepPart> sweep_part_of_process();

// The options of `given` whose targets differ from those of `defaults`, as a shell reads them:
// "--models 'm*.onnx' --threads 2". Both tables come from one function. Leaves out the options
// whose names `but` lists, with commas.
std::string given_options(const OptionTable& given, const OptionTable& defaults, const char* but);

// A job array of Slurm with a task for each of `parts`, each of which runs `dfsim sweep OPTIONS`.
std::string slurm_script(const std::string& options, size_t parts);

}  // namespace dfsim::cli
