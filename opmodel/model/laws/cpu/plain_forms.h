// Times of ONNX Runtime's operators on CPUs that depend on their form more than on their elements.
//
// Purpose: GridSample works result by result, up to fifty times as long in one mode as in another;
//   TopK's time grows with what it selects; images are doubled by a loop of their own; a scale for
//   each column is looked up for each element.
// Method: rates of one machine (datasets/collect/ort_cpu/kernels/plain_forms.py;
//   datasets/measured/other-cpus/plain_forms.csv).
// Internal to opmodel.
#pragma once

#include "opmodel/cost_model.h"

namespace dfsim::inline opmodel {

// Microseconds on that many cores; 0 for operators of other types and forms. O(rank).
double plain_form_us(const OpDescriptor& op, int cores);

// Elements in a window of a pool or convolution; 1 where it has no kernel_shape.
double window_taps(const OpDescriptor& op);

// Along an axis that others follow, as the shapes tell: operators without that attribute in their
// descriptor.
bool selects_along_inner_axis(const OpDescriptor& op);

// A QuantizeLinear or DequantizeLinear whose scale changes every few elements: ONNX Runtime calls
// its kernel for each run of elements with one scale.
bool has_short_scales(const OpDescriptor& op);

// A Where whose condition serves several rows of the result, as a mask of attention does every
// head: one thread chooses twice, then joins what it chose. Campaigns measured conditions as large
// as the result.
bool has_shared_mask(const OpDescriptor& op);

// A DequantizeLinear with a scale per block of an axis, whose kernel looks it up per element.
bool has_blocked_scales(const OpDescriptor& op);

// Activations whose kernel is that of an operator which campaigns measure: a QuickGelu that
// multiplies by a factor first, x * sigmoid(1.702 x), takes what FastGelu takes, and three times
// what it takes without; ai.onnx's Gelu is com.microsoft's, or FastGelu where it approximates
// (within 10 %, three sizes each on an EPYC Turin).
bool has_activation_twin(const OpDescriptor& op);
OpDescriptor activation_twin(const OpDescriptor& op);
// The same operator to models whose profiles do not have the attribute: kernels that memory limits.
OpDescriptor without_activation_attributes(const OpDescriptor& op);

// A Resize of images that filters what it shrinks: one pass along each axis, with more taps the
// more it shrinks.
bool filters_image(const OpDescriptor& op);

// ONNX Runtime doubles both sides of an image without a table of coordinates.
bool doubles_image(const OpDescriptor& op);

}  // namespace dfsim::inline opmodel
