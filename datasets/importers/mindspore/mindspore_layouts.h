// Logical shapes of tensors in Ascend's own formats, so that a profile's operators are the
// operators of an ONNX graph.
//
// NC1HWC0 [N, C1, H, W, C0] and NDC1HWC0 [N, D, C1, H, W, C0] cut the channels into blocks of C0;
// FRACTAL_NZ [..., N1, M1, M0, N0] is a matrix [M, N] in blocks, column of blocks by column;
// FRACTAL_Z (also FracZ) [C1 KH KW, N1, N0, C0] holds a convolution's weights. Blocks are filled up
// with zeros. A TransData of the same run says how many channels there really are; without one they
// count as full.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "datasets/profiles/profile.h"

namespace dfsim::inline datasets {

// The shape is stored in blocks: the format is one of Ascend's and the rank is that of its blocks.
// (Some versions of the profiler write the logical shape next to the format.)
bool is_blocked(const TensorSpec& spec);

class LogicalShapes {
 public:
  // Learns from a TransData: one side in blocks, the other plain. Others are ignored.
  void learn(const TensorSpec& input, const TensorSpec& output);

  // The tensor with its logical shape and no format; as it is, where it has no blocks. Weights in
  // FRACTAL_Z become [O, C x kernel]: which part is the kernel only their convolution knows.
  TensorSpec logical(const TensorSpec& spec) const;

  // A convolution's image, weight [O, C/groups, kh, kw] and result. `weight` may be in FRACTAL_Z,
  // FRACTAL_Z_3D or C1HWNCoC0.
  struct Conv {
    TensorSpec x;
    TensorSpec weight;
    TensorSpec y;
  };
  Conv convolution(const TensorSpec& x, const TensorSpec& weight, const TensorSpec& y,
                   bool depthwise) const;

 private:
  using Key = std::pair<std::string, std::vector<int64_t>>;  // format, extents
  std::map<Key, std::vector<int64_t>> known_;                // {} = the run's TransDatas disagree
};

}  // namespace dfsim::inline datasets
