#include "core/ops/nn/max_pool_grad.h"

#include <algorithm>
#include <cstring>

#include "core/base/cat.h"
#include "core/base/scratch_vector.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/isa.h"
#include "core/ops/kit/numeric.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/kit/with_real.h"
#include "core/ops/nn/row_pool.h"

namespace emplace {
namespace {

// What a window found per channel: its largest number and which of its cells, counted by rows, held it first.
template <class T>
struct Largest {
  explicit Largest(int64_t channels) : value(static_cast<size_t>(channels)), cell(static_cast<size_t>(channels)) {}
  ScratchVector<T> value;
  ScratchVector<int32_t> cell;
};

// One image: each window adds its gradient to the first of its largest cells.
template <class T>
EMPLACE_INLINE void route_image(const PoolWindow& p, const T* image, const T* grad, T* out, Largest<T>& largest) {
  T* best = largest.value.data();
  int32_t* chosen = largest.cell.data();
  const int64_t channels = p.channels;
  for (int64_t oh = 0; oh < p.h.out; ++oh) {
    for (int64_t ow = 0; ow < p.w.out; ++ow, grad += channels) {
      const int64_t x_begin = p.w.begin(ow), x_end = p.w.end(ow);
      int32_t n = 0;
      for (int64_t y = p.h.begin(oh); y < p.h.end(oh); ++y) {
        for (int64_t x = x_begin; x < x_end; ++x, ++n) {
          const T* cell = image + (y * p.w.size + x) * channels;
          if (n == 0) {
            std::copy_n(cell, channels, best);
            std::fill_n(chosen, channels, 0);
            continue;
          }
#pragma GCC ivdep
          for (int64_t k = 0; k < channels; ++k) {
            const bool larger = cell[k] > best[k];
            best[k] = larger ? cell[k] : best[k];
            chosen[k] = larger ? n : chosen[k];
          }
        }
      }
      n = 0;
      for (int64_t y = p.h.begin(oh); y < p.h.end(oh); ++y) {
        for (int64_t x = x_begin; x < x_end; ++x, ++n) {
          T* to = out + (y * p.w.size + x) * channels;
#pragma GCC ivdep
          for (int64_t k = 0; k < channels; ++k) {
            const T sum = add(to[k], grad[k]);
            to[k] = chosen[k] == n ? sum : to[k];
          }
        }
      }
    }
  }
}
// `images` of them, one after the other.
template <class T>
EMPLACE_INLINE void route_body(const PoolWindow& p, const void* image, const void* grad, void* out, int64_t images) {
  const int64_t cells = p.h.size * p.w.size * p.channels, windows = p.h.out * p.w.out * p.channels;
  Largest<T> largest(p.channels);
  for (int64_t b = 0; b < images; ++b) {
    T* to = static_cast<T*>(out) + b * cells;
    std::fill_n(to, cells, T{});
    route_image(p, static_cast<const T*>(image) + b * cells, static_cast<const T*>(grad) + b * windows, to, largest);
  }
}
template <class T>
void route_base(const PoolWindow& p, const void* image, const void* grad, void* out, int64_t images) {
  route_body<T>(p, image, grad, out, images);
}
template <class T>
EMPLACE_TARGET_V3 void route_v3(const PoolWindow& p, const void* image, const void* grad, void* out, int64_t images) {
  route_body<T>(p, image, grad, out, images);
}
template <class T>
EMPLACE_TARGET_V4 void route_v4(const PoolWindow& p, const void* image, const void* grad, void* out, int64_t images) {
  route_body<T>(p, image, grad, out, images);
}
using Route = void (*)(const PoolWindow&, const void*, const void*, void*, int64_t);
template <class T>
Route route_gradients() {
  if constexpr (!std::is_floating_point_v<T>)
    return route_base<T>;
  else
    return for_isa<Route>(route_base<T>, route_v3<T>, route_v4<T>);
}

// Where windows do not overlap, each cell is written once: the gradient, or 0. A cell is one number or a vector of
// them, V; its number in the window is an N. The window's first cell is at `image` and at `out`.
template <class V, class N, class T>
EMPLACE_INLINE void route_window(int64_t rows, int64_t cols, int64_t row_step, int64_t cell_step, const T* image,
                                 const T* grad, T* out) {
  V best, gradient;
  N chosen{}, n{};
  std::memcpy(&best, image, sizeof(V));
  for (int64_t y = 0; y < rows; ++y) {
    for (int64_t x = 0; x < cols; ++x, n += 1) {
      V cell;
      std::memcpy(&cell, image + y * row_step + x * cell_step, sizeof(V));
      const auto larger = cell > best;
      best = larger ? cell : best;
      chosen = larger ? n : chosen;
    }
  }
  std::memcpy(&gradient, grad, sizeof(V));
  gradient = add(V{}, gradient);
  n = N{};
  for (int64_t y = 0; y < rows; ++y) {
    for (int64_t x = 0; x < cols; ++x, n += 1) {
      const V cell = chosen == n ? gradient : V{};
      std::memcpy(out + y * row_step + x * cell_step, &cell, sizeof(V));
    }
  }
}

// All channels of one window.
template <class T, int64_t kBytes>
EMPLACE_INLINE void route_channels(int64_t rows, int64_t cols, int64_t row_step, int64_t channels, const T* image,
                                   const T* grad, T* out) {
  int64_t k = 0;
  if constexpr (std::is_floating_point_v<T>) {
    using Integer = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
    typedef T Vector __attribute__((vector_size(kBytes)));
    typedef Integer Numbers __attribute__((vector_size(kBytes)));
    constexpr int64_t kLanes = kBytes / sizeof(T);
    for (; k + kLanes <= channels; k += kLanes) {
      route_window<Vector, Numbers>(rows, cols, row_step, channels, image + k, grad + k, out + k);
    }
  }
  for (; k < channels; ++k) route_window<T, int64_t>(rows, cols, row_step, channels, image + k, grad + k, out + k);
}

// One row of windows of an image, and the cells between it and the row before that no window covers.
template <class T, int64_t kBytes>
EMPLACE_INLINE void route_row_body(const PoolWindow& p, const void* cells, const void* gradients, void* to,
                                   int64_t oh) {
  const T* image = static_cast<const T*>(cells);
  const T* grad = static_cast<const T*>(gradients);
  T* out = static_cast<T*>(to);
  auto clear = [&](int64_t y, int64_t first, int64_t last) {
    if (first < last) std::fill_n(out + (y * p.w.size + first) * p.channels, (last - first) * p.channels, T{});
  };
  for (int64_t y = oh > 0 ? p.h.end(oh - 1) : 0; y < p.h.begin(oh); ++y) clear(y, 0, p.w.size);
  for (int64_t y = p.h.end(oh); oh + 1 == p.h.out && y < p.h.size; ++y) clear(y, 0, p.w.size);
  const bool gaps = p.w.stride > p.w.window;
  for (int64_t y = p.h.begin(oh); y < p.h.end(oh); ++y) {
    for (int64_t ow = 1; gaps && ow < p.w.out; ++ow) clear(y, p.w.end(ow - 1), p.w.begin(ow));
    clear(y, 0, p.w.begin(0));
    clear(y, p.w.end(p.w.out - 1), p.w.size);
  }
  for (int64_t ow = 0; ow < p.w.out; ++ow, grad += p.channels) {
    const int64_t rows = p.h.end(oh) - p.h.begin(oh), cols = p.w.end(ow) - p.w.begin(ow),
                  row_step = p.w.size * p.channels;
    const int64_t at = p.h.begin(oh) * row_step + p.w.begin(ow) * p.channels;
    route_channels<T, kBytes>(rows, cols, row_step, p.channels, image + at, grad, out + at);
  }
}
template <class T>
void route_row_base(const PoolWindow& p, const void* image, const void* grad, void* out, int64_t oh) {
  route_row_body<T, 16>(p, image, grad, out, oh);
}
template <class T>
EMPLACE_TARGET_V3 void route_row_v3(const PoolWindow& p, const void* image, const void* grad, void* out, int64_t oh) {
  route_row_body<T, 32>(p, image, grad, out, oh);
}
template <class T>
EMPLACE_TARGET_V4 void route_row_v4(const PoolWindow& p, const void* image, const void* grad, void* out, int64_t oh) {
  route_row_body<T, 64>(p, image, grad, out, oh);
}
// Null: such types are pooled too seldom to be worth a second way.
template <class T>
Route route_row() {
  if constexpr (!std::is_floating_point_v<T>)
    return nullptr;
  else
    return for_isa<Route>(route_row_base<T>, route_row_v3<T>, route_row_v4<T>);
}

struct RouteCode {
  Route images;
  Route row;  // null: every window goes the first way
};

class MaxPoolGrad final : public Kernel {
 public:
  MaxPoolGrad(const KernelInit& init, RouteCode code) : attrs_(PoolAttrs::of(init.attrs)), code_(code) {}
  Status run(KernelContext& c) override {
    const Shape& image = c.input(0).shape();
    ASSIGN_OR_RETURN(PoolWindow p, pool_window(attrs_, c, "MaxPoolGrad"));
    if (p.depth_window > 1) return unimplemented("MaxPoolingGrad is not yet supported on the depth dimension.");
    constexpr std::string_view kNames[] = {"orig_output", "grad"};
    for (int i : {1, 2}) {
      if (c.input(i).shape() == p.out) continue;
      return invalid_argument(cat("Expected ", kNames[i - 1], " shape to be ", p.out.to_string(), ", but got ",
                                  c.input(i).shape().to_string()));
    }
    RETURN_IF_ERROR(ensure_output(c, 0, image));
    if (c.output(0).num_elements() == 0) return ok_status();
    int64_t cells = p.h.size * p.w.size * p.channels, row = p.w.out * p.channels, windows = p.h.out * row;
    if (code_.row && windows > 0 && p.h.stride >= p.h.window && p.w.stride >= p.w.window) {
      double cost = 0.5 * static_cast<double>(cells) / static_cast<double>(p.h.out);
      c.parallel_for(p.batch * p.h.out, cost, [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r) {
          int64_t b = r / p.h.out;
          code_.row(p, element_at(c.input(0), b * cells), element_at(c.input(2), r * row),
                    element_at(c.output(0), b * cells), r % p.h.out);
        }
      });
      return ok_status();
    }
    c.parallel_for(p.batch, 1.0 * static_cast<double>(cells), [&](int64_t begin, int64_t end) {
      code_.images(p, element_at(c.input(0), begin * cells), element_at(c.input(2), begin * windows),
                   element_at(c.output(0), begin * cells), end - begin);
    });
    return ok_status();
  }

 private:
  const PoolAttrs attrs_;
  const RouteCode code_;
};

}  // namespace

Result<std::unique_ptr<Kernel>> make_max_pool_grad(const KernelInit& init) {
  const RouteCode code = with_real(init.input_types[0], [](auto zero) {
    using T = decltype(zero);
    return RouteCode{route_gradients<T>(), route_row<T>()};
  });
  return std::unique_ptr<Kernel>(new MaxPoolGrad(init, code));
}

}  // namespace emplace
