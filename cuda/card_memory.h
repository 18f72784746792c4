/// What a card holds for this process: pages of pools, and the rest (context, code, memory of libraries), which no
/// limit bounds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/status.h"

namespace emplace::cuda {

/// Before the first context on a card (CUDA's ordinal) is made; remembers how much is free. Is it the first?
bool begin_card(int device);
/// Pages were mapped behind a pool's addresses, or (negative) unmapped.
void count_pages(int device, int64_t bytes);
/// By NVML's count for this process, else by how much less is free than before. Nothing: neither can be had. REQUIRES:
/// the device is current.
std::optional<int64_t> card_overhead(int device);

/// "GPU-0123..."
Result<std::string> card_uuid(int device);

}  // namespace emplace::cuda
