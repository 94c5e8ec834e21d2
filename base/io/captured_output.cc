#include "base/io/captured_output.h"

namespace dfsim::inline base {
namespace {

thread_local CapturedOutput* innermost_capture = nullptr;

}  // namespace

CapturedOutput::CapturedOutput() : outer_(innermost_capture) { innermost_capture = this; }
CapturedOutput::~CapturedOutput() { innermost_capture = outer_; }
CapturedOutput* CapturedOutput::current() { return innermost_capture; }

}  // namespace dfsim::inline base
