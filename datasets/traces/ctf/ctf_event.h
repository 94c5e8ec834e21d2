// CtfEvent: one event of a trace in the Common Trace Format, with its fields by name.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace dfsim::inline datasets {

struct CtfField {
  std::string_view name;
  enum class Kind { kInteger, kReal, kText } kind = Kind::kInteger;
  int64_t integer = 0;
  double real = 0;
  std::string_view text;
};

// Texts live until the next event.
struct CtfEvent {
  std::string_view name;  // "provider:event"; of the kernel "sched_switch"
  int64_t time_ns = 0;
  bool timed = false;  // its stream has a clock
  // The payload, then the contexts of the event, of its stream and of its packet. Structures,
  // arrays and other collections are left out.
  std::vector<CtfField> fields;

  // The first field of one of these names, or nullptr.
  const CtfField* find(std::initializer_list<std::string_view> names) const;
  int64_t integer(std::initializer_list<std::string_view> names, int64_t otherwise = -1) const;
  std::string_view text(std::initializer_list<std::string_view> names) const;
};

struct CtfSummary {
  int64_t discarded = 0;  // by the tracer
  bool wall_clock = false;
  std::string damage;  // why the events end early; "" = they do not
};

}  // namespace dfsim::inline datasets
