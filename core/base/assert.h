/// EMPLACE_ASSERT(condition, "why this holds"): for our own bugs, never for a user's input.
/// Checked in every build; a failure prints where and why, and aborts.
#pragma once

namespace emplace {
[[noreturn]] void assert_failed(const char* condition, const char* why, const char* file, int line);
}  // namespace emplace

#define EMPLACE_ASSERT(condition, why) \
  ((condition) ? static_cast<void>(0) : ::emplace::assert_failed(#condition, why, __FILE__, __LINE__))
