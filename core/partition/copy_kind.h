/// CopyKind: what a copy of a program is for. The one definition of copies: who counts, shows or gates some asks here.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/partition/program.h"

namespace emplace {

enum class CopyKind : uint8_t {
  kEdge,        // between devices: what people call a copy
  kInside,      // between a GPU's memory and what its kernels keep in the host's
  kFeed,        // of a fed tensor, to a device
  kFetch,       // of a fetched tensor, to the host
  kVariable,    // before the first step: first values, a checkpoint's
  kCollective,  // among devices that reduce or gather together
};
inline constexpr int kCopyKindCount = 6;

constexpr std::string_view copy_kind_name(CopyKind kind) {
  constexpr std::string_view kNames[kCopyKindCount] = {"edge", "inside", "feed", "fetch", "variable", "collective"};
  return kNames[static_cast<int>(kind)];
}

/// Of a copy instruction that a step runs. REQUIRES: kCopy.
inline CopyKind copy_kind(const Program& program, const Instruction& copy) {
  const PlacedValue& from = program.values[program.inputs(copy)[0]];
  const PlacedValue& to = program.values[program.outputs(copy)[0]];
  if (from.producer == kNoInstruction) return CopyKind::kFeed;
  return from.device == to.device ? CopyKind::kInside : CopyKind::kEdge;
}

}  // namespace emplace
