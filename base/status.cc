#include "base/status.h"

namespace dfsim::inline base {

Status Status::with_place(std::string_view place) const {
  if (ok()) {
    return *this;
  }
  std::string message(place);
  message += ": ";
  message += message_;
  return Status(code_, std::move(message));
}

Status invalid_input(std::string message) {
  return Status(StatusCode::kInvalidInput, std::move(message));
}
Status not_found(std::string message) { return Status(StatusCode::kNotFound, std::move(message)); }
Status unsupported(std::string message) {
  return Status(StatusCode::kUnsupported, std::move(message));
}
Status failed(std::string message) { return Status(StatusCode::kFailed, std::move(message)); }

}  // namespace dfsim::inline base
