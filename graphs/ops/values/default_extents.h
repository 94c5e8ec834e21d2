// Extents that are assumed for dynamic dimensions without a number: what such an input usually
// has, by the dimension's name, else by the input's rank, element type and name.
#pragma once

#include <cstdint>
#include <string>

#include "base/dtype.h"
#include "graphs/ir/shape.h"

namespace dfsim::inline graphs {

// The assumed length of a sequence of tokens or frames.
constexpr int64_t kUsualSequence = 128;

// A dimension where an input uses it.
struct DimUse {
  std::string symbol;
  std::string input;  // its name
  DType dtype = DType::kUnknown;
  Shape shape;  // with the symbols that the file declares
  int axis = 0;
};

// Whether a symbol is named like a batch: "batch", "N", "bs", "None".
bool is_batch_name(const std::string& symbol);
// Whether an exporter made the name up ("s28", "dim_0", "unk__3", "x[1]"), so that it says nothing.
bool is_made_up_name(const std::string& symbol);

// The assumed extent. Batches are 1, sequences 128, image sides 224, waveforms 16000 samples,
// videos 16 frames; 1 where nothing tells what a dimension is. O(length of the names).
int64_t default_extent(const DimUse& use);

}  // namespace dfsim::inline graphs
