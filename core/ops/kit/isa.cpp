#include "core/ops/kit/isa.h"

#include <cstdlib>
#include <string_view>

namespace emplace {
namespace {

Isa detect() {
  const char* wish = std::getenv("EMPLACE_ISA");
  std::string_view limit = wish ? wish : "";
  __builtin_cpu_init();
  if (limit == "base" || !__builtin_cpu_supports("x86-64-v3")) return Isa::kBase;
  if (limit == "v3" || !__builtin_cpu_supports("x86-64-v4")) return Isa::kV3;
  return Isa::kV4;
}

}  // namespace

Isa isa() {
  static const Isa kFound = detect();
  return kFound;
}

}  // namespace emplace
