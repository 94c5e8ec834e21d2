// ScalingTable: ops of whole networks as they were measured, to predict the same op at another
// size.
//
// The same op at another batch size has the same type, formats and ranks, and extents that differ
// in at most one axis of each tensor, by one ratio (up to one block of rounding in blocked
// formats). Measured ops whose extents differ from the wanted ones in the same places form one
// line, whatever network and batch size they come from: time is close to affine along it, t = f + g
// x with f, g >= 0. The nearest measured sizes around the wanted one decide.
//
// Effects: an op of a network that took longer than others of equal shape in one run does so in
// others, too (what its data's place in the cache is like depends on its neighbours). Such factors
// are kept by the op's identity (instance_key.h).
//
// File: a magic, the number of groups, the groups, the number of effects, the effects,
// little-endian; its checksum is in the manifest. Extents and counts take as few bytes as they
// need: the table is a large part of a model otherwise.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "opmodel/cost_model.h"

namespace dfsim::inline opmodel {

struct ScalingEstimate {
  double time_us = 0;
  bool interpolated = false;  // measured sizes on both sides
  double distance = 1;        // ratio to the nearest measured size, at least 1
  // By how much the line enlarges the relative noise of single measurements: less than 1 between
  // two sizes or where many were taken, more than 1 beyond them.
  double noise_gain = 1;
  // By how much (in ln) the two sizes contradict what time can do: grow faster than the work, or
  // fall while the work grows. 0 where they agree with it.
  double doubt = 0;
};

class ScalingTable {
 public:
  // Adds one measured op: the median of so many measurements.
  void add(const OpDescriptor& op, std::string_view device_model, double time_us,
           size_t measurements = 1);
  // Ops of this identity take exp(log_factor) times as long as others of their shape.
  void add_effect(uint64_t instance, double log_factor);

  static StatusOr<ScalingTable> parse(std::string_view bytes, std::string_view place);
  std::string serialize() const;

  // The time of `op` from the same op at two other sizes at least; nothing when there are none.
  // Ignores the op's own measured time. O(ops of its type).
  std::optional<ScalingEstimate> estimate(const OpDescriptor& op,
                                          std::string_view device_model) const;
  // The factor of an identity; 1 for unknown ones and for 0.
  double factor_of(uint64_t instance) const;
  size_t size() const { return count_ + effects_.size(); }

 private:
  struct Record {
    float time_us = 0;
    uint32_t measurements = 1;
    uint32_t first_extent = 0;  // into extents_
    uint32_t extent_count = 0;
  };
  std::vector<Record>& records_of(uint64_t group);
  void add_record(uint64_t group, const std::vector<int32_t>& extents, float time_us,
                  uint32_t measurements);
  // Take one from the front of `bytes`; false when it is damaged.
  bool parse_group(std::string_view& bytes);
  bool parse_effect(std::string_view& bytes);

  std::map<uint64_t, std::vector<Record>> groups_;
  std::vector<int32_t> extents_;
  std::map<uint64_t, float> effects_;  // natural logarithms
  size_t count_ = 0;
};

}  // namespace dfsim::inline opmodel
