// Fields by name and by role. A role is found once per class of events, because a trace has
// millions of events and few classes.
#include "datasets/traces/ctf/ctf_event.h"

#include <algorithm>
#include <span>

namespace dfsim::inline datasets {
namespace {

constexpr std::array kThreadNames = {std::string_view("vtid"), std::string_view("tid"),
                                     std::string_view("thread_id")};
constexpr std::array kCpuNames = {std::string_view("cpu_id")};
constexpr std::array kTimeNames = {std::string_view("timestamp"),
                                   std::string_view("gpu_timestamp")};
constexpr std::array kNameNames = {std::string_view("name"),
                                   std::string_view("op_name"),
                                   std::string_view("operation_name"),
                                   std::string_view("node_name"),
                                   std::string_view("kernel_name"),
                                   std::string_view("function_name"),
                                   std::string_view("funcname"),
                                   std::string_view("function"),
                                   std::string_view("cb_name"),
                                   std::string_view("cbid"),
                                   std::string_view("method"),
                                   std::string_view("tensor_name"),
                                   std::string_view("key"),
                                   std::string_view("rendezvous_key"),
                                   std::string_view("addr")};
constexpr std::array kTypeNames = {std::string_view("type"), std::string_view("op_type"),
                                   std::string_view("type_string")};
constexpr std::array kPlacementNames = {std::string_view("placement")};
constexpr std::array kCorrelationNames = {
    std::string_view("correlation_id"), std::string_view("correlationId"), std::string_view("id")};
constexpr std::array kDeviceNames = {std::string_view("device_id"), std::string_view("deviceId"),
                                     std::string_view("agent_handle")};
constexpr std::array kQueueNames = {std::string_view("stream_id"), std::string_view("streamId"),
                                    std::string_view("queue_id"), std::string_view("queue_handle")};
constexpr std::array kOperatorNames = {std::string_view("tf_name")};
constexpr std::array kObjectNames = {std::string_view("kernel_object")};

std::span<const std::string_view> names_of(CtfRole role) {
  switch (role) {
    case CtfRole::kThread:
      return kThreadNames;
    case CtfRole::kCpu:
      return kCpuNames;
    case CtfRole::kTime:
      return kTimeNames;
    case CtfRole::kName:
      return kNameNames;
    case CtfRole::kType:
      return kTypeNames;
    case CtfRole::kPlacement:
      return kPlacementNames;
    case CtfRole::kCorrelation:
      return kCorrelationNames;
    case CtfRole::kDevice:
      return kDeviceNames;
    case CtfRole::kQueue:
      return kQueueNames;
    case CtfRole::kOperator:
      return kOperatorNames;
    case CtfRole::kObject:
      return kObjectNames;
  }
  return {};
}

int64_t integer_of(const CtfField* field, int64_t otherwise) {
  return field == nullptr || field->kind != CtfField::Kind::kInteger ? otherwise : field->integer;
}

std::string_view text_of(const CtfField* field) {
  return field == nullptr || field->kind != CtfField::Kind::kText ? "" : field->text;
}

}  // namespace

void CtfShape::find_roles() {
  for (int role = 0; role < kCtfRoleCount; ++role) {
    roles[static_cast<size_t>(role)] = -1;
    for (const std::string_view wanted : names_of(static_cast<CtfRole>(role))) {
      const auto found = std::ranges::find(fields, wanted);
      if (found != fields.end()) {
        roles[static_cast<size_t>(role)] = static_cast<int16_t>(found - fields.begin());
        break;
      }
    }
  }
}

const CtfField* CtfEvent::find(std::initializer_list<std::string_view> names) const {
  for (const std::string_view wanted : names) {
    for (const CtfField& field : fields) {
      if (field.name == wanted) {
        return &field;
      }
    }
  }
  return nullptr;
}

const CtfField* CtfEvent::find(CtfRole role) const {
  const int16_t at = shape->roles[static_cast<size_t>(role)];
  return at < 0 ? nullptr : &fields[static_cast<size_t>(at)];
}

int64_t CtfEvent::integer(std::initializer_list<std::string_view> names, int64_t otherwise) const {
  return integer_of(find(names), otherwise);
}

int64_t CtfEvent::integer(CtfRole role, int64_t otherwise) const {
  return integer_of(find(role), otherwise);
}

std::string_view CtfEvent::text(std::initializer_list<std::string_view> names) const {
  return text_of(find(names));
}

std::string_view CtfEvent::text(CtfRole role) const { return text_of(find(role)); }

}  // namespace dfsim::inline datasets
