#include "core/tensor/text_meter.h"

#include <algorithm>

#include "core/base/cat.h"
#include "core/base/idle_memory.h"
#include "core/base/units.h"
#include "core/tensor/texts.h"

namespace emplace {

constinit thread_local TextMeter* TextMeter::current_ = nullptr;

void TextMeter::take(size_t bytes) {
  constexpr int64_t kPiece = int64_t{1} << 20;
  const auto more = static_cast<int64_t>(bytes);
  const int64_t net = net_.fetch_add(more, std::memory_order_relaxed) + more;
  if (net <= taken_.load(std::memory_order_relaxed)) return;
  const Scope nobody(nullptr);
  std::lock_guard lock(mutex_);
  const int64_t taken = share_.bytes();
  if (net <= taken) return;
  const auto is_refused = [&] {
    return !share_.resize(std::max(net, taken + kPiece)).ok() && !share_.resize(net).ok();
  };
  if (is_refused() && (release_kept_memory(), is_refused())) {
    net_.fetch_sub(more, std::memory_order_relaxed);
    const HostMemory& memory = HostMemory::of_process();
    const int64_t most = memory.limit(), free = std::max<int64_t>(most - memory.in_use(), 0);
    why_ = cat("out of host memory: ", size_text(net), " of texts so far, ", size_text(net - taken - free),
               " more than the limit of ", size_text(most), " allows; fewer or shorter texts need less");
    throw std::bad_alloc();
  }
  taken_.store(share_.bytes(), std::memory_order_relaxed);
}

void TextMeter::add(std::weak_ptr<Buffer> strings) {
  const Scope nobody(nullptr);
  std::lock_guard lock(mutex_);
  made_.push_back(std::move(strings));
}

Status TextMeter::refused() {
  if (why_.empty()) why_ = "out of host memory: the system has no more";
  return resource_exhausted(cat("OOM when making strings on the host: ", why_));
}

Status TextMeter::settle(Status status) {
  RETURN_IF_ERROR(share_.resize(0));  // from here on they are counted where they are
  for (const std::weak_ptr<Buffer>& made : made_) {
    if (const std::shared_ptr<Buffer> strings = made.lock(); strings && status.ok())
      status = recount_texts(strings.get());
  }
  return status;
}

}  // namespace emplace
