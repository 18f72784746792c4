/// What a card holds for this process: pages of pools, and the rest (context, code, memory of libraries), which no
/// limit bounds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/status.h"

namespace emplace::cuda {

/// Before the first context on a card (CUDA's ordinal) is made: remembers how much is free.
void note_card(int device);
/// A logical GPU begins on the card: the lowest place that no living one has.
int begin_on_card(int device);
void end_on_card(int device, int place);
/// Of the card's living logical GPUs, one tells what the card holds.
bool tells_of_card(int device, int place);
/// Pages were mapped behind a pool's addresses, or (negative) unmapped.
void count_pages(int device, int64_t bytes);
/// By NVML's count for this process, else by how much less is free than before. Nothing: neither can be had. REQUIRES:
/// the device is current.
std::optional<int64_t> card_overhead(int device);

/// "GPU-0123..."
Result<std::string> card_uuid(int device);

}  // namespace emplace::cuda
