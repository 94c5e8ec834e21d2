// Start, finish and delivery of data, as allocations and releases.
#include "sim/data/tensor_lifetimes.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "base/text.h"

namespace dfsim::inline sim {

TensorLifetimes::TensorLifetimes(const ExecGraph& graph, const Platform& platform,
                                 const RequestSlots& slots, TaskTable& tasks, DataCopies& copies,
                                 DeviceMemory& memory, Spill* spill, const Timeline& timeline,
                                 bool readers_known)
    : graph_(graph),
      platform_(platform),
      slots_(slots),
      tasks_(tasks),
      copies_(copies),
      memory_(memory),
      spill_(spill),
      timeline_(timeline),
      readers_known_(readers_known),
      data_count_(static_cast<uint32_t>(graph.data_count())),
      data_offsets_(graph.task_count() + 1, 0),
      data_of_(graph.data_count()) {
  for (uint32_t d = 0; d < data_count_; ++d) {
    ++data_offsets_[graph_.data_producer(DataId(d)).index() + 1];
  }
  for (uint32_t t = 0; t < graph.task_count(); ++t) {
    data_offsets_[t + 1] += data_offsets_[t];
  }
  std::vector<uint32_t> cursor(data_offsets_.begin(), data_offsets_.end() - 1);
  for (uint32_t d = 0; d < data_count_; ++d) {
    data_of_[cursor[graph_.data_producer(DataId(d)).index()]++] = d;
  }
}

void TensorLifetimes::reset(uint32_t slot) {
  const size_t data = (slot + size_t{1}) * data_count_;
  if (readers_left_.size() < data) {
    readers_left_.resize(data);
  }
  std::fill_n(readers_left_.begin() + static_cast<ptrdiff_t>(data - data_count_), data_count_, 0);
  for (const Edge& edge : graph_.edges()) {
    ++readers_left_[data_instance(slot, edge.data.value())];
  }
}

Status TensorLifetimes::allocate_weights(const std::vector<uint32_t>& placement) {
  for (uint32_t t = 0; t < placement.size() && timeline_.ok(); ++t) {
    const Bytes bytes = graph_.resident_bytes(TaskId(t));
    DFSIM_RETURN_IF_ERROR(memory_.add_resident(placement[t], bytes));
    memory_.allocate(placement[t], bytes, {MemoryUse::kResident, kNoIndex, t});
  }
  DFSIM_RETURN_IF_ERROR(timeline_.error());
  // Before a run that waits for memory: a task that never fits would wait for good.
  for (uint32_t t = 0; memory_.waits() && t < placement.size(); ++t) {
    DFSIM_RETURN_IF_ERROR(check_fits_ever(t, placement[t]));
  }
  return ok_status();
}

Status TensorLifetimes::allocate_weights_of(uint32_t task, uint32_t device) {
  const size_t devices = platform_.devices.size();
  if (weights_there_.empty()) {
    weights_there_.resize(graph_.task_count() * devices, false);
  }
  const size_t index = task * devices + device;
  const bool there = weights_there_[index];
  weights_there_[index] = true;
  const Bytes bytes = graph_.resident_bytes(TaskId(task));
  if (!there) {
    DFSIM_RETURN_IF_ERROR(memory_.add_resident(device, bytes));
  }
  if (memory_.waits()) {
    DFSIM_RETURN_IF_ERROR(check_fits_ever(task, device));
  }
  if (!there) {
    memory_.allocate(device, bytes, {MemoryUse::kResident, kNoIndex, task});
  }
  return timeline_.error();
}

Bytes TensorLifetimes::bytes_for_start(uint32_t task) const {
  Bytes bytes = graph_.workspace_bytes(TaskId(task));
  for (uint32_t i = data_offsets_[task]; i < data_offsets_[task + 1]; ++i) {
    bytes += graph_.data_bytes(DataId(data_of_[i]));
  }
  return bytes;
}

// The task must fit next to the weights with its inputs and outputs.
Status TensorLifetimes::check_fits_ever(uint32_t task, uint32_t device) const {
  const Bytes resident = memory_.resident(device);
  Count needed = Count(bytes_for_start(task)) + Count(resident);
  for (const uint32_t e : graph_.in_edge_indices(TaskId(task))) {
    needed += graph_.edge_bytes(graph_.edges()[e]);
  }
  const Bytes capacity = memory_.capacity(device);
  if (capacity == 0 || (!needed.overflowed() && needed.value() <= capacity)) {
    return ok_status();
  }
  return invalid_input(fmt::format(
      "task '{}' needs {} on '{}' (inputs, outputs, workspace and the {} of weights there), which "
      "has {}; place it on a larger device",
      printable(graph_.name(TaskId(task))), format_bytes(needed.value()),
      printable(platform_.devices[device].name), format_bytes(resident), format_bytes(capacity)));
}

bool TensorLifetimes::admit(uint32_t instance, uint32_t d) {
  if (memory_.waits()) {
    const uint32_t task = slots_.task_of(instance);
    const Bytes bytes = bytes_for_start(task);
    if (!(spill_ != nullptr ? spill_->make_room(d, bytes, task) : memory_.fits(d, bytes))) {
      memory_.block(d, instance);
      return false;
    }
    tasks_.waited_for_memory(instance, memory_.unblock(d, instance));
  }
  allocate_for_start(instance, d);
  return timeline_.ok();
}

void TensorLifetimes::allocate_for_start(uint32_t instance, uint32_t device) {
  const uint32_t task = slots_.task_of(instance);
  const uint32_t slot = slots_.slot_of(instance);
  for (uint32_t i = data_offsets_[task]; i < data_offsets_[task + 1]; ++i) {
    memory_.allocate(device, graph_.data_bytes(DataId(data_of_[i])),
                     {MemoryUse::kTensor, slot, data_of_[i]});
  }
  memory_.allocate(device, graph_.workspace_bytes(TaskId(task)),
                   {MemoryUse::kWorkspace, slot, task});
  if (spill_ != nullptr) {
    spill_->pin_inputs(task, device, 1);
  }
}

void TensorLifetimes::task_finished(uint32_t instance, uint32_t device) {
  const uint32_t task = slots_.task_of(instance);
  const uint32_t slot = slots_.slot_of(instance);
  memory_.release(device, graph_.workspace_bytes(TaskId(task)),
                  {MemoryUse::kWorkspace, slot, task});
  if (spill_ != nullptr) {
    spill_->pin_inputs(task, device, -1);
  }
  for (const uint32_t e : graph_.in_edge_indices(TaskId(task))) {
    const Edge& edge = graph_.edges()[e];
    const uint32_t data = edge.data.value();
    if (tasks_.device_of(instance - task + edge.from.value()) == device) {
      reader_served(slot, data);
      continue;
    }
    const uint32_t copy = copies_.find(slot, data, device);
    if (copy != kNoIndex && copies_.reader_finished(copy) &&
        (readers_known_ || readers_left_[data_instance(slot, data)] == 0)) {
      drop_copy(copy);
    }
  }
  for (uint32_t i = data_offsets_[task]; i < data_offsets_[task + 1]; ++i) {
    const uint32_t data = data_of_[i];
    if (readers_left_[data_instance(slot, data)] == 0 && graph_.data_bytes(DataId(data)) > 0) {
      drop_produced(slot, data);  // nobody reads it
    } else if (spill_ != nullptr) {
      spill_->came_to_device(data, device);
    }
  }
}

void TensorLifetimes::reader_served(uint32_t slot, uint32_t data) {
  if (--readers_left_[data_instance(slot, data)] > 0) {
    return;
  }
  drop_produced(slot, data);
  for (uint32_t copy = copies_.first(slot, data); copy != kNoIndex;) {
    const DataCopy& at = copies_.at(copy);
    const uint32_t next = at.next;
    if (at.present && at.readers_left == 0) {
      drop_copy(copy);
    }
    copy = next;
  }
}

void TensorLifetimes::drop(uint32_t data, uint32_t device) {
  const uint32_t copy =
      tasks_.producer_device(0, data) == device ? kNoIndex : copies_.find(0, data, device);
  if (copy == kNoIndex) {
    drop_produced(0, data);
  } else {
    drop_copy(copy);
  }
}

// Frees a tensor that no reader needs where it was produced; the graph's outputs stay.
void TensorLifetimes::drop_produced(uint32_t slot, uint32_t data) {
  const uint32_t device = tasks_.producer_device(slot, data);
  if (graph_.data_is_output(DataId(data))) {
    if (spill_ != nullptr) {
      spill_->came_to_device(data, device);
    }
    return;
  }
  if (spill_ == nullptr || spill_->drop_produced(data, device)) {
    memory_.release(device, graph_.data_bytes(DataId(data)), {MemoryUse::kTensor, slot, data});
  }
}

// Frees a copy that no reader needs any more.
void TensorLifetimes::drop_copy(uint32_t id) {
  if (spill_ != nullptr && spill_->copy_dies_on_the_way(id)) {
    return;
  }
  copies_.drop(id);
  const DataCopy& copy = copies_.at(id);  // as it was: nobody has taken the id yet
  if (spill_ == nullptr || spill_->drop_copy(id, copy.data, copy.device)) {
    memory_.release(copy.device, graph_.data_bytes(DataId(copy.data)),
                    {MemoryUse::kCopy, copy.slot, copy.data});
  }
}

void TensorLifetimes::free_outputs(uint32_t slot) {
  for (uint32_t d = 0; d < data_count_; ++d) {
    if (graph_.data_is_output(DataId(d))) {
      memory_.release(tasks_.producer_device(slot, d), graph_.data_bytes(DataId(d)),
                      {MemoryUse::kTensor, slot, d});
    }
  }
}

std::string TensorLifetimes::holdings(uint32_t device) const {
  std::vector<std::pair<Bytes, uint32_t>> held;
  for (uint32_t i = 0; i < tasks_.size(); ++i) {
    const uint32_t t = slots_.task_of(i);
    const uint32_t slot = slots_.slot_of(i);
    const bool here = tasks_.device_of(i) == device;
    const bool produced = tasks_.has(i, kStarted);
    for (uint32_t k = data_offsets_[t]; produced && k < data_offsets_[t + 1]; ++k) {
      const uint32_t data = data_of_[k];
      const bool alive = readers_left_[data_instance(slot, data)] > 0 ||
                         graph_.data_is_output(DataId(data)) || !tasks_.has(i, kFinished);
      if ((here && alive) || copies_.find(slot, data, device) != kNoIndex) {
        held.emplace_back(graph_.data_bytes(DataId(data)), t);
      }
    }
  }
  constexpr size_t kMostListed = 10;
  std::sort(held.begin(), held.end(), std::greater<>());
  std::vector<std::string> parts{fmt::format("weights {}", format_bytes(memory_.resident(device)))};
  for (size_t i = 0; i < std::min(held.size(), kMostListed); ++i) {
    parts.push_back(fmt::format("output of '{}' {}",
                                printable(graph_.name(TaskId(held[i].second)), 40),
                                format_bytes(held[i].first)));
  }
  if (held.size() > kMostListed) {
    parts.push_back(fmt::format("{} smaller tensors", held.size() - kMostListed));
  }
  return join(parts, ", ");
}

Status TensorLifetimes::deadlock() const {
  for (uint32_t d = 0; d < platform_.devices.size(); ++d) {
    const uint32_t blocked = memory_.blocked(d);
    if (blocked == kNoIndex && memory_.waiting_copies(d).empty()) {
      continue;
    }
    std::string waiting;
    if (blocked == kNoIndex) {
      const DataId data(copies_.at(memory_.waiting_copies(d).front()).data);
      waiting = fmt::format("a copy of {}", format_bytes(graph_.data_bytes(data)));
    } else {
      waiting = fmt::format("task '{}'", printable(graph_.name(TaskId(slots_.task_of(blocked)))));
    }
    return failed(fmt::format(
        "'{}' is out of memory for good: {} waits for room in {}, which nothing will free; it "
        "holds {}; use a larger device, fewer requests in flight or memory policy 'spill'",
        printable(platform_.devices[d].name), waiting, format_bytes(memory_.capacity(d)),
        holdings(d)));
  }
  return ok_status();
}

}  // namespace dfsim::inline sim
