// Where data is, for online policies.
#include "sim/engine/policy_view.h"

namespace dfsim::inline sim {

bool PolicyView::has_data(DataId data, DeviceId device) const {
  const uint32_t producer = slots_.instance(slot_, graph_.data_producer(data).value());
  if (!tasks_.has(producer, kFinished)) {
    return false;
  }
  if (tasks_.device_of(producer) == device.value()) {
    return spill_ == nullptr || spill_->produced_data_on_device(data.value());
  }
  const uint32_t copy = copies_.find(slot_, data.value(), device.value());
  return copy != kNoIndex && copies_.at(copy).present &&
         (spill_ == nullptr || spill_->copy_on_device(copy));
}

}  // namespace dfsim::inline sim
