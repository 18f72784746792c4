/// KernelMakers for kernel classes that are templates over the element type.
#pragma once

#include "cuda/arithmetic.h"
#include "cuda/element_code.h"
#include "cuda/kernel_table.h"
#include "cuda/launch.h"

namespace emplace::cuda {

/// K<T>(init) for the T of Ts that has this type.
template <template <class> class K, class... Ts>
Result<std::unique_ptr<Kernel>> make_for(DType type, const KernelInit& init) {
  std::unique_ptr<Kernel> made;
  ((made = !made && dtype_of<Ts> == base_type(type) ? std::make_unique<K<Ts>>(init) : std::move(made)), ...);
  if (!made) return internal_error("a family lists a type that its kernel was not made for");
  return Result<std::unique_ptr<Kernel>>(std::move(made));
}

/// By the type of an input, or of the first output.
template <int kInput, template <class> class K, class... Ts>
Result<std::unique_ptr<Kernel>> by_input(const KernelInit& init) {
  return make_for<K, Ts...>(init.input_types[kInput], init);
}
template <template <class> class K, class... Ts>
Result<std::unique_ptr<Kernel>> by_output(const KernelInit& init) {
  return make_for<K, Ts...>(init.output_types[0], init);
}

/// Storage and shape for output `i`, where the shape rule could not say them before the run.
inline Status ensure_output(KernelContext& c, int i, const Shape& shape) {
  const Tensor& t = c.output(i);
  return t.shape() == shape && (t.raw() != nullptr || t.num_elements() == 0) ? ok_status()
                                                                             : c.allocate_output(i, shape);
}

/// Elements by size alone, for kernels that move them. The last is 16 bytes.
using Bytes16 = complex128;

/// K<E>(init) for unsigned integers E (or Bytes16) of the size of the type.
template <template <class> class K>
Result<std::unique_ptr<Kernel>> make_sized(DType type, const KernelInit& init) {
  switch (storage_size(base_type(type))) {
    case 1:
      return make<K<uint8_t>>(init);
    case 2:
      return make<K<uint16_t>>(init);
    case 4:
      return make<K<uint32_t>>(init);
    case 8:
      return make<K<uint64_t>>(init);
    default:
      return make<K<Bytes16>>(init);
  }
}
template <int kInput, template <class> class K>
Result<std::unique_ptr<Kernel>> sized_by_input(const KernelInit& init) {
  return make_sized<K>(init.input_types[kInput], init);
}
template <template <class> class K>
Result<std::unique_ptr<Kernel>> sized_by_output(const KernelInit& init) {
  return make_sized<K>(init.output_types[0], init);
}

/// A thread for each pack of n elements of the widest of the types.
template <class... Ts>
dim3 grid_for_packs(int64_t n) {
  return grid_for(n, int64_t{kThreads} * kPackSize<Ts...>);
}

/// f(E()) for the E of so many bytes.
template <class F>
Status with_width(size_t bytes, const F& f) {
  switch (bytes) {
    case 1:
      return f(uint8_t{});
    case 2:
      return f(uint16_t{});
    case 4:
      return f(uint32_t{});
    case 8:
      return f(uint64_t{});
    default:
      return f(Bytes16{});
  }
}

/// An index tensor in device memory, int16, int32 or int64.
struct Indices {
  const void* data;
  int bytes;  // of an index
  explicit Indices(const Tensor& t)
      : data(t.raw()),
        bytes(t.dtype() == DType::kInt16   ? 2
              : t.dtype() == DType::kInt32 ? 4
                                           : 8) {}
  __device__ __forceinline__ int64_t at(int64_t i) const {
    if (bytes == 8) return static_cast<const int64_t*>(data)[i];
    return bytes == 4 ? static_cast<const int32_t*>(data)[i] : static_cast<const int16_t*>(data)[i];
  }
};

}  // namespace emplace::cuda
