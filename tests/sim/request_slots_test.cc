#include "sim/engine/request_slots.h"

#include <catch2/catch.hpp>

using namespace dfsim;

namespace {

Event next_arrival(Timeline& timeline) {
  REQUIRE_FALSE(timeline.empty());
  const Event event = timeline.pop();
  timeline.move_to(event);
  return event;
}

}  // namespace

TEST_CASE("RequestSlots: a single run has one slot, and instances are tasks", "[sim]") {
  Timeline timeline;
  const RequestPlan plan;
  RequestSlots slots(plan, 3, timeline, nullptr);
  slots.schedule_arrivals();
  const Event arrival = next_arrival(timeline);
  CHECK(arrival.kind == kRequestArrived);
  CHECK(arrival.time_ns == 0);
  CHECK(timeline.empty());
  CHECK(slots.arrive(0) == 0);
  CHECK(slots.instance(0, 2) == 2);
  CHECK(slots.task_of(2) == 2);
  CHECK_FALSE(slots.task_finished(0));
  CHECK_FALSE(slots.task_finished(0));
  CHECK(slots.task_finished(0));
  CHECK_FALSE(slots.all_finished());
  slots.finish(0);
  CHECK(slots.all_finished());
}

TEST_CASE("RequestSlots: a closed loop brings the next request when one is done", "[sim]") {
  Timeline timeline;
  RequestPlan plan;
  plan.requests = 4;
  plan.in_flight = 2;
  RequestSlots slots(plan, 10, timeline, nullptr);
  slots.schedule_arrivals();
  CHECK(slots.arrive(next_arrival(timeline).payload) == 0);
  CHECK(slots.arrive(next_arrival(timeline).payload) == 1);
  CHECK(timeline.empty());
  CHECK(slots.instance(1, 3) == 13);
  CHECK(slots.task_of(13) == 3);
  CHECK(slots.slot_of(13) == 1);

  timeline.move_to(50);
  slots.finish(1);
  CHECK(slots.request_of(1) == 1);  // it keeps the slot until vacate()
  CHECK(slots.slot_of_request(1) == kNoIndex);
  slots.vacate(1);
  CHECK(slots.request_of(1) == kNoIndex);
  const Event third = next_arrival(timeline);
  CHECK(third.payload == 2);
  CHECK(third.time_ns == 50);
  CHECK(slots.arrive(2) == 1);  // the slot that became vacant
  CHECK(slots.size() == 2);
  CHECK(slots.slot_of_request(2) == 1);
  CHECK(slots.records()[1].finish_ns == 50);
  CHECK(slots.records()[2].arrival_ns == 50);
}

TEST_CASE("RequestSlots: an open workload schedules one arrival at a time", "[sim]") {
  Timeline timeline;
  RequestPlan plan;
  plan.requests = 3;
  plan.arrivals_ns = {5, 7, 20};
  RequestSlots slots(plan, 1, timeline, nullptr);
  slots.schedule_arrivals();
  CHECK(timeline.next_ns() == 5);
  slots.arrive(next_arrival(timeline).payload);
  CHECK(timeline.next_ns() == 7);
  slots.arrive(next_arrival(timeline).payload);
  CHECK(slots.size() == 2);  // the first one is not done
  slots.finish(0);
  slots.vacate(0);
  CHECK(timeline.next_ns() == 20);
  CHECK(slots.arrive(next_arrival(timeline).payload) == 0);
  CHECK(timeline.empty());
}

TEST_CASE("RequestSlots: a slot opens after the overhead of its run", "[sim]") {
  Timeline timeline;
  const RequestPlan plan;
  RequestSlots slots(plan, 1, timeline, nullptr);
  slots.arrive(0);
  CHECK_FALSE(slots.is_open(0));
  timeline.move_to(30);
  slots.open(0);
  CHECK(slots.is_open(0));
  CHECK(slots.open_ns(0) == 30);
  CHECK(slots.arrival_ns(0) == 0);
}
