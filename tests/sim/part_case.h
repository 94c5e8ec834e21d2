// A part of the engine alone: the graph and platform of a SimCase, a timeline, and one request
// whose tasks are in the table, without an event loop.
#pragma once

#include <optional>
#include <string>

#include "sim/engine/request_slots.h"
#include "sim/engine/run_mode.h"
#include "sim/engine/task_table.h"
#include "sim/engine/timeline.h"
#include "tests/sim/sim_case.h"

namespace dfsim {

class PartCase : public SimCase {
 public:
  using SimCase::SimCase;

  // After the last task and edge: the request arrives at 0, and its tasks are on their devices.
  void arrive() {
    build();
    slots.emplace(requests, static_cast<uint32_t>(graph.task_count()), timeline, nullptr);
    tasks.emplace(graph, *slots, timeline, nullptr);
    slots->arrive(0);
    tasks->grow(0);
    for (uint32_t t = 0; t < graph.task_count(); ++t) {
      tasks->reset(t, t);
      tasks->place(t, placement[t], times[t]);
    }
  }
  // The next event, with the clock moved to it.
  Event next_event() {
    REQUIRE_FALSE(timeline.empty());
    const Event event = timeline.pop();
    timeline.move_to(event);
    return event;
  }
  // Moves the clock by an event that means nothing else.
  void wait_until(TimeNs time_ns) {
    timeline.move_to(Event{time_ns, timeline.take_sequence(), kInputsArrived, 0});
  }
  std::string error() const { return std::string(timeline.error().message()); }

  RequestPlan requests;
  Timeline timeline;
  std::optional<RequestSlots> slots;
  std::optional<TaskTable> tasks;
};

}  // namespace dfsim
