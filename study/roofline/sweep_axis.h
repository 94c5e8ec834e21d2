// The quantities that `--sweep` follows, and a point of a sweep: what is set at one place of it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace dfsim::inline study {

enum class RooflineAxis : uint8_t {
  kSize,       // batch, or a named dimension: more work
  kThreads,    // inside an operator, of each process: the intra-op pool
  kProcesses,  // copies of the model that share the cores
  kInter,      // operators at once, of each process: the inter-op pool
  kPrecision,
  kLayout,
  kPlacement,  // of threads and pages on NUMA nodes
};
// Whether its values are names, not numbers.
bool has_names(RooflineAxis axis);

// The swept setting and its values: "batch=1,8,32", "threads=1,2,4", "precision=fp32,int8".
struct Sweep {
  std::string name;
  RooflineAxis axis = RooflineAxis::kSize;
  std::vector<std::string> values;  // as given
  std::vector<int64_t> numbers;     // the same; empty for names
};
// Error (kInvalidInput): no name; anything but 2 to 64 rising whole numbers above 0, or 2 to 64
// different names for an axis of names.
StatusOr<Sweep> parse_sweep(const std::string& text);

// The settings of one point; 0 and "" are not swept.
struct RooflineSetting {
  std::map<std::string, int64_t> sizes;  // "batch" and names of dimensions
  int64_t threads = 0;
  int64_t processes = 0;
  int64_t inter = 0;
  std::string precision;
  std::string layout;
  std::string placement;

  void set(const Sweep& sweep, size_t value);
  // Whether the cores are divided in a way that no hardware file was measured with.
  bool divides_cores() const { return processes > 0 || inter > 0 || !placement.empty(); }
};

}  // namespace dfsim::inline study
