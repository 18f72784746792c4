#include "core/ops/kit/isa.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "core/ops/kit/isa_limit.h"

namespace emplace {
namespace {

// clang++ before 17 knows no levels by name. A processor with these has what else its level asks for.
#ifdef __clang__
bool has_v3() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
         __builtin_cpu_supports("bmi2");
}
bool has_v4() {
  return has_v3() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
#else
bool has_v3() { return __builtin_cpu_supports("x86-64-v3"); }
bool has_v4() { return __builtin_cpu_supports("x86-64-v4"); }
#endif

Isa detect() {
  const char* wish = std::getenv("EMPLACE_ISA");
  std::string_view limit = wish ? wish : "";
  __builtin_cpu_init();
  if (limit == "base" || !has_v3()) return Isa::kBase;
  if (limit == "v3" || !has_v4()) return Isa::kV3;
  return Isa::kV4;
}

thread_local std::optional<Isa> thread_limit;

}  // namespace

Isa isa() {
  static const Isa kFound = detect();
  return thread_limit ? std::min(*thread_limit, kFound) : kFound;
}

std::optional<Isa> named_isa(std::string_view word) {
  if (word == "base") return Isa::kBase;
  if (word == "v3") return Isa::kV3;
  return {};
}

IsaLimit::IsaLimit(std::optional<Isa> limit) : before_(thread_limit) { thread_limit = limit; }
IsaLimit::~IsaLimit() { thread_limit = before_; }

}  // namespace emplace
