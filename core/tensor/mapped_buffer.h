/// MappedBuffer: a tensor's bytes where a file is mapped. They take memory only as far as somebody looks at them, and
/// the system may take that back.
#pragma once

#include "core/tensor/tensor.h"

namespace emplace {

class MappedBuffer : public Buffer {
 public:
  using Buffer::Buffer;
  /// Copies all bytes, whose pages go back to the system on the way. They may lie at any address.
  virtual void move_out(void* to) const = 0;
};

/// May kernels read the elements where they are? What a file lends (TensorBundle::lend) may lie at any address.
inline bool is_aligned(const Tensor& t) { return reinterpret_cast<uintptr_t>(t.raw()) % dtype_size(t.dtype()) == 0; }

}  // namespace emplace
