// A question is a struct of options, the table of its fields, and a call of the use case. Fields
// that name files of the server, or that write files, are left out.
#include "server/api/questions.h"

#include <fmt/format.h>

#include "report/predictions/comparison_views.h"
#include "report/predictions/inspection_views.h"
#include "report/predictions/partitioning_views.h"
#include "report/predictions/prediction_views.h"
#include "report/rooflines/roofline_views.h"
#include "schedulers/registry.h"
#include "study/comparison/compare.h"
#include "study/inspection/inspect.h"
#include "study/partitioning/partition.h"
#include "study/prediction/predict.h"
#include "study/roofline/study_roofline.h"

namespace dfsim::server {
namespace {

// The most that one request may ask for.
constexpr double kMostSimulated = 100'000;  // requests, runs
constexpr double kMostIterations = 1e7;
constexpr double kMostOfDevices = 65'536;

QuestionFields joined_fields(std::initializer_list<QuestionFields> tables) {
  QuestionFields all;
  for (const QuestionFields& table : tables) {
    all.insert(all.end(), table.begin(), table.end());
  }
  return all;
}

QuestionField required(QuestionField field) {
  field.required = true;
  return field;
}

QuestionFields dimension_fields(ModelOptions& o) {
  return {
      {"batch", &o.batch, "Size of the batch dimension", 1},
      {"dim", &o.dims, "NAME=N: the value of a named dynamic dimension"},
      {"input_shape", &o.input_shapes, "NAME=N,N,...: the whole shape of an input"},
      {"trip_count", &o.trip_counts, "NAME=N: how often the Loop of that name runs"},
      {"branch",
       &o.branch,
       "Branch of Ifs whose condition is not known",
       0,
       0,
       FieldKind::kText,
       {"then", "else"}},
  };
}
QuestionFields rewriting_fields(ModelOptions& o, std::string& runtime) {
  return {
      {"runtime", &runtime, "How the framework executes", 0, 0, FieldKind::kName},
      {"precision", &o.precision, "Rewrite the model to another precision", 0, 0, FieldKind::kName},
  };
}
QuestionField pad_vocabulary_field(ModelOptions& o) {
  return {"pad_vocab", &o.pad_vocabulary, "Pad vocabularies to a multiple of it", 1};
}
QuestionField hardware_field(std::string& hardware) {
  return required(
      {"hw", &hardware, "The name of a machine, see /v1/hardware", 0, 0, FieldKind::kName});
}
QuestionField cost_model_field(std::string& cost_model) {
  return {"cost_model",
          &cost_model,
          "Operator times: the name of a model, or sol for the "
          "speed-of-light bound",
          0,
          0,
          FieldKind::kName};
}
QuestionFields training_fields(TrainingChoice& o) {
  return {
      {"mode",
       &o.mode,
       "A forward pass or a training step",
       0,
       0,
       FieldKind::kText,
       {"infer", "train"}},
      {"optimizer", &o.optimizer, "sgd, momentum, adam or none"},
      {"recompute", &o.recompute, "Activations computed again: none, selective or full"},
  };
}

class PredictQuestion final : public Question {
 public:
  QuestionFields fields() override {
    TrainingChoice& training = options_.training;
    return joined_fields(
        {{hardware_field(options_.hardware)},
         dimension_fields(options_.model),
         {{"strict", &options_.model.strict, "Fail when an operator cannot be resolved"}},
         rewriting_fields(options_.model, options_.runtime),
         {cost_model_field(options_.cost_model),
          {"policy", &options_.policy, "Scheduling policy that places operators on devices", 0, 0,
           FieldKind::kName}},
         training_fields(training),
         {{"training_mode", &training.training_mode, "Dropout drops values"},
          {"update_kernels", &training.kernels,
           "Kernels of the optimizer: per-weight, foreach or "
           "fused"},
          {"loss", &training.loss, "Loss of the training step: elementwise, cross-entropy or mse"},
          {"accumulate", &training.accumulate, "Passes before an update", 1, 256},
          pad_vocabulary_field(options_.model),
          {"advice", &options_.advice, "Also predict the gain of other settings"},
          {"requests", &options_.requests, "Also simulate this number of requests", 1,
           kMostSimulated},
          {"in_flight", &options_.pipeline.in_flight, "Requests at a time", 1, kMostSimulated},
          {"rate", &options_.pipeline.requests_per_s, "Requests that arrive per second", 1e-9},
          {"arrivals",
           &options_.arrivals,
           "Arrivals at that rate",
           0,
           0,
           FieldKind::kText,
           {"poisson", "uniform"}},
          {"warm_up", &options_.pipeline.warm_up,
           "Requests that throughput and latencies leave "
           "out",
           0, kMostSimulated},
          {"repeat", &options_.repeat, "Also simulate this number of runs with drawn times", 1,
           kMostSimulated},
          {"seed", &options_.seed, "Seed of arrivals, noise and policies"}}});
  }
  StatusOr<std::string> answer(const std::string& model, const Progress& progress) override {
    options_.model.path = model;
    DFSIM_ASSIGN_OR_RETURN(const Prediction prediction, predict(options_, progress));
    return prediction_json(prediction);
  }

 private:
  PredictOptions options_;
};

class InspectQuestion final : public Question {
 public:
  QuestionFields fields() override {
    return joined_fields({dimension_fields(options_.model),
                          {{"runtime", &options_.runtime, "The graph as this runtime executes it",
                            0, 0, FieldKind::kName}}});
  }
  StatusOr<std::string> answer(const std::string& model, const Progress& progress) override {
    options_.model.path = model;
    DFSIM_ASSIGN_OR_RETURN(const Inspection inspection, inspect(options_, progress));
    return inspection_json(inspection);
  }

 private:
  InspectOptions options_;
};

class CompareQuestion final : public Question {
 public:
  CompareQuestion() { request_.options.keep_tasks_of = "best"; }

  QuestionFields fields() override {
    return joined_fields(
        {{{"hw", &hardware_, "Names of machines", 0, 0, FieldKind::kName},
          {"procs", &processors_, "Numbers of identical processors, for task graphs", 1, 1024},
          {"bandwidth", &bandwidth_, "Bytes per second of links, for task graphs", 1, 1e18}},
         dimension_fields(request_.model),
         rewriting_fields(request_.model, runtime_),
         {cost_model_field(cost_model_),
          {"policies", &request_.policies, "all, or names with commas between them"},
          {"seed", &request_.options.seed, "Seed of randomised policies"},
          {"no_planning_time",
           &request_.options.timing,
           "Leave out the time spent planning",
           0,
           0,
           FieldKind::kText,
           {},
           false,
           false},
          {"iterations", &request_.options.policy.iterations, "Steps of anneal, nodes of optimal",
           1, kMostIterations}}});
  }
  StatusOr<std::string> answer(const std::string& model, const Progress& progress) override {
    request_.graph = model;
    std::vector<MachineChoice> machines;
    for (const std::string& hardware : hardware_) {
      machines.push_back({hardware, 0, bandwidth_, runtime_, cost_model_});
    }
    for (const uint64_t processors : processors_) {
      machines.push_back({"", processors, bandwidth_, "", ""});
    }
    if (machines.empty()) {
      machines.push_back({"", 0, bandwidth_, "", ""});
    }
    const PolicyRegistry registry;
    std::vector<Comparison> comparisons;
    for (const MachineChoice& machine : machines) {
      request_.machine = machine;
      DFSIM_ASSIGN_OR_RETURN(ComparedProblem compared, compare(request_, registry, progress));
      comparisons.push_back(std::move(compared.comparison));
    }
    return comparison_json(comparisons);
  }

 private:
  CompareRequest request_;
  std::vector<std::string> hardware_;
  std::vector<uint64_t> processors_;
  double bandwidth_ = 125e6;
  std::string runtime_;
  std::string cost_model_;
};

class RooflineQuestion final : public Question {
 public:
  QuestionFields fields() override {
    RooflineSource& source = options_.source;
    return joined_fields(
        {{hardware_field(source.hardware),
          {"device", &source.device, "One of the machine's devices", 0, 0, FieldKind::kName}},
         dimension_fields(source.model),
         rewriting_fields(source.model, source.runtime),
         {cost_model_field(source.cost_model),
          {"sweep", &options_.sweep, "NAME=A,B,...: also trajectories over these values"}}});
  }
  StatusOr<std::string> answer(const std::string& model, const Progress& progress) override {
    options_.source.model.path = model;
    DFSIM_ASSIGN_OR_RETURN(const RooflineStudy found, study_roofline(options_, progress));
    return roofline_json(found.rooflines, found.swept, found.lines);
  }

 private:
  RooflineOptions options_;
};

class PartitionQuestion final : public Question {
 public:
  QuestionFields fields() override {
    return joined_fields(
        {{hardware_field(options_.hardware)},
         dimension_fields(options_.model),
         rewriting_fields(options_.model, options_.runtime),
         {cost_model_field(options_.cost_model),
          {"collectives",
           &options_.collectives,
           "How collectives are timed",
           0,
           0,
           FieldKind::kText,
           {"model", "flow"}},
          {"strategy", &options_.strategy, "auto, dp, tp, pp, hybrid, search or uneven", 0, 0,
           FieldKind::kName},
          {"devices", &options_.devices, "Devices that share the work", 1, kMostOfDevices},
          {"micro_batches", &options_.micro_batches, "Parts into which a pipeline cuts the batch",
           1, kMostOfDevices},
          {"schedule", &options_.schedule, "Pipeline schedule: 1f1b, gpipe or interleaved"},
          pad_vocabulary_field(options_.model),
          {"chunks", &options_.chunks, "Parts of the model on each device", 1, 64},
          {"bucket_mb", &options_.bucket_mb, "MiB of gradients to exchange together", 0, 1e6},
          {"nodes", &options_.nodes, "Resize the cluster to this number of nodes", 1,
           kMostOfDevices},
          {"every_device", &options_.every_device, "Simulate each device"}},
         training_fields(options_.training)});
  }
  StatusOr<std::string> answer(const std::string& model, const Progress& progress) override {
    options_.model.path = model;
    DFSIM_ASSIGN_OR_RETURN(const Partitioning partitioning, partition_model(options_, progress));
    return partitioning_json(partitioning);
  }

 private:
  PartitionOptions options_;
};

template <typename Kind>
std::unique_ptr<Question> make_question() {
  return std::make_unique<Kind>();
}

}  // namespace

const std::vector<QuestionKind>& question_kinds() {
  static const std::vector<QuestionKind> kKinds = {
      {"predict", "How long a model takes on a machine, and why", true,
       make_question<PredictQuestion>},
      {"inspect", "Facts about a model that need no hardware", false,
       make_question<InspectQuestion>},
      {"compare", "Scheduling policies next to each other on a model or task graph", true,
       make_question<CompareQuestion>},
      {"roofline", "The rate that each operator reaches, and its limit", true,
       make_question<RooflineQuestion>},
      {"partition", "A model over the devices of a machine, by each plan of a strategy", true,
       make_question<PartitionQuestion>},
  };
  return kKinds;
}

}  // namespace dfsim::server
