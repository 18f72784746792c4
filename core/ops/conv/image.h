/// Images as convolution kernels want them: NHWC, in a type that is computed in (half and bfloat16 in float, int32
/// as wrapping unsigned).
#pragma once

#include "core/op/kernel.h"
#include "core/ops/conv/conv_shape.h"

namespace emplace {

template <class T>
struct ComputeType {
  using type = T;
};
template <>
struct ComputeType<half> {
  using type = float;
};
template <>
struct ComputeType<bfloat16> {
  using type = float;
};
template <>
struct ComputeType<int32_t> {
  using type = uint32_t;
};
template <class T>
using Compute = typename ComputeType<T>::type;

/// The elements of `t` in the computing type; `scratch` holds them if they had to be converted.
template <class T>
Result<const Compute<T>*> as_compute(KernelContext& c, const Tensor& t, Tensor& scratch) {
  using C = Compute<T>;
  if constexpr (sizeof(T) == sizeof(C)) {
    return static_cast<const C*>(t.raw());
  } else {
    ASSIGN_OR_RETURN(scratch, c.allocate_scratch(dtype_of<C>, t.shape()));
    const T* in = t.data<T>();
    C* out = scratch.data<C>();
    c.parallel_for(t.num_elements(), 0.5, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) out[i] = static_cast<C>(in[i]);
    });
    return const_cast<const C*>(out);
  }
}

/// Pixels of one of [n, c, h, w] or [n, c, d, h, w].
inline int64_t area_of(const Shape& s) {
  int64_t area = 1;
  for (int i = 2; i < s.rank(); ++i) area *= s.dim(i);
  return area;
}

/// As as_compute(), from [n, c, h, w] to [n, h, w, c] if `layout` says so; volumes as images that are as large.
template <class T>
Result<const Compute<T>*> as_nhwc(KernelContext& c, const Tensor& t, ImageLayout layout, Tensor& scratch) {
  using C = Compute<T>;
  if (layout.c == 3) return as_compute<T>(c, t, scratch);
  ASSIGN_OR_RETURN(scratch, c.allocate_scratch(sizeof(T) == sizeof(C) ? dtype_of<T> : dtype_of<C>, t.shape()));
  int64_t channels = t.shape().dim(1), area = area_of(t.shape());
  const T* in = t.data<T>();
  C* out = static_cast<C*>(scratch.raw());
  c.parallel_for(t.shape().dim(0), static_cast<double>(channels * area), [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) {
      for (int64_t k = 0; k < channels; ++k) {
        const T* from = in + (n * channels + k) * area;
        C* to = out + n * channels * area + k;
        for (int64_t i = 0; i < area; ++i) to[i * channels] = static_cast<C>(from[i]);
      }
    }
  });
  return const_cast<const C*>(out);
}

/// Bytes of scratch that as_nhwc() or nhwc_output() take for so many elements.
template <class T>
int64_t nhwc_scratch(int64_t elements, ImageLayout layout) {
  return layout.c == 3 && sizeof(T) == sizeof(Compute<T>) ? 0 : elements * static_cast<int64_t>(sizeof(Compute<T>));
}

/// Where a kernel may write its NHWC result in the computing type: the output itself, or `scratch`.
template <class T>
Result<Compute<T>*> nhwc_output(KernelContext& c, Tensor& output, ImageLayout layout, Tensor& scratch) {
  using C = Compute<T>;
  if (layout.c == 3 && sizeof(T) == sizeof(C)) return static_cast<C*>(output.raw());
  ASSIGN_OR_RETURN(scratch, c.allocate_scratch(sizeof(T) == sizeof(C) ? dtype_of<T> : dtype_of<C>, output.shape()));
  return static_cast<C*>(scratch.raw());
}

/// Brings what was written to nhwc_output()'s scratch into the output; nothing to do if that was the output itself.
template <class T>
void finish_output(KernelContext& c, Tensor& output, ImageLayout layout, const Tensor& scratch) {
  using C = Compute<T>;
  if (!scratch.valid()) return;
  const C* in = static_cast<const C*>(scratch.raw());
  T* out = output.data<T>();
  if (layout.c == 3) {
    c.parallel_for(output.num_elements(), 0.5, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) out[i] = static_cast<T>(in[i]);
    });
    return;
  }
  int64_t channels = output.shape().dim(1), area = area_of(output.shape());
  c.parallel_for(output.shape().dim(0), static_cast<double>(channels * area), [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) {
      for (int64_t k = 0; k < channels; ++k) {
        const C* from = in + n * channels * area + k;
        T* to = out + (n * channels + k) * area;
        for (int64_t i = 0; i < area; ++i) to[i] = static_cast<T>(from[i * channels]);
      }
    }
  });
}

}  // namespace emplace
