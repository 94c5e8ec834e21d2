// Status and StatusOr<T>: how libraries of dfsim report that something could not be done.
//
// Purpose: errors about files, configuration and models travel as values; assertions are kept for
//   bugs of our own, exceptions of third parties are caught in the file that adapts them.
// Message style: `place: what was found, what was expected; what to do`, one line, no trailing dot.
// Only cli/ turns a Status into an exit code (see exit_code_for in cli/exit_codes.h).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"

namespace dfsim::inline base {

enum class StatusCode {
  kOk,
  kInvalidInput,  // a file, option or model is malformed, contradictory or out of range
  kNotFound,      // a file or a name does not exist
  kUnsupported,   // well-formed, but something dfsim does not do
  kFailed,        // the input was fine, the work could not be completed
};

// Cheap to move; an OK status holds no message.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  const std::string& message() const { return message_; }

  // Returns this status with "place: " put before its message; OK stays OK.
  Status with_place(std::string_view place) const;

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
};

inline Status ok_status() { return Status(); }
Status invalid_input(std::string message);
Status not_found(std::string message);
Status unsupported(std::string message);
Status failed(std::string message);

// Either a T or the Status that says why there is none.
template <typename T>
class [[nodiscard]] StatusOr {
 public:
  StatusOr(T value) : value_(std::move(value)) {}                                       // NOLINT
  StatusOr(Status status) : status_(std::move(status)) { DFSIM_CHECK(!status_.ok()); }  // NOLINT

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }

  const T& value() const& {
    DFSIM_CHECK(ok());
    return *value_;
  }
  T& value() & {
    DFSIM_CHECK(ok());
    return *value_;
  }
  T&& value() && {
    DFSIM_CHECK(ok());
    return std::move(*value_);
  }
  const T& operator*() const& { return value(); }
  T& operator*() & { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  const T* operator->() const { return &value(); }
  T* operator->() { return &value(); }

 private:
  std::optional<T> value_;
  Status status_;
};

}  // namespace dfsim::inline base

#define DFSIM_CONCAT_INNER(a, b) a##b
#define DFSIM_CONCAT(a, b) DFSIM_CONCAT_INNER(a, b)

// Returns from the enclosing function when `expr` (a Status) is not OK.
#define DFSIM_RETURN_IF_ERROR(expr)                        \
  do {                                                     \
    if (::dfsim::Status status_ = (expr); !status_.ok()) { \
      return status_;                                      \
    }                                                      \
  } while (false)

// `DFSIM_ASSIGN_OR_RETURN(auto x, f())`: x = value of f(), or return f()'s status.
#define DFSIM_ASSIGN_OR_RETURN(decl, expr) \
  DFSIM_ASSIGN_OR_RETURN_INNER(DFSIM_CONCAT(status_or_, __LINE__), decl, expr)
#define DFSIM_ASSIGN_OR_RETURN_INNER(tmp, decl, expr) \
  auto tmp = (expr);                                  \
  if (!tmp.ok()) {                                    \
    return tmp.status();                              \
  }                                                   \
  decl = std::move(tmp).value()
