// Options of predict() (study/prediction/predict.h).
#pragma once

#include <cstdint>
#include <string>

#include "schedulers/registry.h"
#include "sim/requests.h"
#include "study/chain/model_source.h"
#include "study/chain/run_recorder.h"
#include "study/chain/training_choice.h"

namespace dfsim::inline study {

struct PredictOptions {
  ModelOptions model;
  std::string hardware;                      // file or name
  std::string runtime;                       // file or name; "" = what the hardware file names
  std::string policy = "first-device";       // that places operators on devices
  const PolicyRegistry* policies = nullptr;  // to choose from; nullptr = the built-in ones
  std::string cost_model;                    // folder or name; "" = what each device names
  TrainingChoice training;
  size_t requests = 0;  // over 0: also that many requests, as `pipeline` says
  RequestOptions pipeline;
  std::string arrivals = "poisson";  // or uniform; used when pipeline.requests_per_s is not 0
  size_t repeat = 0;                 // over 0: also that many runs with new random times
  uint64_t seed = 0;                 // of arrivals, noise and policies
  bool advice = false;               // also what other settings would bring, each predicted
  bool fit_advice = true;            // of a model that does not fit: what would make it fit
  bool verdict_change = true;        // the verdict also names a change, where one is worth it
  MakeRecorder record;               // of the single run; empty = none
};

}  // namespace dfsim::inline study
