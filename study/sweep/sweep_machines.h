// The machines of a sweep: each set of hardware, runtime and precision is loaded once, and cost
// models are shared by machines that use the same ones.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "base/status.h"
#include "hardware/platform.h"
#include "opmodel/cost_model.h"
#include "study/machines/explain_machine.h"
#include "study/progress.h"
#include "study/sweep/sweep_options.h"
#include "study/sweep/sweep_plan.h"

namespace dfsim::inline study {

struct SweepMachine {
  Status usable;  // why the hardware cannot execute the runtime, if it can't: nothing else is there
  Platform platform;
  std::shared_ptr<const CostModel> cost_model;
  // Changes when a file that the machine was read from does, or its cost model.
  std::string version;
};

class SweepMachines {
  using Key = std::tuple<std::string, std::string, std::string>;

 public:
  // Loads what the points name; a runtime that does not fit its hardware makes the machine
  // unusable. Errors: the others of load_machine(), those of load_cost_model_for().
  Status load(const SweepPlan& points, const std::string& cost_model);
  // `point` is one of those that were loaded.
  const SweepMachine& of(const SweepPoint& point) const { return *machines_.at(key_of(point)); }
  // Machines with different runtimes or precisions count apart.
  size_t size() const { return machines_.size(); }
  // Reports each to whoever wants explanations.
  void explain(const Progress& progress) const {
    for (const auto& [key, machine] : machines_) {
      if (machine->usable.ok()) {
        explain_machine(machine->platform, machine->cost_model->name(), progress);
      }
    }
  }

 private:
  Status add(const SweepPoint& point, const std::string& cost_model);
  // Hardware, runtime and precision.
  static Key key_of(const SweepPoint& point);

  std::map<Key, std::unique_ptr<SweepMachine>> machines_;
  std::map<std::vector<std::string>, std::shared_ptr<const CostModel>> cost_models_;
};

}  // namespace dfsim::inline study
