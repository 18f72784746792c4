/// Tensor: element type, shape and a (shared) buffer of row-major elements in one device's memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/dtype.h"
#include "core/base/shape.h"
#include "core/base/status.h"

namespace emplace {

/// Memory with an owner. Strings are kept as constructed std::string objects.
class Buffer {
 public:
  virtual ~Buffer() = default;
  void* data() const { return data_; }
  size_t size() const { return size_; }

 protected:
  Buffer(void* data, size_t size) : data_(data), size_(size) {}
  void* data_;
  size_t size_;
};

/// Copying a Tensor shares its buffer. Not thread-safe by itself; concurrent reads are fine.
class Tensor {
 public:
  /// No value: dtype kInvalid.
  Tensor() = default;

  /// Uninitialised elements on the heap, 64-byte aligned (strings: empty).
  /// ResourceExhausted if the size overflows or the memory cannot be had.
  static Result<Tensor> allocate(DType dtype, const Shape& shape);
  /// Elements in memory that somebody else keeps alive (`owner` may be null).
  static Tensor wrap(DType dtype, const Shape& shape, void* data, std::shared_ptr<Buffer> owner = nullptr);
  /// Small tensors for constants and tests. Throws as allocated() does.
  template <class T>
  static Tensor of(const Shape& shape, std::span<const T> values);
  template <class T>
  static Tensor scalar(const T& value) {
    return of<T>(Shape{}, std::span<const T>(&value, 1));
  }

  bool valid() const { return dtype_ != DType::kInvalid; }
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  int64_t num_elements() const { return num_elements_; }
  size_t size_bytes() const { return static_cast<size_t>(num_elements_) * dtype_size(dtype_); }
  void* raw() const { return data_; }
  const std::shared_ptr<Buffer>& buffer() const { return buffer_; }

  template <class T>
  T* data() const {
    return static_cast<T*>(data_);
  }
  template <class T>
  std::span<T> flat() const {
    return {data<T>(), static_cast<size_t>(num_elements_)};
  }

  /// The same elements under another shape. REQUIRES: equal number of elements.
  Tensor reshaped(const Shape& shape) const;

  /// Points this tensor at other memory, keeping dtype and shape. For the executor's pre-bound slots.
  void rebind(void* data) { data_ = data; }

 private:
  DType dtype_ = DType::kInvalid;
  Shape shape_;
  int64_t num_elements_ = 0;
  void* data_ = nullptr;
  std::shared_ptr<Buffer> buffer_;
};

/// Element i of an int32 or int64 tensor, widened.
int64_t int_at(const Tensor& t, int64_t i);
/// All elements of an int32 or int64 tensor.
std::vector<int64_t> ints_of(const Tensor& t);
/// Same dtype, shape and bytes (strings: same text).
bool same_bytes(const Tensor& a, const Tensor& b);

/// As Tensor::allocate(), where no Status can be given back: what has no room throws HeapOverLimit, with which the
/// command ends. Not for kernels: a step that fails gives back a Status.
Tensor allocated(DType dtype, const Shape& shape);

template <class T>
Tensor Tensor::of(const Shape& shape, std::span<const T> values) {
  Tensor t = allocated(dtype_of<T>, shape);
  std::copy(values.begin(), values.end(), t.data<T>());
  return t;
}

}  // namespace emplace
