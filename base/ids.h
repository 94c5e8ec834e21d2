// Strong dense ids: Id<Tag> is a 32-bit index that cannot be mixed up with another kind's.
// Invariant: a valid id of a container of n elements lies in [0, n); kNone means "no such thing".
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace dfsim::inline base {

template <typename Tag>
class Id {
 public:
  static constexpr uint32_t kNoneValue = UINT32_MAX;

  constexpr Id() = default;
  constexpr explicit Id(size_t value) : value_(static_cast<uint32_t>(value)) {}

  constexpr bool valid() const { return value_ != kNoneValue; }
  // The position in the owning container. Only for valid ids.
  constexpr size_t index() const { return value_; }
  constexpr uint32_t value() const { return value_; }

  constexpr auto operator<=>(const Id&) const = default;  // NOLINT(modernize-use-nullptr)

 private:
  uint32_t value_ = kNoneValue;
};

using OpId = Id<struct OpTag>;
using TensorId = Id<struct TensorTag>;
using TaskId = Id<struct TaskTag>;
using DataId = Id<struct DataTag>;
using DeviceId = Id<struct DeviceTag>;
using LinkId = Id<struct LinkTag>;

}  // namespace dfsim::inline base

template <typename Tag>
struct std::hash<dfsim::Id<Tag>> {
  size_t operator()(dfsim::Id<Tag> id) const noexcept { return id.value(); }
};
