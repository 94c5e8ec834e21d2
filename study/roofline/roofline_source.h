// The source of a roofline: a model, a trace or a file of measured runs, told from the content.
#pragma once

#include <string>

#include "base/status.h"
#include "study/progress.h"
#include "study/roofline/roofline_inputs.h"
#include "study/roofline/sweep_axis.h"

namespace dfsim::inline study {

// Errors: kNotFound. A file that is neither a trace nor a runs file is read as a model.
StatusOr<RooflineKind> roofline_kind(const std::string& path);

// The roofline at a point of a sweep; runs files have only "batch" and threads.
StatusOr<RooflineReport> load_roofline(const RooflineSource& source, RooflineKind kind,
                                       const RooflineSetting& at, const Progress& progress = {});

}  // namespace dfsim::inline study
