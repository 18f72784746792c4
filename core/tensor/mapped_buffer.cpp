#include "core/tensor/mapped_buffer.h"

#include <cstring>

#include "core/base/host_memory.h"

namespace emplace {

Result<Tensor> aligned(const Tensor& t) {
  if (is_aligned(t)) return t;
  const HostUseScope use(HostUse::kConstants);
  auto* mapped = dynamic_cast<MappedBuffer*>(t.buffer().get());
  if (!mapped || mapped->data() != t.raw() || mapped->size() != t.size_bytes()) {  // a part of it
    ASSIGN_OR_RETURN(Tensor copy, Tensor::allocate(t.dtype(), t.shape()));
    std::memcpy(copy.raw(), t.raw(), t.size_bytes());
    return copy;
  }
  std::lock_guard lock(mapped->mutex_);
  if (!mapped->copy_.valid()) {
    ASSIGN_OR_RETURN(Tensor copy, Tensor::allocate(t.dtype(), t.shape()));
    mapped->move_out(copy.raw());
    mapped->copy_ = std::move(copy);
  }
  return mapped->copy_.reshaped(t.shape());
}

}  // namespace emplace
