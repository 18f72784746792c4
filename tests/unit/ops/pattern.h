// What products and convolutions are tested with: small values of both signs that floats hold exactly.
#pragma once

#include "core/tensor/tensor.h"

namespace emplace::testing {

template <class T>
Tensor pattern(const Shape& shape, int seed) {
  Tensor t = Tensor::allocate(dtype_of<T>, shape).take();
  for (int64_t i = 0; i < t.num_elements(); ++i) t.data<T>()[i] = static_cast<T>((i * 7919 + seed * 31) % 23 - 11) / 8;
  return t;
}

}  // namespace emplace::testing
