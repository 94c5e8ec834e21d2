// Finds cost models by name: a directory, or one that ships below opmodel/pretrained/.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "opmodel/cost_model.h"

namespace dfsim::inline opmodel {

class TrainedModel;

// Names of the models that ship, sorted.
std::vector<std::string> pretrained_models();

// The directory itself when `name_or_path` is one, else the pretrained model of that name. Errors:
// kNotFound with the valid names and the nearest one; those of TrainedModel::load.
StatusOr<std::unique_ptr<TrainedModel>> load_trained_model(const std::string& name_or_path);

// "sol" is the speed-of-light bound, anything else a trained model.
StatusOr<std::unique_ptr<CostModel>> load_cost_model(const std::string& name_or_path);

// The models that load_cost_model_for() loads, for each device in turn: "name=directory", or
// "name=sol@file", whose roofs and caches the bound knows. Platforms with equal lists may share one
// model.
std::vector<std::string> cost_models_of(const Platform& platform, const std::string& name_or_path);

// One model for a platform: each device is answered by the model it names (DeviceSpec::cost_model),
// which asks the prior about classes and dtypes that it has no data of; GPUs that name none by the
// prior alone, other devices by the bound. All by `name_or_path`, without any prior, when it is not
// empty. Error (kNotFound): a device names a model that is neither next to the hardware file nor
// ships.
StatusOr<std::unique_ptr<CostModel>> load_cost_model_for(const Platform& platform,
                                                         const std::string& name_or_path);

// The same without the times of measured shapes: trees answer for all. A measured shape is one of
// the layout that the runtime chose, and two layouts compare only by the trees.
StatusOr<std::unique_ptr<CostModel>> load_trees_for(const Platform& platform,
                                                    const std::string& name_or_path);

}  // namespace dfsim::inline opmodel
