// Progress of a study: its caller learns of each step, and may end the study there.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"

namespace dfsim::inline study {

// Callbacks of the caller; the default is silent. Never called by two threads at once; training
// notes its parts from its worker threads.
struct Progress {
  using Facts = std::vector<std::pair<std::string, std::string>>;

  // A step begins: "importing swin_t.onnx". An error ends the study, which then returns that error
  // unchanged: this is how a caller cancels between steps. Studies call it before each operation
  // that can take long: an import, a simulation, a measurement. run_cancellable()
  // (base/cancellation.h) cancels inside of them.
  std::function<Status(const std::string& step)> on_stage;
  // How far the study is: `done` of `total` things that `what` names ("policies"), at any rate
  // below or at `total` (0 = not known); never falls within a stage of the same `what`.
  std::function<void(double done, double total, const std::string& what)> on_advance;
  // A decision that a reader of the result may want explained: its subject ("cost model") and named
  // facts, in an order that is the same in every run.
  std::function<void(const std::string& subject, const Facts& facts)> on_decision;
  // A line worth keeping, such as the time of one measured setting.
  std::function<void(const std::string& line)> on_note;

  Status stage(const std::string& step) const { return on_stage ? on_stage(step) : ok_status(); }
  void advance(double done, double total, const std::string& what) const {
    if (on_advance) {
      on_advance(done, total, what);
    }
  }
  // Whether somebody listens, for facts that take work to find.
  bool explains() const { return static_cast<bool>(on_decision); }
  void decide(const std::string& subject, const Facts& facts) const {
    if (on_decision) {
      on_decision(subject, facts);
    }
  }
  // For readers of files: reports how many MB have been read. Not to be called when this is gone.
  std::function<void(int64_t done_bytes, int64_t file_bytes)> read_bytes() const {
    return [this](int64_t done_bytes, int64_t file_bytes) {
      constexpr double kBytesPerMb = 1e6;
      advance(static_cast<double>(done_bytes) / kBytesPerMb,
              static_cast<double>(file_bytes) / kBytesPerMb, "MB");
    };
  }
  void note(const std::string& line) const {
    if (on_note) {
      on_note(line);
    }
  }
};

}  // namespace dfsim::inline study
