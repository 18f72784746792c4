#include "cuda/card_memory.h"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <mutex>
#include <set>

#include "cuda/error.h"
#include "cuda/nvml.h"

namespace emplace::cuda {
namespace {

struct Card {
  std::optional<int64_t> free_before;
  int64_t pages = 0;
  std::set<int> places;  // of living logical GPUs
};
std::mutex mutex;
std::map<int, Card> cards;  // guarded by mutex

/// Free memory of a card that this process has no context on: making one would take some of it.
std::optional<int64_t> free_without_context(int device) {
#ifdef EMPLACE_STANDIN
  cudaDeviceProp properties;
  if (cudaGetDeviceProperties(&properties, device) != cudaSuccess) return {};
  return static_cast<int64_t>(properties.totalGlobalMem);
#else
  Result<std::string> uuid = card_uuid(device);
  if (!uuid.ok()) return {};
  Result<CardUse> use = nvml_use(*uuid);
  return use.ok() ? std::optional(use->free) : std::nullopt;
#endif
}

}  // namespace

void note_card(int device) {
  std::lock_guard lock(mutex);
  auto [card, first] = cards.try_emplace(device);
  if (first) card->second.free_before = free_without_context(device);
}

int begin_on_card(int device) {
  std::lock_guard lock(mutex);
  int place = 0;
  while (!cards[device].places.insert(place).second) ++place;
  return place;
}

void end_on_card(int device, int place) {
  std::lock_guard lock(mutex);
  cards[device].places.erase(place);
}

bool tells_of_card(int device, int place) {
  std::lock_guard lock(mutex);
  return *cards[device].places.begin() == place;
}

void count_pages(int device, int64_t bytes) {
  std::lock_guard lock(mutex);
  cards[device].pages += bytes;
}

std::optional<int64_t> card_overhead(int device) {
  std::lock_guard lock(mutex);
  const Card& card = cards[device];
  Result<std::string> uuid = card_uuid(device);
  if (Result<CardUse> use = uuid.ok() ? nvml_use(*uuid) : Result<CardUse>(uuid.status());
      use.ok() && use->this_process > 0) {
    return std::max<int64_t>(0, use->this_process - card.pages);
  }
  size_t free = 0, total = 0;
  if (!card.free_before || cudaMemGetInfo(&free, &total) != cudaSuccess) return {};
  return std::max<int64_t>(0, *card.free_before - static_cast<int64_t>(free) - card.pages);
}

Result<std::string> card_uuid(int device) {
  cudaDeviceProp properties;
  CUDA_TRY(cudaGetDeviceProperties(&properties, device));
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    char hex[3];
    std::snprintf(hex, sizeof hex, "%02x", static_cast<unsigned char>(properties.uuid.bytes[i]));
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += hex;
  }
  return text;
}

}  // namespace emplace::cuda
