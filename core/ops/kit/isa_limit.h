/// IsaLimit: kernels as another processor would run them, for comparing the two in one process.
#pragma once

#include <optional>
#include <string_view>

namespace emplace {

enum class Isa;  // core/ops/kit/isa.h, whose source has the functions below

/// The level that EMPLACE_ISA calls "base" or "v3"; nothing for other words.
std::optional<Isa> named_isa(std::string_view word);

/// While alive, isa() is at most this on the thread that made it: for kernels that the thread makes and, as some ask
/// when they run, runs by itself.
class IsaLimit {
 public:
  explicit IsaLimit(std::optional<Isa> limit);
  ~IsaLimit();
  IsaLimit(const IsaLimit&) = delete;
  IsaLimit& operator=(const IsaLimit&) = delete;

 private:
  const std::optional<Isa> before_;
};

}  // namespace emplace
