/// MemoryPool: the memory of one device: one block that planned tensors share, and blocks for everything else, both
/// counted against the device's limit. A device's tensors come from here only, so an address tells whose it is.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/base/host_memory.h"
#include "core/base/idle_memory.h"
#include "core/device/device_pool.h"

namespace emplace {

/// Whole pages from the system, aligned to 2 MiB and backed by huge pages where they are that large.
class Mapping {
 public:
  Mapping() = default;
  /// Not valid() if the limit of host memory or the system refuses it. Counts as `use` until it is gone.
  static Mapping map(size_t bytes, HostUse use);
  /// Why map() was refused: so many bytes are whole pages.
  static std::string refusal(size_t bytes, HostUse use);
  Mapping(Mapping&& other) noexcept { *this = std::move(other); }
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();

  bool valid() const { return data_ != nullptr; }
  std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  bool contains(const void* p) const { return p >= data_ && p < data_ + size_; }

 private:
  HostShare share_{HostUse::kPool};
  std::byte* data_ = nullptr;
  size_t size_ = 0;
  void* map_base_ = nullptr;  // what the system gave, alignment included
  size_t map_size_ = 0;
};

/// Thread-safe. Must outlive its tensors.
class MemoryPool final : public DevicePool {
 public:
  /// `limit` in bytes, 0: none but what the machine has.
  MemoryPool(std::string device_name, std::string allocator_name, int64_t limit);
  ~MemoryPool() override;

  /// Blocks are kept for reuse: after a warm-up nothing is asked of the system. Strings come from the heap.
  /// ResourceExhausted in TensorFlow's words.
  Result<Tensor> allocate(DType dtype, const Shape& shape) override { return allocate(dtype, shape, false); }
  Result<Tensor> allocate_persistent(DType dtype, const Shape& shape) override { return allocate(dtype, shape, true); }

  Status map_block(int64_t bytes) override;
  std::byte* block() const override { return block_.data(); }

  /// What a tensor of so many bytes takes of a pool.
  static int64_t footprint(int64_t bytes);

  int64_t limit() const override { return limit_; }
  int64_t block_bytes() const override { return static_cast<int64_t>(block_.size()); }
  int64_t persistent_bytes() const override;
  int64_t peak_transient_bytes() const override;
  bool contains(const void* p) const;
  const std::string& device_name() const override { return device_name_; }

 private:
  class PooledBuffer;
  struct FreeNodes;  // control blocks of shared buffers, reused: a tensor then costs no malloc
  static constexpr int kClasses = 4 * 48;

  Result<Tensor> allocate(DType dtype, const Shape& shape, bool persistent);
  void* take(int size_class, bool persistent);
  std::shared_ptr<Buffer> buffer_of(void* data, int size_class, bool persistent);
  int64_t bytes_allowed() const;
  std::string refusal(int64_t bytes) const;  // why so many are not to be had
  void give_back(void* data, int size_class, bool persistent);
  void release_free_blocks();

  // Constant after construction.
  std::string device_name_, allocator_name_;
  int64_t limit_;
  Mapping block_;

  mutable std::mutex mutex_;
  // Guarded by mutex_.
  std::array<std::vector<void*>, kClasses> free_;
  std::vector<Mapping> large_;                                   // one block each
  std::vector<Mapping> slabs_;                                   // many small blocks each
  size_t slab_used_ = 0;                                         // of the last slab
  int64_t transient_ = 0, persistent_ = 0, peak_transient_ = 0;  // in use
  int64_t mapped_ = 0;                                           // in large_
  std::shared_ptr<FreeNodes> nodes_;

  const IdleKeeper keeper_{[this] {
    const std::lock_guard lock(mutex_);
    release_free_blocks();
  }};
};

}  // namespace emplace
