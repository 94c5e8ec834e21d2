// Features: what a trained model sees of an op on a device, per family (see op_geometry.h).
//
// All are physics of the roofline and of tiled kernels: logarithms of sizes, FLOPs, bytes and both
// roofline arms, how work divides into tiles and tiles into waves over the compute units, padding,
// alignment, what fits into the cache, dtype, and facts of the hardware so that one model can serve
// several devices. The table of names and formulas is docs/reference/cost-models.md.
// The target is ln(time / base): `base_us` (roofline.h) is the bound with the floor of this kind
// of measurement.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "hardware/platform.h"
#include "opmodel/features/op_geometry.h"
#include "opmodel/features/roofline.h"

namespace dfsim::inline opmodel {

// The last features of a family describe kernels of CPUs or of GPUs: how those of CPUs divide work
// says nothing where other devices are among the measured ones.
enum class FeatureSet : uint8_t { kOfCpus, kOfGpus };

// Names of the family's features, in order: those that both sets have, then the set's own. Stored
// in manifests. New ones are only ever added at the end: a model that knows the first of them works
// on, one with other names is of another version.
const std::vector<std::string>& feature_names(Family family, FeatureSet set);

// The set that a model with these features was trained with. Where it has only common ones, either
// fills them.
FeatureSet feature_set_of(Family family, std::span<const std::string> names);

// Fills `out` with the first |out| <= feature_names(geometry.family, set).size() of them, finite
// numbers. `op` is what `geometry` was made of.
void fill_features(const OpDescriptor& op, const OpGeometry& geometry, const DeviceSpec& device,
                   const Roofline& roofline, FeatureSet set, std::span<float> out);

}  // namespace dfsim::inline opmodel
