// Evaluation: a model's predictions against measured rows (`dfsim evaluate`).
//
// Every row of the profile counts. Predictions are asked for the kind of timing each row has.
// Beside the model stands the baseline bound x constant: the speed of light with the floor of the
// part, times the part's median ratio.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "datasets/profiles/profile.h"
#include "opmodel/model/model_manifest.h"
#include "opmodel/model/trained_model.h"

namespace dfsim::inline opmodel {

enum class Seen : uint8_t {
  kShape,         // this shape was measured on this device: answered by lookup
  kUnseenShape,   // known device, new shape
  kUnseenDevice,  // the model was not trained on this device
};
inline constexpr int kSeenCount = 3;
std::string_view seen_name(Seen seen);  // "seen-shape", "unseen-shape", "unseen-device"

struct EvaluationCell {
  int64_t n = 0;
  double coverage = 0;  // share answered by lookup, trees or a class median, not the bare bound
  ErrorStats model;
  ErrorStats baseline;
};

struct EvaluationGroup {
  std::string device;
  std::string op;
  EvaluationCell all;
  std::array<EvaluationCell, kSeenCount> by_seen;
};

// Sum of one network's rows, each times its count.
struct NetworkTotal {
  std::string device;
  std::string network;
  int32_t batch = 0;
  int64_t ops = 0;
  double measured_us = 0;
  double predicted_us = 0;
  double error() const { return predicted_us / measured_us - 1; }
};

// One row of the profile and what the model says.
struct EvaluatedRow {
  std::string device;
  std::string op_type;
  std::string kind;  // of its geometry: dense, depthwise, bmm...
  double output_elements = 0;
  double measured_us = 0;
  double predicted_us = 0;
  Seen seen = Seen::kUnseenShape;
};

struct Evaluation {
  std::vector<EvaluationGroup> groups;  // by device, then op
  EvaluationGroup overall;
  std::vector<NetworkTotal> networks;  // rows with a network name
  double mean_network_error = 0;       // of absolute errors
  DropReport drops;                    // rows left out, faster than half of their bound
  std::vector<EvaluatedRow> rows;      // by device, when they were asked for
};

struct EvaluateOptions {
  std::string device;      // hardware file for all rows; "" = each row's own device
  bool use_lookup = true;  // false: judge the trees alone
  bool keep_rows = false;  // fill Evaluation::rows
};

// Errors: kInvalidInput (no usable row, a damaged part), kNotFound (unknown options.device).
StatusOr<Evaluation> evaluate_model(const TrainedModel& model, const Profile& profile,
                                    const EvaluateOptions& options);

}  // namespace dfsim::inline opmodel
