// Times of element types that tables hardly have, from those of the types next to them.
//
// Purpose: a model has thousands of convolutions in fp32 and fp16 for a few hundred in TF32, so its
//   trees answer for TF32 now from leaves of the one and now of the other. Products of 8 bits were
//   measured together with the kernel that quantises their activations, which a graph that is
//   quantised throughout does not run. The prior's trees place a product of one row in fp32 among
//   products of many, which wait for arithmetic.
// Method: attention and convolutions in groups have no TF32 kernels in PyTorch, so their times are
//   those of fp32. A dense convolution lies between fp32 and fp16: law and errors are fitted to the
//   shapes that an H100 and an H200 ran in all three (datasets/collect/torch_gpu/fit_tf32.py;
//   docs/reference/cost-models.md). A product on operands of 8 bits takes
//   no more than a share of the time on 16, one of one row in fp32 no more than twice as long.
// Internal to opmodel.
#pragma once

#include <optional>

#include "hardware/platform.h"
#include "opmodel/cost_model.h"
#include "opmodel/features/op_geometry.h"

namespace dfsim::inline opmodel {

// An operator of TF32 whose kernels are those of fp32.
bool runs_as_fp32(const OpDescriptor& op);

// The same operator on fp32 operands, where it is one of TF32. Otherwise as it is. O(size of op).
OpDescriptor as_fp32(const OpDescriptor& op);

// Whether neighbours may change an answer from that source, by element type and rows alone: asking
// for them may load trees that nothing else needs. O(rank).
bool may_have_dtype_neighbours(const OpDescriptor& op, CostSource source);

// The same work on other element types. `wide` is absent where only 16 bits are asked for.
struct DTypeNeighbours {
  std::optional<OpDescriptor> wide;  // fp32
  OpDescriptor narrow;               // fp16
};

// The neighbours of a dense convolution in TF32, of a product or convolution whose operands are of
// 8 bits, or of a product of one row in fp32; nothing for any other operator, and for other devices
// than GPUs. `geometry` is geometry_of(op). O(size of op).
std::optional<DTypeNeighbours> dtype_neighbours(const OpDescriptor& op, const OpGeometry& geometry,
                                                const DeviceSpec& device);

// Replaces or limits `cost`, a model's answer for `op`, by what its neighbours cost; `wide` is
// looked at where dtype_neighbours() has one. Measured times stay. O(1).
void apply_dtype_neighbours(const OpGeometry& geometry, const DeviceSpec& device,
                            const OpCost& wide, const OpCost& narrow, OpCost* cost);

}  // namespace dfsim::inline opmodel
