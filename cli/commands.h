// One registration function per subcommand file.
#pragma once

#include "cli/command.h"

namespace dfsim::cli {

void register_analyze(Registrar& registrar);
void register_calibrate(Registrar& registrar);
void register_compare(Registrar& registrar);
void register_diff(Registrar& registrar);
void register_evaluate(Registrar& registrar);
void register_generate(Registrar& registrar);
void register_hardware(Registrar& registrar);
void register_inspect(Registrar& registrar);
void register_ops(Registrar& registrar);
void register_partition(Registrar& registrar);
void register_predict(Registrar& registrar);
void register_profiles(Registrar& registrar);
void register_replay(Registrar& registrar);
void register_report(Registrar& registrar);
void register_roofline(Registrar& registrar);
void register_train(Registrar& registrar);
void register_tune(Registrar& registrar);
void register_validate(Registrar& registrar);
void register_version(Registrar& registrar);

}  // namespace dfsim::cli
