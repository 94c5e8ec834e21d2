// Progress of a study: its caller learns of each step, and may end the study there.
#pragma once

#include <functional>
#include <string>

#include "base/status.h"

namespace dfsim::inline study {

// Callbacks of the caller; the default is silent. Never called by two threads at once; training
// notes its parts from its worker threads.
struct Progress {
  // A step begins: "importing swin_t.onnx". An error ends the study, which then returns that error
  // unchanged: this is how a caller cancels. Studies call it before each operation that can take
  // long: an import, a simulation, a measurement.
  std::function<Status(const std::string& step)> on_stage;
  // How far the study is: `done` of `total` things that `what` names ("policies"), at any rate
  // below or at `total`; never falls within a stage of the same `what`.
  std::function<void(double done, double total, const std::string& what)> on_advance;
  // A line worth keeping, such as the time of one measured setting.
  std::function<void(const std::string& line)> on_note;

  Status stage(const std::string& step) const { return on_stage ? on_stage(step) : ok_status(); }
  void advance(double done, double total, const std::string& what) const {
    if (on_advance) {
      on_advance(done, total, what);
    }
  }
  void note(const std::string& line) const {
    if (on_note) {
      on_note(line);
    }
  }
};

}  // namespace dfsim::inline study
