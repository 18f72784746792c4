#include "core/ops/kit/element.h"

#include <algorithm>
#include <cstring>

#include "core/base/mover.h"

namespace emplace {
namespace {

// A byte costs about this much to copy from memory; calls for pieces of a copy are made from it.
constexpr double kNsPerByte = 0.1;

template <class E>
void copy_run(const E* from, E* to, int64_t n) {
  if constexpr (std::is_same_v<E, std::string>) {
    std::copy_n(from, n, to);
  } else if (n > 8) {
    std::memcpy(to, from, static_cast<size_t>(n) * sizeof(E));
  } else {
    for (int64_t i = 0; i < n; ++i) to[i] = from[i];
  }
}

double element_cost(DType t) { return kNsPerByte * static_cast<double>(element_stride(t)); }

}  // namespace

Status ensure_output(KernelContext& c, int i, const Shape& shape) {
  const Tensor& t = c.output(i);
  if (t.shape() == shape && (t.raw() != nullptr || t.num_elements() == 0)) return ok_status();
  return c.allocate_output(i, shape);
}

void copy_elements(DType type, const void* from, void* to, int64_t n) {
  if (n <= 0) return;
  if (type == DType::kString) {
    std::copy_n(static_cast<const std::string*>(from), n, static_cast<std::string*>(to));
  } else {
    std::memcpy(to, from, static_cast<size_t>(n * element_stride(type)));
  }
}

void copy_elements(Parallel& parallel, DType type, const void* from, void* to, int64_t n) {
  if (Mover* mover = parallel.mover()) {
    const Mover::Axis line{n, 1, 1};
    if (n > 0) mover->copy(type, {&line, 1}, from, to);
    return;
  }
  int64_t stride = element_stride(type);
  parallel.run(n, element_cost(type), [&](int64_t begin, int64_t end) {
    copy_elements(type, static_cast<const char*>(from) + begin * stride, static_cast<char*>(to) + begin * stride,
                  end - begin);
  });
}

void fill_elements(Parallel& parallel, DType type, const void* value, void* to, int64_t n) {
  if (Mover* mover = parallel.mover()) return mover->fill(type, value, to, n);
  with_element(type, [&]<class E>(E) {
    const E v = *static_cast<const E*>(value);
    parallel.run(n, element_cost(type), [&](int64_t begin, int64_t end) {
      std::fill(static_cast<E*>(to) + begin, static_cast<E*>(to) + end, v);
    });
  });
}

void fill_zeros(Parallel& parallel, Tensor& t) {
  with_element(t.dtype(),
               [&]<class E>(E zero) { fill_elements(parallel, t.dtype(), &zero, t.raw(), t.num_elements()); });
}

void copy_rows(Parallel& parallel, DType type, const void* from, int64_t from_pitch, void* to, int64_t to_pitch,
               int64_t rows, int64_t n) {
  if (rows <= 0 || n <= 0) return;
  if (rows == 1 || (from_pitch == n && to_pitch == n)) return copy_elements(parallel, type, from, to, rows * n);
  if (Mover* mover = parallel.mover()) {
    const Mover::Axis axes[] = {{rows, from_pitch, to_pitch}, {n, 1, 1}};
    return mover->copy(type, axes, from, to);
  }
  with_element(type, [&]<class E>(E) {
    parallel.run(rows, element_cost(type) * static_cast<double>(n), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        copy_run(static_cast<const E*>(from) + r * from_pitch, static_cast<E*>(to) + r * to_pitch, n);
      }
    });
  });
}

}  // namespace emplace
