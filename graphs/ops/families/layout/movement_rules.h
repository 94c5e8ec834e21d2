// Rules of data movement that have files of their own (slice.cc, resize.cc).
#pragma once

#include "graphs/ops/infer_context.h"
#include "graphs/ops/work_context.h"

namespace dfsim::inline graphs {

// numpy's slices with clamping: starts, ends, axes and steps as attributes (opset 1) or inputs.
Status infer_slice(InferContext& context);
void fold_slice(InferContext& context);

// Extents grow, or shrink with negative pads.
Status infer_pad(InferContext& context);

// Resize (10, 11+), Upsample (1, 7, 9): scales or sizes, in attributes or inputs.
Status infer_resize(InferContext& context);
// The scale of each axis of input 0 once the output has its shape; 1 for axes that stay.
std::optional<std::vector<double>> resize_scales(const InferContext& context);
// Nearest only moves; linear blends 2 and cubic 4 neighbours per resized axis.
void work_resize(WorkContext& context);

}  // namespace dfsim::inline graphs
