// The layout passes of runtimes, by their names in runtime files.
#include "study/roofline/layout_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/text.h"

namespace dfsim::inline study {
namespace {

constexpr const char* kFirstLayout = "nchw";
constexpr const char* kBlockedLayout = "blocked";
constexpr const char* kLastLayout = "channels-last";

bool blocks_channels(const std::string& pass) { return pass.starts_with("nchwc-"); }

std::vector<std::string> layouts_of(const RuntimeSpec& runtime, const DeviceSpec& device) {
  if (device.type == DeviceType::kCpu && std::ranges::any_of(runtime.fusions, blocks_channels)) {
    return {kFirstLayout, kBlockedLayout};
  }
  const bool both =
      runtime.framework == Framework::kPytorch || runtime.framework == Framework::kOnnxRuntime;
  return device.type == DeviceType::kGpu && both
             ? std::vector<std::string>{kFirstLayout, kLastLayout}
             : std::vector<std::string>{};
}

}  // namespace

Status apply_layout(const std::string& layout, DeviceId device, Platform* platform) {
  RuntimeSpec& runtime = platform->runtime;
  const DeviceSpec& spec = platform->device(device);
  const std::vector<std::string> layouts = layouts_of(runtime, spec);
  if (layouts.empty()) {
    return invalid_input(fmt::format(
        "--sweep layout: dfsim knows one layout of runtime {} on {}, expected ONNX "
        "Runtime on a CPU, or it or PyTorch on a GPU; leave layout out, or name another "
        "--runtime",
        runtime.name, printable(spec.model)));
  }
  if (std::ranges::find(layouts, layout) == layouts.end()) {
    return invalid_input(fmt::format("--sweep layout: found '{}', expected {} of runtime {} on {}",
                                     printable(layout), join(layouts, " or "), runtime.name,
                                     printable(spec.model)));
  }
  if (layout == kLastLayout) {
    runtime.fusions.insert(runtime.fusions.end(), {"", "channels-last"});
  } else if (spec.type == DeviceType::kCpu && layout == kFirstLayout) {
    std::erase_if(runtime.fusions, blocks_channels);
  }
  return ok_status();
}

Status check_layout_matters(const RooflineReport& roofline, const DeviceSpec& device) {
  const bool gpu = device.type == DeviceType::kGpu;
  const auto matters = [gpu](const RoofPoint& op) {
    const bool half = op.dtype == DType::kFloat16 || op.dtype == DType::kBFloat16;
    return op.op_class == OpClass::kConv &&
           (gpu ? op.op_type == "Conv" && half && op.source == CostSource::kPrior
                : op.dtype == DType::kFloat32 && op.source != CostSource::kBoundOnly);
  };
  if (std::ranges::any_of(roofline.ops, matters)) {
    return ok_status();
  }
  return invalid_input(fmt::format(
      "--sweep layout: no convolution of {} has times that depend on the layout on {}, expected {}",
      roofline.model, printable(device.model),
      gpu ? "16-bit ones; --precision fp16 makes them" : "fp32 ones"));
}

}  // namespace dfsim::inline study
