#include "core/base/status.h"

#include <array>

namespace emplace {

std::string_view code_name(Code code) {
  static constexpr std::array<std::string_view, 17> kNames = {
      "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
      "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
      "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
      "DATA_LOSS", "UNAUTHENTICATED"};
  return kNames[static_cast<size_t>(code)];
}

void Status::Free::operator()(Failure* failure) const noexcept { delete failure; }

Status::Status(Code code, std::string message) : failure_(new Failure{code, std::move(message)}) {}

Status::Status(const Status& other) : failure_(other.failure_ ? new Failure(*other.failure_) : nullptr) {}

Status& Status::operator=(const Status& other) {
  if (this != &other) failure_.reset(other.failure_ ? new Failure(*other.failure_) : nullptr);
  return *this;
}

const std::string& Status::message() const {
  static const std::string kEmpty;
  return failure_ ? failure_->message : kEmpty;
}

const std::string& Status::node() const {
  static const std::string kNone;
  return failure_ ? failure_->node : kNone;
}

Status Status::with_context(std::string_view context) const {
  Status with = *this;
  if (!ok()) with.failure_->message = std::string(context) + ": " + message();
  return with;
}

Status Status::blamed(Blame blame) const {
  Status with = *this;
  if (!ok() && with.failure_->blame == Blame::kNone) with.failure_->blame = blame;
  return with;
}

Status Status::at_node(std::string_view name) const {
  Status with = *this;
  if (!ok() && with.failure_->node.empty()) with.failure_->node = name;
  return with;
}

Status invalid_argument(std::string message) { return {Code::kInvalidArgument, std::move(message)}; }
Status not_found(std::string message) { return {Code::kNotFound, std::move(message)}; }
Status already_exists(std::string message) { return {Code::kAlreadyExists, std::move(message)}; }
Status failed_precondition(std::string message) { return {Code::kFailedPrecondition, std::move(message)}; }
Status out_of_range(std::string message) { return {Code::kOutOfRange, std::move(message)}; }
Status unimplemented(std::string message) { return {Code::kUnimplemented, std::move(message)}; }
Status unavailable(std::string message) { return {Code::kUnavailable, std::move(message)}; }
Status resource_exhausted(std::string message) { return {Code::kResourceExhausted, std::move(message)}; }
Status internal_error(std::string message) { return {Code::kInternal, std::move(message)}; }

}  // namespace emplace
