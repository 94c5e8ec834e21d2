// Families of com.microsoft beyond contrib.cc and contrib_attention.cc, and what they share.
#pragma once

#include "graphs/ops/op_def.h"

namespace dfsim::inline graphs {

// [N, space..., C] as [N, C, space...], and back. Ranks below 3 stay as they are.
Shape channels_behind_batch(const Shape& shape);
Shape channels_last(const Shape& shape);

// Of a pool over input 0 under the op's attributes, in the layout of the input. Unknown rank when
// the input's is. Error: no batch, channels and space.
StatusOr<Shape> pooled_shape(const InferContext& context, bool last);
// One operation per tap of each window.
void work_pool_taps(WorkContext& context);

}  // namespace dfsim::inline graphs
