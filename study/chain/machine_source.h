// Machines by name: a hardware file and the runtime that executes on it.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "hardware/platform.h"
#include "study/chain/training_choice.h"

namespace dfsim::inline study {

// Whether the platform has a device of the type, and of a vendor, that the runtime is for.
// O(devices).
bool runtime_fits(const RuntimeSpec& runtime, const Platform& platform);

// Error (kUnsupported): a training step on a runtime that executes forward passes only.
Status check_trains(const TrainingChoice& choice, const Platform& platform);

// Hardware by file or name, with another runtime unless `runtime` is empty. Errors: those of
// load_platform() and load_runtime(); kUnsupported for a runtime that does not fit.
StatusOr<Platform> load_machine(const std::string& hardware, const std::string& runtime);
// The same, with the modes of arithmetic that a precision of the commands asks for.
StatusOr<Platform> load_machine(const std::string& hardware, const std::string& runtime,
                                const std::string& precision);

// The runtime that runs a model when the user names none ("" in `runtime`): "tensorflow" for a file
// of TensorFlow's, otherwise "", the hardware's. Reads the first bytes of the file.
std::string runtime_for(const std::string& model_path, const std::string& runtime);

// The hardware as it was measured at that many threads: `hardware` itself, or the file NAME-Nt
// next to it (dfsim calibrate writes both). Peaks of one thread are never multiplied. `found` gets
// the name or path of the file. Error: kNotFound.
StatusOr<Platform> machine_with_threads(const std::string& hardware, const std::string& runtime,
                                        int64_t threads, std::string* found = nullptr);

}  // namespace dfsim::inline study
