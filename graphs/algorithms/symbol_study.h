// Which shapes hang on which dynamic dimension: found by importing the model again with another
// extent and looking at what changes. Exact for every rule, whatever arithmetic lies between.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "graphs/ir/import.h"

namespace dfsim::inline graphs {

// One dynamic dimension (a BoundDim of the report that is not derived from others).
struct StudiedSymbol {
  std::string name;
  int64_t extent = 0;              // in the model as it was imported
  int64_t varied = 0;              // in the second import; 0 when the model takes no other extent
  std::vector<bool> ops;           // per op: a shape that it reads or writes depends on it
  std::map<size_t, Shape> shapes;  // per tensor that depends on it: the shape at `varied`

  size_t op_count() const;
};

// At most this many symbols are studied, in the report's order.
inline constexpr size_t kMaxStudiedSymbols = 8;

// `import_again` imports the same file with other options; `options` are those of `model`.
// Complexity: an import or a few per symbol. Never fails: a symbol whose other extents the model
// refuses has `varied` 0.
std::vector<StudiedSymbol> study_symbols(
    const ImportedModel& model, const ImportOptions& options,
    const std::function<StatusOr<ImportedModel>(const ImportOptions&)>& import_again);

}  // namespace dfsim::inline graphs
