// The factories of all importers; importers.inc has a line for each.
#pragma once

#include <memory>

#include "datasets/importers/importer.h"

namespace dfsim::inline datasets {

#define DFSIM_IMPORTER(name) std::unique_ptr<Importer> make_##name##_importer();
#include "datasets/importers/importers.inc"
#undef DFSIM_IMPORTER

}  // namespace dfsim::inline datasets
