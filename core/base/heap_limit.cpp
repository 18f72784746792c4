#include "core/base/heap_limit.h"

#include "core/base/cat.h"
#include "core/base/heap.h"
#include "core/base/host_memory.h"
#include "core/base/units.h"

/// Of a sanitizer, if there is one in the program: its own memory is several times what it watches.
extern "C" [[gnu::weak]] size_t __sanitizer_get_heap_size();  // NOLINT: its name

namespace emplace {
namespace {

int64_t at_begin = 0;  // what the process had in memory

int64_t held() { return __sanitizer_get_heap_size ? 0 : private_memory() - at_begin; }

}  // namespace

constinit thread_local int64_t HeapLimit::left_ = INT64_MAX;

void HeapLimit::begin() { at_begin = private_memory(); }

void HeapLimit::look(size_t bytes) {
  left_ = INT64_MAX;  // for what is taken here, and for what is done about a refusal
  const int64_t most = HostMemory::of_process().limit(), more = static_cast<int64_t>(bytes);
  const auto left = [most] { return most - held(); };
  if (more > left()) return_free_heap();
  if (const int64_t room = left(); more > room) {
    throw HeapOverLimit(cat("out of host memory: asked for ", size_text(more), " for tables and texts, ",
                            size_text(room > 0 ? room : 0), " free of ", size_text(most), ": ",
                            size_text(more - (room > 0 ? room : 0)),
                            " short; a larger --host-memory-limit allows it, or a part of the graph needs less"));
  }
  left_ = kPiece;
}

}  // namespace emplace
