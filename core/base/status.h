/// Status and Result<T>: how everything that a user's file, flag or machine can cause is reported.
/// Codes and their numbers are TensorFlow's (tsl/protobuf/error_codes.proto).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace emplace {

enum class Code : int {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
  kUnauthenticated = 16,
};

/// "INVALID_ARGUMENT", as TensorFlow spells it.
std::string_view code_name(Code code);

/// Who has to change something for a failure to go away. Said where the failure arises; the exit code follows from it.
enum class Blame : uint8_t {
  kNone,       // not said: the code alone decides
  kUsage,      // the command line, the environment or a configuration file
  kFile,       // the graph file
  kData,       // a file of training data
  kPlacement,  // what the graph and the command line together ask of the devices
  kDevice,     // a device of this machine, its driver, or a library that it needs
  kMismatch,   // results that are not as the user wants them: unlike a reference, NaN or infinite
  kWrite,      // a file that cannot be written
};

/// One pointer wide; OK is the null pointer, so returning OK costs nothing.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message);
  Status(const Status& other);
  Status& operator=(const Status& other);
  Status(Status&&) noexcept = default;
  Status& operator=(Status&&) noexcept = default;

  bool ok() const { return failure_ == nullptr; }
  Code code() const { return failure_ ? failure_->code : Code::kOk; }
  const std::string& message() const;
  Blame blame() const { return failure_ ? failure_->blame : Blame::kNone; }
  /// The node whose kernel failed; empty if none did.
  const std::string& node() const;

  /// The same failure, with `context` and ": " before the message. OK stays OK.
  Status with_context(std::string_view context) const;
  /// The same failure with this blame, unless somebody closer to it has said another. OK stays OK.
  Status blamed(Blame blame) const;
  /// The same failure, of this node, unless one is named already. OK stays OK.
  Status at_node(std::string_view name) const;

 private:
  struct Failure {
    Code code;
    std::string message;
    Blame blame = Blame::kNone;
    std::string node = {};
  };
  struct Free {  // not inline: every place that returns early would free the message by itself
    void operator()(Failure* failure) const noexcept;
  };
  std::unique_ptr<Failure, Free> failure_;
};

inline Status ok_status() { return {}; }
Status invalid_argument(std::string message);
Status not_found(std::string message);
Status already_exists(std::string message);
Status failed_precondition(std::string message);
Status out_of_range(std::string message);
Status unimplemented(std::string message);
Status unavailable(std::string message);
Status resource_exhausted(std::string message);
Status internal_error(std::string message);

/// A value, or why there is none.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}          // NOLINT: meant to convert
  Result(Status status) : status_(std::move(status)) {}  // NOLINT: meant to convert

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }
  Status take_status() { return std::move(status_); }

  /// REQUIRES: ok().
  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }
  T take() { return std::move(*value_); }

 private:
  std::optional<T> value_;
  Status status_;
};

}  // namespace emplace

#define EMPLACE_CONCAT_(a, b) a##b
#define EMPLACE_CONCAT(a, b) EMPLACE_CONCAT_(a, b)

#define RETURN_IF_ERROR(expr)                          \
  do {                                                 \
    ::emplace::Status emplace_status_ = (expr);        \
    if (!emplace_status_.ok()) return emplace_status_; \
  } while (false)

/// ASSIGN_OR_RETURN(auto x, f()): x = f()'s value, or return f()'s status.
#define ASSIGN_OR_RETURN(lhs, expr) ASSIGN_OR_RETURN_(EMPLACE_CONCAT(emplace_result_, __LINE__), lhs, expr)
#define ASSIGN_OR_RETURN_(tmp, lhs, expr)  \
  auto tmp = (expr);                       \
  if (!tmp.ok()) return tmp.take_status(); \
  lhs = tmp.take()
