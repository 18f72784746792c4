/// MappedBuffer: a tensor's bytes where a file is mapped. They take memory only as far as somebody looks at them, and
/// the system may take that back.
#pragma once

#include <mutex>
#include <string_view>

#include "core/base/parallel.h"
#include "core/tensor/tensor.h"

namespace emplace {

class MappedBuffer : public Buffer {
 public:
  using Buffer::Buffer;
  /// Copies all bytes, whose pages go back to the system on the way. They may lie at any address.
  void move_out(void* to, Parallel& parallel) const;

 protected:
  /// Copies some of them. Any thread may call.
  virtual void move_part(std::string_view bytes, void* to) const = 0;

 private:
  friend Result<Tensor> aligned(const Tensor& t);
  std::mutex mutex_;
  Tensor copy_;  // once somebody asked for it
};

/// May kernels read the elements where they are? What a file lends (TensorBundle::lend, a large constant) may lie at
/// any address.
inline bool is_aligned(const Tensor& t) {
  const size_t element = dtype_size(t.dtype());
  return element == 0 || reinterpret_cast<uintptr_t>(t.raw()) % element == 0;
}

/// The tensor, if is_aligned(); else its elements where kernels can read them: a copy, made once for all that share a
/// mapped buffer, and counted as constants. ResourceExhausted. Any thread may ask.
Result<Tensor> aligned(const Tensor& t);

}  // namespace emplace
