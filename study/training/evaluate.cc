#include "study/training/evaluate.h"

#include <memory>

#include "opmodel/model/model_loader.h"

namespace dfsim::inline study {

StatusOr<EvaluateResult> evaluate(const EvaluateRequest& request, const Progress& progress) {
  DFSIM_ASSIGN_OR_RETURN(const std::unique_ptr<TrainedModel> model,
                         load_trained_model(request.model));
  DFSIM_RETURN_IF_ERROR(progress.stage("reading profiles"));
  DFSIM_ASSIGN_OR_RETURN(const LoadedProfiles loaded, load_profiles(request.inputs));
  progress.decide("profiles", {{"rows", std::to_string(loaded.profile.size())},
                               {"dropped", loaded.drops.summary()},
                               {"other_devices", std::to_string(loaded.other_devices)}});
  progress.decide("cost model", {{"name", std::string(model->name())},
                                 {"measured_shapes", request.use_lookup ? "used" : "not used"}});
  EvaluateOptions options;
  options.device = request.inputs.device;
  options.use_lookup = request.use_lookup;
  options.keep_rows = request.keep_rows;
  DFSIM_RETURN_IF_ERROR(progress.stage("predicting measured operators"));
  EvaluateResult result;
  DFSIM_ASSIGN_OR_RETURN(result.evaluation, evaluate_model(*model, loaded.profile, options));
  result.model = std::string(model->name());
  return result;
}

}  // namespace dfsim::inline study
