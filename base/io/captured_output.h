// CapturedOutput: what the current thread writes to stdout becomes a text instead.
//
// For programs that call dfsim's commands as functions, such as the Python package. Other threads
// keep the stdout that they have. Nested captures: the innermost one gets the text.
#pragma once

#include <string>

namespace dfsim::inline base {

class CapturedOutput {
 public:
  CapturedOutput();
  ~CapturedOutput();
  CapturedOutput(const CapturedOutput&) = delete;
  CapturedOutput& operator=(const CapturedOutput&) = delete;

  // Everything that OutputFiles of "-" have committed on this thread since the start.
  const std::string& text() const { return text_; }
  std::string& text() { return text_; }

  // The capture of this thread; nullptr when stdout is the process's.
  static CapturedOutput* current();

 private:
  std::string text_;
  CapturedOutput* outer_;
};

}  // namespace dfsim::inline base
