// The roofline of a model on a machine that is loaded, at one point of a sweep.
#pragma once

#include <string>

#include "base/status.h"
#include "study/chain/model_source.h"
#include "study/roofline/roofline_inputs.h"
#include "study/roofline/sweep_axis.h"

namespace dfsim::inline study {

struct ModelRoofline {
  LoadedModel model;
  RooflineReport report;
};

// The model as the point says. `roofs` are those of `device` of the platform, which a layout's
// passes replace a part of. Errors: those of load_model(); a precision or a layout that changes
// nothing.
StatusOr<ModelRoofline> model_roofline(const RooflineSource& source, const RooflineSetting& at,
                                       const Platform& platform, DeviceId device,
                                       const DeviceRoofs& roofs);

// At threads that no hardware file was measured with, as several copies, with operators at once, or
// on NUMA nodes: times of one core by the law of thread_scaling.h. Error: kNotFound where `source`
// is not a model on a CPU, or no law is known; kInvalidInput: more cores than the machine has, one
// NUMA node.
StatusOr<RooflineReport> core_roofline(const RooflineSource& source, RooflineKind kind,
                                       const RooflineSetting& at);

// The device of that name, the first for "". Error: another name.
StatusOr<DeviceId> find_roofline_device(const Platform& platform, const std::string& name);

}  // namespace dfsim::inline study
