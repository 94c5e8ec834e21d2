// Constants are in nanoseconds per weight of an expert that has rows, on the measured core; each
// row adds its multiply-adds at the rate of large products.
#include "opmodel/model/laws/cpu/expert_kernels.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "datasets/profiles/profile.h"
#include "opmodel/features/feature_writer.h"
#include "opmodel/model/laws/cpu/packed_weights.h"

namespace dfsim::inline opmodel {

namespace {

double number_of(const OpDescriptor& op, std::string_view name) {
  const std::vector<size_t> values = index_list(op, name);
  return values.size() == 1 ? static_cast<double>(values[0]) : 0;
}

struct Routing {
  double experts = 0;
  double used = 0;     // experts that have rows
  double rows = 0;     // of each of those
  double alone = 0;    // share of those that have one row
  double weights = 0;  // of each expert
};

// Each row chooses experts without regard to other rows.
Routing routing_of(const OpDescriptor& op) {
  Routing routing;
  if (op.input_extents.size() < 3 || op.input_extents[1].size() != 2 ||
      op.input_extents[0].empty() || op.input_extents[0].back() < 1) {
    return routing;
  }
  const double rows =
      element_count(op.input_extents[0]) / static_cast<double>(op.input_extents[0].back());
  const double experts = static_cast<double>(std::max<int64_t>(op.input_extents[1][1], 0));
  const double chosen = std::min(number_of(op, "k"), experts);
  if (!(rows >= 1) || !(chosen >= 1)) {
    return routing;
  }
  const double share = chosen / experts;
  routing.experts = experts;
  routing.used = experts * (1 - std::pow(1 - share, rows));
  routing.rows = rows * chosen / routing.used;
  routing.alone = experts * rows * share * std::pow(1 - share, rows - 1) / routing.used;
  routing.weights = static_cast<double>(op.work.macs) / (rows * chosen);
  return routing;
}

// A product reads the weights of one row where they lie, in memory, and copies them for more.
// Weights without blocks are written out in fp32 first, which takes longer where the first matrix
// does not fit into a quarter of the cache.
double expert_weights_ns(const OpDescriptor& op, const Routing& routing, const CoreRates& rates) {
  struct Fixed {
    double one_row;
    double rows;
  };
  constexpr Fixed kPlain = {0.20, 0.40};
  constexpr Fixed kWrittenSmall = {0.18, 0.40};
  constexpr Fixed kWrittenLarge = {0.40, 0.75};
  constexpr double kShareOfCache = 0.25;
  constexpr double kElementBytes = 4;
  const double bits = number_of(op, "bits");
  const double stored_in_byte = bits > 0 && bits < 8 ? 8 / bits : 1;
  const double first_bytes =
      element_count(op.input_extents[2]) * stored_in_byte / routing.experts * kElementBytes;
  const Fixed& fixed = bits == 32                                           ? kPlain
                       : rates.bytes_beyond(kShareOfCache, first_bytes) > 0 ? kWrittenLarge
                                                                            : kWrittenSmall;
  const double copied = routing.alone * fixed.one_row + (1 - routing.alone) * fixed.rows;
  return routing.weights * (copied + routing.rows * kFp32ProductNs) / rates.fp32;
}

// Threads get neighbouring experts, as many each, so the one with most of the used ones decides:
// the mean and three quarters of what the greatest of as many normal variables is expected to
// exceed it by at most.
double most_loaded_share(const Routing& routing, int cores) {
  constexpr double kShareOfLimit = 0.75;
  const double parts = std::min<double>(cores, routing.experts);
  const double mean = routing.used / parts;
  const double deviation =
      std::sqrt(std::max(0.0, mean * (1 - 1 / parts) * (1 - routing.used / routing.experts)));
  const double most = mean + kShareOfLimit * deviation * std::sqrt(2 * std::log(parts));
  return std::min(
      1.0,
      std::max({most, std::ceil(routing.experts / parts) / routing.experts * routing.used, 1.0}) /
          routing.used);
}

// Weights in blocks go through the kernels of MatMulNBits. Those of 8 bits multiply in 8 bits,
// whatever the level.
double packed_experts_ns(const OpDescriptor& op, const Routing& routing, const CoreRates& rates) {
  const std::string_view attributes =
      number_of(op, "bits") == 8 ? std::string_view("accuracy_level=4;bits=8") : op.attributes;
  const double alone = packed_weights_ns(attributes, routing.weights, 1, rates);
  const double others =
      routing.alone < 1 ? (routing.rows - routing.alone) / (1 - routing.alone) : 0;
  const double together =
      others > 1 ? packed_weights_ns(attributes, routing.weights, others, rates) : alone;
  return routing.used * (routing.alone * alone + (1 - routing.alone) * together);
}

}  // namespace

double experts_ns(const OpDescriptor& op, const CoreRates& rates) {
  constexpr double kBitsOfByte = 8;
  const Routing routing = routing_of(op);
  const double bits = number_of(op, "bits");
  if (!(routing.weights > 0) || !(bits > 0)) {
    return 0;
  }
  const double read_ns =
      routing.used * routing.weights * bits / kBitsOfByte / rates.memory_bytes_per_ns;
  const double busy_ns = number_of(op, "block_size") > 0
                             ? rates.shared(packed_experts_ns(op, routing, rates))
                             : routing.used * expert_weights_ns(op, routing, rates) *
                                   most_loaded_share(routing, rates.cores);
  return std::max(read_ns, busy_ns);
}

}  // namespace dfsim::inline opmodel
