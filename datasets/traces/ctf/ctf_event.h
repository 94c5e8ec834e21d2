// CtfEvent: one event of a trace in the Common Trace Format, with its fields by name, and by the
// role that a field plays whatever its tracer calls it.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace dfsim::inline datasets {

struct CtfField {
  std::string_view name;
  enum class Kind : uint8_t { kInteger, kReal, kText } kind = Kind::kInteger;
  int64_t integer = 0;
  double real = 0;
  std::string_view text;
};

// Fields that nearly every event is asked for. Each role has several names, the preferred one
// first.
enum class CtfRole : uint8_t {
  kThread,       // number of the thread that the event happened on
  kCpu,          // the CPU that wrote it
  kTime,         // a time in the payload, which counts instead of the header's
  kName,         // of the span that the event begins or ends
  kType,         // of an operator
  kPlacement,    // the device that the framework placed an operator on
  kCorrelation,  // joins a call and the work that it launched
  kDevice,
  kQueue,
  kOperator,  // of device work: the operator that launched it
  kObject,    // a kernel's handle, for which another event has the name
};
inline constexpr int kCtfRoleCount = static_cast<int>(CtfRole::kObject) + 1;

// The layout that all events of one class share. Lives as long as the reading.
struct CtfShape {
  std::string name;  // "provider:event"; of the kernel "sched_switch"
  std::vector<std::string> fields;
  size_t payload = 0;                          // the first fields: those of the payload
  std::array<int16_t, kCtfRoleCount> roles{};  // -1 = no field plays it

  // Fills `roles` from `fields`.
  void find_roles();
};

// Texts live until the next event.
struct CtfEvent {
  const CtfShape* shape = nullptr;
  int64_t time_ns = 0;
  int64_t clock_offset_ns = 0;  // that the clock adds to the times which the tracer writes
  bool timed = false;           // its stream has a clock
  // The payload, then the contexts of the event, of its stream and of its packet. Structures,
  // arrays and other collections are left out.
  std::vector<CtfField> fields;

  const std::string& name() const { return shape->name; }
  // The first field of one of these names, or nullptr.
  const CtfField* find(std::initializer_list<std::string_view> names) const;
  const CtfField* find(CtfRole role) const;
  int64_t integer(std::initializer_list<std::string_view> names, int64_t otherwise = -1) const;
  int64_t integer(CtfRole role, int64_t otherwise = -1) const;
  std::string_view text(std::initializer_list<std::string_view> names) const;
  std::string_view text(CtfRole role) const;
};

struct CtfSummary {
  int64_t discarded = 0;  // by the tracer
  bool wall_clock = false;
  std::string damage;  // why the events end early; "" = they do not
};

}  // namespace dfsim::inline datasets
