/// DevicePool: the memory of one device, as the executor and the reports see it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/op/kernel.h"

namespace emplace {

/// Thread-safe. Must outlive its tensors.
class DevicePool : public Allocator {
 public:
  /// The block for planned tensors, `bytes` long; stays where it is. Once per pool.
  virtual Status map_block(int64_t bytes) = 0;
  virtual std::byte* block() const = 0;
  virtual int64_t block_bytes() const = 0;

  /// In bytes; 0: none but what the machine has.
  virtual int64_t limit() const = 0;
  /// Of the limit, what there can be used: a GPU's memory comes in whole pages, whose size is known from its first use
  /// on.
  virtual int64_t usable() const { return limit(); }
  /// In tensors that outlive a step; and the most there ever was in others. Without the block.
  virtual int64_t persistent_bytes() const = 0;
  virtual int64_t peak_transient_bytes() const = 0;
  virtual const std::string& device_name() const = 0;
};

}  // namespace emplace
