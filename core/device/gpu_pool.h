/// GpuPool: the memory of one logical GPU. Best fit on one range of addresses behind which pages are mapped as they are
/// needed; when the limit is reached, pages that are wholly free move to where they are needed. So a limit of 1.01 to
/// 1.03 times the live bytes suffices (simulated; growth by doubling regions needs 1.3 to 1.9).
///
/// A block that is given back is reusable at once: whoever gets it enqueues later in the same lane. What other lanes
/// read is waited for by the executor before it gives the block back.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>

#include "core/device/device_pool.h"
#include "core/device/page_source.h"

namespace emplace {

class GpuPool final : public DevicePool {
 public:
  struct Options {
    std::string device_name, allocator_name;
    int64_t limit = 0;
    bool grows = true;  // else the whole limit is mapped at the first use
    /// Each tensor ends where its pages end, and behind them there are none: what a kernel reads or writes behind it is
    /// an error of the hardware. (Tensors begin at multiples of 16 bytes: up to 15 bytes are behind some.) Pages go
    /// when the tensor does, which waits for the device.
    bool guards = false;
  };
  /// `open` gives the device at the first use of its memory: a GPU that nobody uses is never touched.
  GpuPool(Options options, std::function<Result<PageSource*>()> open);
  ~GpuPool() override;

  Result<Tensor> allocate(DType dtype, const Shape& shape) override { return allocate(dtype, shape, false); }
  Result<Tensor> allocate_persistent(DType dtype, const Shape& shape) override { return allocate(dtype, shape, true); }

  Status map_block(int64_t bytes) override;
  std::byte* block() const override { return block_; }
  int64_t block_bytes() const override { return block_bytes_; }
  int64_t limit() const override { return options_.limit; }
  int64_t usable() const override;
  int64_t persistent_bytes() const override;
  int64_t peak_transient_bytes() const override;
  const std::string& device_name() const override { return options_.device_name; }

  /// Bytes behind which there are pages; never more than the limit.
  int64_t mapped_bytes() const;

 private:
  class PooledBuffer;
  enum class State : uint8_t { kUnmapped, kFree, kUsed };
  struct Piece {
    int64_t bytes;
    State state;
  };
  using Pieces = std::map<int64_t, Piece>;  // by offset; neighbours differ in state, but for used ones

  Result<Tensor> allocate(DType dtype, const Shape& shape, bool persistent);
  // With mutex_ held.
  Status start();
  Result<int64_t> take(int64_t bytes);
  Result<int64_t> take_guarded(int64_t bytes);
  void give_back(int64_t offset);
  void give_back_guarded(int64_t offset);
  Status grow(int64_t bytes);
  Status move_free_pages();
  void cut(Pieces::iterator piece, int64_t offset, int64_t bytes, State state);
  Pieces::iterator set_state(Pieces::iterator piece, State state);
  int64_t whole_pages() const { return page_ > 0 ? options_.limit / page_ * page_ : options_.limit; }
  std::string refusal(int64_t bytes, const Status& why) const;

  // Constant after construction.
  const Options options_;
  const std::function<Result<PageSource*>()> open_;

  mutable std::mutex mutex_;
  // Guarded by mutex_.
  PageSource* source_ = nullptr;
  std::byte* base_ = nullptr;
  int64_t reserved_ = 0, page_ = 0, mapped_ = 0;
  Pieces pieces_;
  std::set<std::pair<int64_t, int64_t>> free_;  // bytes, offset
  int64_t transient_ = 0, persistent_ = 0, peak_transient_ = 0;
  std::byte* block_ = nullptr;
  int64_t block_bytes_ = 0;
};

}  // namespace emplace
