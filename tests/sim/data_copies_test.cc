#include "sim/data/data_copies.h"

#include <catch2/catch.hpp>

#include "tests/sim/part_case.h"

using namespace dfsim;

namespace {

// Task a on d0 makes one item that b and c on d1 read.
PartCase shared_item() {
  PartCase sim(3);
  const TaskId a = sim.task(1, 0);
  const TaskId b = sim.task(1, 1);
  const TaskId c = sim.task(1, 1);
  const DataId data = sim.edge(a, b, 10);
  sim.builder.add_edge(data, c);
  sim.build();
  return sim;
}

}  // namespace

TEST_CASE("DataCopies: later readers find the copy of their device", "[sim]") {
  const PartCase sim = shared_item();
  DataCopies copies(sim.graph, DataCopies::Keeping::kUntilDropped, true);
  copies.grow(0);
  CHECK(copies.find(0, 0, 1) == kNoIndex);
  const uint32_t copy = copies.add(0, 0, 1);
  const uint32_t other = copies.add(0, 0, 2);
  CHECK(copies.find(0, 0, 1) == copy);
  CHECK(copies.find(0, 0, 2) == other);
  CHECK_FALSE(copies.add_reader(copy, 0));
  CHECK_FALSE(copies.add_reader(copy, 1));
  CHECK(copies.arrive(copy) == 1);  // the latest reader comes first
  CHECK(copies.next_reader(0, 1) == 0);
  CHECK(copies.next_reader(0, 0) == kNoIndex);
  CHECK(copies.add_reader(copy, 0));  // the copy is there by now
  CHECK(copies.at(copy).readers_left == 3);
}

TEST_CASE("DataCopies: a dropped copy leaves the list, and its id is reused", "[sim]") {
  const PartCase sim = shared_item();
  DataCopies copies(sim.graph, DataCopies::Keeping::kUntilDropped, true);
  copies.grow(0);
  const uint32_t first = copies.add(0, 0, 1);
  const uint32_t second = copies.add(0, 0, 2);
  copies.drop(first);
  CHECK(copies.find(0, 0, 1) == kNoIndex);
  CHECK(copies.find(0, 0, 2) == second);
  CHECK(copies.add(0, 0, 1) == first);
  CHECK(copies.at(first).readers_left == 0);
}

TEST_CASE("DataCopies: a forgotten copy disappears when it arrives", "[sim]") {
  const PartCase sim = shared_item();
  DataCopies copies(sim.graph, DataCopies::Keeping::kUntilArrival, true);
  copies.grow(0);
  const uint32_t copy = copies.add(0, 0, 1);
  copies.add_reader(copy, 0);
  copies.forget(0, 0);
  CHECK(copies.find(0, 0, 1) == kNoIndex);
  CHECK(copies.arrive(copy) == 0);
  CHECK(copies.add(0, 0, 2) == copy);
}

TEST_CASE("DataCopies: each slot has its own copies", "[sim]") {
  const PartCase sim = shared_item();
  DataCopies copies(sim.graph, DataCopies::Keeping::kUntilDropped, true);
  copies.grow(1);
  const uint32_t copy = copies.add(1, 0, 1);
  CHECK(copies.find(0, 0, 1) == kNoIndex);
  CHECK(copies.find(1, 0, 1) == copy);
  copies.drop_all(1);
  CHECK(copies.find(1, 0, 1) == kNoIndex);
}

TEST_CASE("BookedArrivals: readers on one device share an arrival until it is forgotten", "[sim]") {
  BookedArrivals booked;
  booked.grow(2);
  CHECK(booked.find(1, 3) == nullptr);
  booked.add(1, 3, 70, 5);
  booked.add(1, 4, 90, 6);
  REQUIRE(booked.find(1, 3) != nullptr);
  CHECK(booked.find(1, 3)->time_ns == 70);
  CHECK(booked.find(1, 4)->sequence == 6);
  CHECK(booked.find(0, 3) == nullptr);
  booked.clear();
  CHECK(booked.find(1, 3) == nullptr);
}
