#include "core/base/host_memory.h"

#include <algorithm>

#include "core/base/cat.h"
#include "core/base/idle_memory.h"
#include "core/base/units.h"

namespace emplace {
namespace {

constexpr std::array<std::string_view, 6> kUseNames = {"the graph", "constants",       "feeds",
                                                       "data",      "planned tensors", "other tensors"};
constexpr std::array<std::string_view, 6> kRemedies = {
    "a part of the graph needs less", "smaller constants need less",
    "smaller feeds need less",        "fewer samples, or an element type with fewer bytes in the file, need less",
    "a smaller batch needs less",     "a smaller batch needs less",
};

/// The default limit: what was free at the start, less 1/16 for memory that is not counted here and for other
/// processes.
int64_t less_a_margin(int64_t free) { return free - free / 16; }

}  // namespace

thread_local HostUse HostUseScope::current_ = HostUse::kPool;

HostMemory& HostMemory::of_process() {
  static HostMemory memory;
  return memory;
}

int64_t HostMemory::limit() const {
  const int64_t known = limit_.load(std::memory_order_relaxed);
  if (known > 0) return known;
  static const int64_t measured = less_a_margin(free_host_memory());
  return measured;
}

int64_t HostMemory::in_use_by_input() const {
  return in_use(HostUse::kGraph) + in_use(HostUse::kConstants) + in_use(HostUse::kFeeds) + in_use(HostUse::kData);
}

bool HostMemory::try_take(HostUse use, int64_t bytes) {
  const int64_t most = limit();
  int64_t held = in_use_.load(std::memory_order_relaxed);
  do {
    if (bytes > most - held) return false;
  } while (!in_use_.compare_exchange_weak(held, held + bytes, std::memory_order_relaxed));
  uses_[static_cast<size_t>(use)].fetch_add(bytes, std::memory_order_relaxed);
  trim_idle(held + bytes, most);
  return true;
}

Status HostMemory::take(HostUse use, int64_t bytes) {
  return try_take(use, bytes) ? ok_status() : resource_exhausted(refusal(use, bytes));
}

void HostMemory::give_back(HostUse use, int64_t bytes) {
  in_use_.fetch_sub(bytes, std::memory_order_relaxed);
  uses_[static_cast<size_t>(use)].fetch_sub(bytes, std::memory_order_relaxed);
  note_idle(bytes);
}

std::string HostMemory::refusal(HostUse use, int64_t bytes) const {
  const int64_t most = limit(), left = std::max<int64_t>(most - in_use(), 0);
  const bool over = bytes > left;  // else the system refused, or another thread has given back since
  std::string text =
      cat("out of host memory: asked for ", size_text(bytes), " for ", kUseNames[static_cast<size_t>(use)], ", ");
  append(text, over ? cat(size_text(left), " free of ", size_text(most), ": ", size_text(bytes - left), " short")
                    : "which the system does not give");
  std::string_view before = "; held: ";
  for (size_t i = 0; i < kUseNames.size(); ++i) {
    const int64_t held = uses_[i].load(std::memory_order_relaxed);
    if (held <= 0) continue;
    append(text, before, kUseNames[i], " ", size_text(held));
    before = ", ";
  }
  if (over && limit_.load(std::memory_order_relaxed) > 0 && bytes <= less_a_margin(free_host_memory())) {
    constexpr int64_t kStep = kMiB;
    return append(text, "; --host-memory-limit ", (in_use() + bytes + kStep - 1) / kStep, "MiB allows it"), text;
  }
  return append(text, "; ", kRemedies[static_cast<size_t>(use)]), text;
}

Status HostShare::resize(int64_t bytes) {
  HostMemory& memory = HostMemory::of_process();
  if (bytes > bytes_) {
    RETURN_IF_ERROR(memory.take(use_, bytes - bytes_));
  } else {
    memory.give_back(use_, bytes_ - bytes);
  }
  bytes_ = bytes;
  return ok_status();
}

}  // namespace emplace
