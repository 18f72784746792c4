// Size classes with four steps per doubling; small blocks are cut from slabs, large ones are mappings of their own.
#include "core/device/memory_pool.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>

#include "core/base/assert.h"
#include "core/base/cat.h"
#include "core/base/heap_limit.h"
#include "core/base/units.h"

namespace emplace {
namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kSlabBytes = kHugePage;
constexpr size_t kLargeBytes = size_t{256} << 10;  // from here on a block is a mapping of its own

size_t round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }

size_t whole_pages(size_t bytes) {
  return round_up(std::max<size_t>(bytes, 1), static_cast<size_t>(sysconf(_SC_PAGESIZE)));
}

// Class c holds blocks of (4 + c % 4) * 16 << (c / 4) bytes: 64, 80, 96, 112, 128, 160, ...
size_t class_bytes(int c) { return (size_t{4} + static_cast<size_t>(c % 4)) * 16 << (c / 4); }
int class_of(size_t bytes) {
  if (bytes <= 64) return 0;
  size_t units = (bytes - 1) >> 4;  // 64..: at least 4
  const int shift = static_cast<int>(std::bit_width(units)) - 3;
  return 4 * shift + static_cast<int>((units >> shift) - 4) + 1;
}

}  // namespace

Mapping Mapping::map(size_t bytes, HostUse use) {
  Mapping m;
  bool huge = bytes >= kHugePage;
  size_t wanted = whole_pages(bytes);
  size_t total = huge ? wanted + kHugePage : wanted;
  if (total < bytes) return m;
  HostShare share(use);
  if (!share.resize(static_cast<int64_t>(wanted)).ok()) return m;
  void* base = mmap(nullptr, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) return m;
  auto address = reinterpret_cast<uintptr_t>(base);
  m.share_ = std::move(share);
  m.map_base_ = base;
  m.map_size_ = total;
  m.data_ = reinterpret_cast<std::byte*>(huge ? round_up(address, kHugePage) : address);
  m.size_ = wanted;
  if (huge) madvise(m.data_, m.size_, MADV_HUGEPAGE);
  return m;
}

std::string Mapping::refusal(size_t bytes, HostUse use) {
  return HostMemory::of_process().refusal(use, static_cast<int64_t>(whole_pages(bytes)));
}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(share_, other.share_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(map_base_, other.map_base_);
  std::swap(map_size_, other.map_size_);
  return *this;
}

Mapping::~Mapping() {
  if (map_base_) munmap(map_base_, map_size_);
}

struct MemoryPool::FreeNodes {
  std::mutex mutex;
  std::vector<void*> free;
  size_t node_bytes = 0;
  HostShare share{HostUse::kPool};
  ~FreeNodes() {
    for (void* p : free) ::operator delete(p);
  }

  /// std::bad_alloc: the limit of host memory allows no more.
  void* make(size_t bytes) {
    constexpr int64_t kHead = 8;  // what the heap itself takes
    if (!share.resize(share.bytes() + static_cast<int64_t>(bytes) + kHead).ok()) throw std::bad_alloc();
    return ::operator new(bytes);
  }

  template <class T>
  struct Allocator {
    using value_type = T;
    explicit Allocator(std::shared_ptr<FreeNodes> n) : nodes(std::move(n)) {}
    template <class U>
    explicit Allocator(const Allocator<U>& other) : nodes(other.nodes) {}
    T* allocate(size_t) {
      std::lock_guard lock(nodes->mutex);
      if (nodes->free.empty()) return static_cast<T*>(nodes->make(sizeof(T)));
      void* p = nodes->free.back();
      nodes->free.pop_back();
      return static_cast<T*>(p);
    }
    void deallocate(T* p, size_t) {
      std::lock_guard lock(nodes->mutex);
      nodes->free.push_back(p);
    }
    template <class U>
    bool operator==(const Allocator<U>& other) const {
      return nodes == other.nodes;
    }
    std::shared_ptr<FreeNodes> nodes;
  };
};

class MemoryPool::PooledBuffer final : public Buffer {
 public:
  PooledBuffer(MemoryPool& pool, void* data, int size_class, bool persistent)
      : Buffer(data, class_bytes(size_class)), pool_(pool), size_class_(size_class), persistent_(persistent) {}
  ~PooledBuffer() override { pool_.give_back(data_, size_class_, persistent_); }

 private:
  MemoryPool& pool_;
  int size_class_;
  bool persistent_;
};

MemoryPool::MemoryPool(std::string device_name, std::string allocator_name, int64_t limit)
    : device_name_(std::move(device_name)),
      allocator_name_(std::move(allocator_name)),
      limit_(limit),
      nodes_(std::make_shared<FreeNodes>()) {}

int64_t MemoryPool::footprint(int64_t bytes) {
  return static_cast<int64_t>(class_bytes(class_of(static_cast<size_t>(bytes))));
}

MemoryPool::~MemoryPool() { EMPLACE_ASSERT(transient_ + persistent_ == 0, "a pool outlives its tensors"); }

Result<Tensor> MemoryPool::allocate(DType dtype, const Shape& shape, bool persistent) {
  if (dtype == DType::kString) return Tensor::allocate(dtype, shape);
  auto count = shape.checked_num_elements();
  int64_t bytes = 0;
  if (!count || __builtin_mul_overflow(*count, static_cast<int64_t>(storage_size(dtype)), &bytes)) {
    return invalid_argument(cat("shape ", shape.to_string(), " has too many elements"));
  }
  int size_class = class_of(static_cast<size_t>(bytes));
  void* data = size_class < kClasses ? take(size_class, persistent) : nullptr;
  if (!data && size_class < kClasses) {
    release_kept_memory();  // what other devices' pools keep is the host's memory as well
    data = take(size_class, persistent);
  }
  std::shared_ptr<Buffer> buffer = data ? buffer_of(data, size_class, persistent) : nullptr;
  if (!buffer) {
    return resource_exhausted(cat("OOM when allocating tensor with shape", shape.to_string(), " and type ",
                                  dtype_tf_name(dtype), " on ", device_name_, " by allocator ", allocator_name_, ": ",
                                  refusal(bytes)));
  }
  return Tensor::wrap(dtype, shape, data, std::move(buffer));
}

/// Null, and the block is given back, if there is no memory for what counts its holders.
std::shared_ptr<Buffer> MemoryPool::buffer_of(void* data, int size_class, bool persistent) {
  try {
    return std::allocate_shared<PooledBuffer>(FreeNodes::Allocator<PooledBuffer>(nodes_), *this, data, size_class,
                                              persistent);
  } catch (const std::bad_alloc&) {
    give_back(data, size_class, persistent);
    return nullptr;
  }
}

std::string MemoryPool::refusal(int64_t bytes) const {
  std::lock_guard lock(mutex_);
  const int64_t in_use = transient_ + persistent_ + block_bytes(), left = std::max<int64_t>(limit_ - in_use, 0);
  // What fits by itself did not fit as the block, or the slab of blocks, that it would have been in.
  const int64_t block = footprint(bytes);
  if (limit_ != 0 && left < block) {
    const int64_t asked = left < bytes ? bytes : block;
    return cat("asked for ", size_text(asked), ", ", size_text(left), " free of ", size_text(limit_), ": ",
               size_text(asked - left), " short; a smaller batch needs less");
  }
  const HostMemory& host = HostMemory::of_process();
  const int64_t free = host.limit() - host.in_use();
  return host.refusal(HostUse::kPool, free < bytes ? bytes : free < block ? block : int64_t{kSlabBytes});
}

void* MemoryPool::take(int size_class, bool persistent) {
  size_t size = class_bytes(size_class);
  auto need = static_cast<int64_t>(size);
  std::lock_guard lock(mutex_);
  const int64_t limit = bytes_allowed();
  if (need > limit - transient_ - persistent_ - block_bytes()) return nullptr;
  void* data = nullptr;
  if (auto& list = free_[static_cast<size_t>(size_class)]; !list.empty()) {
    data = list.back();
    list.pop_back();
  } else if (size >= kLargeBytes) {
    if (mapped_ + need > limit - block_bytes()) release_free_blocks();
    Mapping m = Mapping::map(size, HostUse::kPool);
    if (!m.valid()) {
      release_free_blocks();
      m = Mapping::map(size, HostUse::kPool);
    }
    if (!m.valid()) return nullptr;
    data = m.data();
    mapped_ += need;
    large_.push_back(std::move(m));
  } else {
    size_t step = round_up(size, kAlignment);
    if (slabs_.empty() || slab_used_ + step > slabs_.back().size()) {
      Mapping m = Mapping::map(slabs_.empty() ? kLargeBytes : kSlabBytes, HostUse::kPool);
      if (!m.valid()) return nullptr;
      slabs_.push_back(std::move(m));
      slab_used_ = 0;
    }
    data = slabs_.back().data() + slab_used_;
    slab_used_ += step;
  }
  (persistent ? persistent_ : transient_) += need;
  peak_transient_ = std::max(peak_transient_, transient_);
  return data;
}

int64_t MemoryPool::bytes_allowed() const { return limit_ ? limit_ : HostMemory::of_process().limit(); }

void MemoryPool::give_back(void* data, int size_class, bool persistent) {
  const HeapLimit no_limit = HeapLimit::none();  // destructors call this
  std::lock_guard lock(mutex_);
  (persistent ? persistent_ : transient_) -= static_cast<int64_t>(class_bytes(size_class));
  free_[static_cast<size_t>(size_class)].push_back(data);
}

void MemoryPool::release_free_blocks() {
  for (int c = class_of(kLargeBytes); c < kClasses; ++c) {
    auto& list = free_[static_cast<size_t>(c)];
    for (void* data : list) {
      std::erase_if(large_, [&](const Mapping& m) { return m.data() == data; });
      mapped_ -= static_cast<int64_t>(class_bytes(c));
    }
    list.clear();
  }
}

Status MemoryPool::map_block(int64_t bytes) {
  EMPLACE_ASSERT(!block_.valid(), "one block for all planned tensors of a device");
  if (bytes == 0) return ok_status();
  block_ = Mapping::map(static_cast<size_t>(bytes), HostUse::kPlanned);
  if (!block_.valid()) {
    return resource_exhausted(cat(device_name_, ": ", Mapping::refusal(static_cast<size_t>(bytes), HostUse::kPlanned)));
  }
  return ok_status();
}

int64_t MemoryPool::persistent_bytes() const {
  std::lock_guard lock(mutex_);
  return persistent_;
}

int64_t MemoryPool::peak_transient_bytes() const {
  std::lock_guard lock(mutex_);
  return peak_transient_;
}

bool MemoryPool::contains(const void* p) const {
  std::lock_guard lock(mutex_);
  auto has = [p](const Mapping& m) { return m.contains(p); };
  return block_.contains(p) || std::any_of(large_.begin(), large_.end(), has) ||
         std::any_of(slabs_.begin(), slabs_.end(), has);
}

}  // namespace emplace
