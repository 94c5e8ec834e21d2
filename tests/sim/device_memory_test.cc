#include "sim/data/device_memory.h"

#include <catch2/catch.hpp>

#include "tests/sim/part_case.h"

using namespace dfsim;

namespace {

// One device of 100 bytes.
PartCase small_device() {
  PartCase sim(1);
  sim.platform.devices[0].memory_bytes = 100;
  sim.task(1);
  return sim;
}

class FixedList final : public MemoryInventory {
 public:
  std::string holdings(uint32_t /*device*/) const override { return "a list"; }
};

}  // namespace

TEST_CASE("DeviceMemory: counts bytes in use and their peak", "[sim]") {
  PartCase sim = small_device();
  sim.arrive();
  DeviceMemory memory(sim.platform, MemoryPolicy::kTrack, *sim.slots, sim.timeline, nullptr);
  memory.allocate(0, 70, {MemoryUse::kTensor, 0, 0});
  memory.allocate(0, 60, {MemoryUse::kTensor, 0, 1});  // tracked, not enforced
  CHECK(memory.in_use(0) == 130);
  CHECK(memory.free_bytes(0) == 0);
  memory.release(0, 70, {MemoryUse::kTensor, 0, 0});
  CHECK(memory.in_use(0) == 60);
  CHECK(memory.peak(0) == 130);
  CHECK(memory.free_bytes(0) == 40);
  CHECK(sim.timeline.ok());
  CHECK_FALSE(memory.anything_freed());  // nobody can wait under this policy
}

TEST_CASE("DeviceMemory: a full memory ends a run that may not wait", "[sim]") {
  PartCase sim = small_device();
  sim.arrive();
  DeviceMemory memory(sim.platform, MemoryPolicy::kFail, *sim.slots, sim.timeline, nullptr);
  const FixedList list;
  memory.set_inventory(&list);
  memory.allocate(0, 100, {MemoryUse::kTensor, 0, 0});
  CHECK(sim.timeline.ok());
  memory.allocate(0, 0, {MemoryUse::kTensor, 0, 1});
  CHECK(sim.timeline.ok());
  memory.allocate(0, 1, {MemoryUse::kTensor, 0, 1});
  CHECK_FALSE(sim.timeline.ok());
  CHECK(sim.error().find("'d0' is out of memory") != std::string::npos);
  CHECK(sim.error().find("a list") != std::string::npos);
}

TEST_CASE("DeviceMemory: a capacity of 0 is no limit", "[sim]") {
  PartCase sim = small_device();
  sim.platform.devices[0].memory_bytes = 0;
  sim.arrive();
  const DeviceMemory memory(sim.platform, MemoryPolicy::kWait, *sim.slots, sim.timeline, nullptr);
  CHECK(memory.fits(0, INT64_MAX));
  CHECK(memory.free_bytes(0) == INT64_MAX);
}

TEST_CASE("DeviceMemory: copies wait behind a task and behind other copies", "[sim]") {
  PartCase sim = small_device();
  sim.arrive();
  DeviceMemory memory(sim.platform, MemoryPolicy::kWait, *sim.slots, sim.timeline, nullptr);
  memory.allocate(0, 90, {MemoryUse::kTensor, 0, 0});
  CHECK_FALSE(memory.copy_must_wait(0, 10));
  CHECK(memory.copy_must_wait(0, 11));
  memory.block(0, 7);
  CHECK(memory.blocked(0) == 7);
  CHECK(memory.copy_must_wait(0, 1));
  sim.wait_until(25);
  CHECK(memory.unblock(0, 7) == 25);
  CHECK(memory.blocked(0) == kNoIndex);
  memory.waiting_copies(0).push_back(3);
  CHECK(memory.copy_must_wait(0, 1));
}

TEST_CASE("DeviceMemory: devices with freed memory are handed out once, ascending", "[sim]") {
  PartCase sim(3);
  sim.task(1);
  sim.arrive();
  DeviceMemory memory(sim.platform, MemoryPolicy::kWait, *sim.slots, sim.timeline, nullptr);
  memory.look_again(2);
  memory.allocate(0, 5, {MemoryUse::kTensor, 0, 0});
  memory.release(0, 5, {MemoryUse::kTensor, 0, 0});
  memory.look_again(2);
  CHECK(memory.take_freed() == std::vector<uint32_t>{0, 2});
  CHECK_FALSE(memory.anything_freed());
}

TEST_CASE("DeviceMemory: weights that overflow are an error", "[sim]") {
  PartCase sim = small_device();
  sim.arrive();
  DeviceMemory memory(sim.platform, MemoryPolicy::kTrack, *sim.slots, sim.timeline, nullptr);
  CHECK(memory.add_resident(0, 40).ok());
  CHECK(memory.resident(0) == 40);
  CHECK_FALSE(memory.add_resident(0, INT64_MAX).ok());
}
