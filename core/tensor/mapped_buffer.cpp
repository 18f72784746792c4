#include "core/tensor/mapped_buffer.h"

#include <algorithm>
#include <cstring>

#include "core/base/host_memory.h"

namespace emplace {

void MappedBuffer::move_out(void* to, Parallel& parallel) const {
  constexpr size_t kPiece = size_t{4} << 20;
  constexpr double kPieceNs = 800'000;  // new memory's first touch is the most of it
  const std::string_view all(static_cast<const char*>(data()), size());
  const auto pieces = static_cast<int64_t>((all.size() + kPiece - 1) / kPiece);
  parallel.run(pieces, kPieceNs, [&](int64_t begin, int64_t end) {
    const size_t at = static_cast<size_t>(begin) * kPiece;
    move_part(all.substr(at, static_cast<size_t>(end - begin) * kPiece), static_cast<char*>(to) + at);
  });
}

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
    Sequential one;
    mapped->move_out(copy.raw(), one);
    mapped->copy_ = std::move(copy);
  }
  return mapped->copy_.reshaped(t.shape());
}

}  // namespace emplace
