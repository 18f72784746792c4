/// Kernels that only move data are written by the size of an element, not by its type.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/dtype.h"
#include "core/base/tiny_float.h"
#include "core/op/kernel.h"

namespace emplace {

/// Types whose elements can be moved: all that have one of the sizes below. Handles are pointers.
inline constexpr DTypeSet kMovable = kAllData | kTiny | DTypeSet{DType::kQInt8,   DType::kQUInt8, DType::kQInt16,
                                                                 DType::kQUInt16, DType::kQInt32, DType::kResource};

struct Bytes16 {
  uint64_t low = 0, high = 0;
};

/// Bytes from one element to the next in a tensor's buffer.
inline int64_t element_stride(DType t) {
  if (t == DType::kString) return sizeof(std::string);
  if (base_type(t) == DType::kResource) return sizeof(void*);
  return static_cast<int64_t>(dtype_size(t));
}

/// Calls f(E{}) with a C++ type that copies as an element of type `t` does.
template <class F>
auto with_element(DType t, const F& f) {
  if (t == DType::kString) return f(std::string());
  switch (element_stride(t)) {
    case 2:
      return f(uint16_t{});
    case 4:
      return f(uint32_t{});
    case 8:
      return f(uint64_t{});
    case 16:
      return f(Bytes16{});
    default:
      return f(uint8_t{});
  }
}

/// Where element `i` lies.
inline const void* element_at(const Tensor& t, int64_t i) {
  return static_cast<const char*>(t.raw()) + i * element_stride(t.dtype());
}
inline void* element_at(Tensor& t, int64_t i) { return static_cast<char*>(t.raw()) + i * element_stride(t.dtype()); }

/// Calls f(Index{}) with the C++ type of an index tensor.
template <class F>
auto with_index(DType t, const F& f) {
  if (t == DType::kInt32) return f(int32_t{});
  if (t == DType::kInt16) return f(int16_t{});
  return f(int64_t{});
}

/// Gives output `i` storage of that shape if the plan did not: the shape rule may have left it open.
Status ensure_output(KernelContext& c, int i, const Shape& shape);

/// `n` consecutive elements from `from` to `to`.
void copy_elements(DType type, const void* from, void* to, int64_t n);
/// The same, split over workers when it is worth it.
void copy_elements(Parallel& parallel, DType type, const void* from, void* to, int64_t n);
/// `n` copies of the one element at `value`.
void fill_elements(Parallel& parallel, DType type, const void* value, void* to, int64_t n);
/// Zeros, or empty strings, everywhere.
void fill_zeros(Parallel& parallel, Tensor& t);
/// `rows` runs of `n` elements; runs start `from_pitch` and `to_pitch` elements apart.
void copy_rows(Parallel& parallel, DType type, const void* from, int64_t from_pitch, void* to, int64_t to_pitch,
               int64_t rows, int64_t n);

}  // namespace emplace
