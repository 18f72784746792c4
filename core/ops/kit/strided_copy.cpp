#include "core/ops/kit/strided_copy.h"

#include <algorithm>
#include <cstring>

#include "core/base/scratch_vector.h"
#include "core/ops/kit/element.h"

namespace emplace {
namespace {

using Axis = StridedCopy::Axis;

// Axes of size 1 say nothing; an axis that continues its inner neighbour on both sides is one with it.
ScratchVector<Axis> simplified(const ScratchVector<Axis>& axes) {
  ScratchVector<Axis> out;
  for (const Axis& a : axes) {
    if (a.size == 1) continue;
    if (!out.empty() && out.back().in_stride == a.size * a.in_stride &&
        out.back().out_stride == a.size * a.out_stride) {
      out.back() = {out.back().size * a.size, a.in_stride, a.out_stride};
    } else {
      out.push_back(a);
    }
  }
  return out;
}

template <class E>
void copy_line(const E* in, E* out, const Axis& a) {
  if (a.in_stride == 1 && a.out_stride == 1) {
    if constexpr (!std::is_same_v<E, std::string>) {
      if (a.size > 8) {
        std::memcpy(static_cast<void*>(out), in, static_cast<size_t>(a.size) * sizeof(E));
        return;
      }
    }
    std::copy_n(in, a.size, out);
  } else if (a.in_stride == 0 && a.out_stride == 1) {
    std::fill_n(out, a.size, *in);
  } else if (a.out_stride == 1) {
    for (int64_t i = 0; i < a.size; ++i) out[i] = in[i * a.in_stride];
  } else {
    for (int64_t i = 0; i < a.size; ++i) out[i * a.out_stride] = in[i * a.in_stride];
  }
}

// A plane whose one axis runs along the input and the other along the output: small squares, so that both sides
// use whole cache lines.
template <class E>
void copy_plane(const E* in, E* out, const Axis& rows, const Axis& columns) {
  constexpr int64_t kSquare = sizeof(E) >= 8 ? 16 : 32;
  for (int64_t r0 = 0; r0 < rows.size; r0 += kSquare) {
    int64_t r1 = std::min(r0 + kSquare, rows.size);
    for (int64_t c0 = 0; c0 < columns.size; c0 += kSquare) {
      int64_t c1 = std::min(c0 + kSquare, columns.size);
      for (int64_t r = r0; r < r1; ++r) {
        const E* from = in + r * rows.in_stride;
        E* to = out + r * rows.out_stride;
        for (int64_t k = c0; k < c1; ++k) to[k * columns.out_stride] = from[k * columns.in_stride];
      }
    }
  }
}

// Walks the outer axes in row-major order from index `at`.
struct Walk {
  Walk(const ScratchVector<Axis>& axes_in, size_t count_in, int64_t at)
      : axes(axes_in), count(count_in), index(count_in) {
    for (size_t i = count; i-- > 0;) {
      index[i] = at % axes[i].size;
      at /= axes[i].size;
      in += index[i] * axes[i].in_stride;
      out += index[i] * axes[i].out_stride;
    }
  }
  void next() {
    for (size_t i = count; i-- > 0;) {
      in += axes[i].in_stride;
      out += axes[i].out_stride;
      if (++index[i] < axes[i].size) return;
      in -= axes[i].size * axes[i].in_stride;
      out -= axes[i].size * axes[i].out_stride;
      index[i] = 0;
    }
  }
  const ScratchVector<Axis>& axes;
  size_t count;
  ScratchVector<int64_t> index;
  int64_t in = 0, out = 0;
};

// The axis to walk in squares with the innermost one, moved next to it; false if lines will do.
bool find_plane(ScratchVector<Axis>& axes) {
  if (axes.size() < 2 || axes.back().in_stride == 1 || axes.back().in_stride == 0 || axes.back().size < 4) return false;
  for (size_t i = 0; i + 1 < axes.size(); ++i) {
    if (axes[i].in_stride != 1 || axes[i].size < 4) continue;
    Axis a = axes[i];
    axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(i));
    axes.insert(axes.end() - 1, a);
    return true;
  }
  return false;
}

template <class E>
void run_typed(Parallel& parallel, ScratchVector<Axis> axes, const E* in, E* out) {
  bool plane = find_plane(axes);
  Axis inner = axes.back(), rows = plane ? axes[axes.size() - 2] : Axis{1, 0, 0};
  size_t outer_axes = axes.size() - (plane ? 2 : 1);
  int64_t outer = 1;
  for (size_t i = 0; i < outer_axes; ++i) outer *= axes[i].size;
  // Items are outer indices, or pieces of the outermost inner axis where there is no outer one.
  constexpr double kElementNs = 0.1 * static_cast<double>(sizeof(E));
  Axis& split = plane ? rows : inner;
  if (outer == 1) {
    double cost = kElementNs * static_cast<double>(plane ? inner.size : 1);
    parallel.run(split.size, cost, [&](int64_t begin, int64_t end) {
      Axis piece{end - begin, split.in_stride, split.out_stride};
      const E* from = in + begin * split.in_stride;
      E* to = out + begin * split.out_stride;
      plane ? copy_plane(from, to, piece, inner) : copy_line(from, to, piece);
    });
    return;
  }
  parallel.run(outer, kElementNs * static_cast<double>(inner.size * rows.size), [&](int64_t begin, int64_t end) {
    Walk walk(axes, outer_axes, begin);
    for (int64_t i = begin; i < end; ++i, walk.next()) {
      plane ? copy_plane(in + walk.in, out + walk.out, rows, inner) : copy_line(in + walk.in, out + walk.out, inner);
    }
  });
}

}  // namespace

void StridedCopy::run(Parallel& parallel, DType type, const void* in, void* out) const {
  for (const Axis& a : axes) {
    if (a.size <= 0) return;
  }
  ScratchVector<Axis> simple = simplified(axes);
  if (simple.empty()) simple.push_back({1, 1, 1});
  if (Mover* mover = parallel.mover()) {
    return mover->copy(type, simple, static_cast<const char*>(in) + in_offset * element_stride(type),
                       static_cast<char*>(out) + out_offset * element_stride(type));
  }
  with_element(type, [&]<class E>(E) {
    run_typed(parallel, simple, static_cast<const E*>(in) + in_offset, static_cast<E*>(out) + out_offset);
  });
}

ScratchVector<int64_t> row_major_strides(const Shape& shape) {
  ScratchVector<int64_t> strides(static_cast<size_t>(shape.rank()));
  uint64_t stride = 1;  // may wrap where another dimension is 0 and no element is ever reached
  for (int i = shape.rank(); i-- > 0;) {
    strides[static_cast<size_t>(i)] = static_cast<int64_t>(stride);
    stride *= static_cast<uint64_t>(shape.dim(i));
  }
  return strides;
}

}  // namespace emplace
