#include "core/ops/kit/isa.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "core/ops/kit/byte_dots.h"
#include "core/ops/kit/isa_limit.h"

// What the C library found when the process began, where it tells. A program that has __builtin_cpu_supports() asks the
// processor again at every start, which takes a virtual machine a tenth of a millisecond.
#if __has_include(<sys/platform/x86.h>) && !defined(__clang__)  // which has no _Bool in C++
#include <sys/platform/x86.h>
#define EMPLACE_CPU_HAS(Feature, word) CPU_FEATURE_ACTIVE(Feature)
#else
#define EMPLACE_CPU_HAS(Feature, word) __builtin_cpu_supports(word)
#endif
#if defined(__clang__) && __clang_major__ < 16  // which do not know the word
#define EMPLACE_HAS_AVX_VNNI false
#else
#define EMPLACE_HAS_AVX_VNNI EMPLACE_CPU_HAS(AVX_VNNI, "avxvnni")
#endif

namespace emplace {
namespace {

// A processor with these has what else its level asks for.
bool has_v3() {
  return EMPLACE_CPU_HAS(AVX2, "avx2") && EMPLACE_CPU_HAS(FMA, "fma") && EMPLACE_CPU_HAS(BMI1, "bmi") &&
         EMPLACE_CPU_HAS(BMI2, "bmi2");
}
bool has_v4() {
  return has_v3() && EMPLACE_CPU_HAS(AVX512F, "avx512f") && EMPLACE_CPU_HAS(AVX512BW, "avx512bw") &&
         EMPLACE_CPU_HAS(AVX512CD, "avx512cd") && EMPLACE_CPU_HAS(AVX512DQ, "avx512dq") &&
         EMPLACE_CPU_HAS(AVX512VL, "avx512vl");
}

Isa detect() {
  const char* wish = std::getenv("EMPLACE_ISA");
  std::string_view limit = wish ? wish : "";
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

bool has_wide_byte_dots() { return isa() >= Isa::kV4 && EMPLACE_CPU_HAS(AVX512_VNNI, "avx512vnni"); }
bool has_byte_dots() { return isa() >= Isa::kV3 && EMPLACE_HAS_AVX_VNNI; }

std::optional<Isa> named_isa(std::string_view word) {
  if (word == "base") return Isa::kBase;
  if (word == "v3") return Isa::kV3;
  return {};
}

IsaLimit::IsaLimit(std::optional<Isa> limit) : before_(thread_limit) { thread_limit = limit; }
IsaLimit::~IsaLimit() { thread_limit = before_; }

}  // namespace emplace
