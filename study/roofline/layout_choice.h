// Layouts of images that a runtime has on a device, for trajectories over layouts.
//
// On CPUs ONNX Runtime keeps the images of fp32 convolutions in blocks of channels ("blocked"), or
// with its layout passes left out with their channels first ("nchw"). On GPUs the kernels of
// matrix units want the channels of 16-bit images last: PyTorch and ONNX Runtime have both orders.
#pragma once

#include <string>

#include "base/status.h"
#include "hardware/platform.h"
#include "study/roofline/roofline.h"

namespace dfsim::inline study {

// Changes the passes of the platform's runtime so that images have that layout on the device.
// Error (kInvalidInput): a layout that they do not have, with those that they have.
Status apply_layout(const std::string& layout, DeviceId device, Platform* platform);

// Whether the times tell layouts apart: the device's cost model knows both for some convolution of
// the roofline. Error (kInvalidInput): it does not.
Status check_layout_matters(const RooflineReport& roofline, const DeviceSpec& device);

}  // namespace dfsim::inline study
