/// RowPool: 2-D pooling of images whose channels are innermost, a row of windows at a time: what MaxPool and AvgPool
/// share. Such a row is a piece that can follow what makes the image.
#pragma once

#include <algorithm>
#include <type_traits>

#include "core/op/following_kernel.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/isa.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/nn/pool_window.h"

namespace emplace {

/// Row `oh` of the windows of one image; `out` is where it begins. Which type they have, the code knows.
using PoolRow = void (*)(const PoolWindow& p, const void* image, void* out, int64_t oh);

/// Rows [y, y_end) and columns [x, x_end) of an image.
struct WindowCells {
  int64_t y, y_end, x, x_end;
  int64_t count() const { return std::max<int64_t>(y_end - y, 0) * std::max<int64_t>(x_end - x, 0); }
};

/// Channels from `k` on, which do not fill a vector of `kBytes`, by narrower ones. The last may reach back over
/// channels that are done, and does these once more. Returns where those begin that fill none.
template <class Pool, class T, int64_t kBytes>
EMPLACE_INLINE int64_t narrower_cells(const PoolWindow& p, const T* image, const WindowCells& cells, int64_t k,
                                      T* out) {
  constexpr int64_t kLeast = 16, kLanes = kBytes / sizeof(T);
  const int64_t left = p.channels - k;
  if (left == 0) return k;
  if (left > kLanes / 2 && p.channels >= kLanes) {
    typedef T Vector __attribute__((vector_size(kBytes)));
    const int64_t last = p.channels - kLanes;
    Pool::template pool<Vector, 1>(p, image + last, cells, out + last);
    return p.channels;
  }
  if constexpr (kBytes > kLeast) {
    if (left >= kLanes / 2) {
      typedef T Half __attribute__((vector_size(kBytes / 2)));
      Pool::template pool<Half, 1>(p, image + k, cells, out + k);
      k += kLanes / 2;
    }
    return narrower_cells<Pool, T, kBytes / 2>(p, image, cells, k, out);
  }
  return k;
}

/// Pool::pool<V, kCount>() makes of each of `kCount` windows' cells one, side by side in the channels; a cell is a
/// number or, if Pool::kVectors<T>, a vector of them, V. `kBytes`: of a register, which g++ 12 needs to know to keep a
/// vector there.
template <class Pool, class T, int64_t kBytes>
EMPLACE_INLINE void windows_of_row(const PoolWindow& p, const void* cells_of_image, void* row, int64_t oh) {
  const T* image = static_cast<const T*>(cells_of_image);
  T* out = static_cast<T*>(row);
  for (int64_t ow = 0; ow < p.w.out; ++ow, out += p.channels) {
    const WindowCells cells{p.h.begin(oh), p.h.end(oh), p.w.begin(ow), p.w.end(ow)};
    int64_t k = 0;
    if constexpr (Pool::template kVectors<T>) {
      constexpr int64_t kLanes = kBytes / sizeof(T);
      typedef T Vector __attribute__((vector_size(kBytes)));
      constexpr int64_t kMany = 4;  // that need not wait for each other
      for (; k + kMany * kLanes <= p.channels; k += kMany * kLanes)
        Pool::template pool<Vector, kMany>(p, image + k, cells, out + k);
      for (; k + kLanes <= p.channels; k += kLanes) Pool::template pool<Vector, 1>(p, image + k, cells, out + k);
      k = narrower_cells<Pool, T, kBytes>(p, image, cells, k, out);
    }
    for (; k < p.channels; ++k) Pool::template pool<T, 1>(p, image + k, cells, out + k);
  }
}
template <class Pool, class T>
void windows_of_row_base(const PoolWindow& p, const void* image, void* out, int64_t oh) {
  windows_of_row<Pool, T, 16>(p, image, out, oh);
}
template <class Pool, class T>
EMPLACE_TARGET_V3 void windows_of_row_v3(const PoolWindow& p, const void* image, void* out, int64_t oh) {
  windows_of_row<Pool, T, 32>(p, image, out, oh);
}
template <class Pool, class T>
EMPLACE_TARGET_V4 void windows_of_row_v4(const PoolWindow& p, const void* image, void* out, int64_t oh) {
  windows_of_row<Pool, T, 64>(p, image, out, oh);
}
/// The processor's.
template <class Pool, class T>
PoolRow row_of_windows() {
  if constexpr (!std::is_floating_point_v<T>)
    return windows_of_row_base<Pool, T>;
  else
    return for_isa<PoolRow>(windows_of_row_base<Pool, T>, windows_of_row_v3<Pool, T>, windows_of_row_v4<Pool, T>);
}

class RowPool : public FollowingKernel {
 public:
  RowPool(const KernelInit& init, std::string_view name, PoolRow row_code)
      : attrs_(PoolAttrs::of(init.attrs)), name_(name), row_code_(row_code) {}

  // What is wrong with the windows run() tells.
  Status prepare(KernelContext& c) override {
    pieces_ = 0;
    Result<PoolWindow> p = PoolWindow::of(attrs_, c.input(0).shape(), name_);
    if (!p.ok()) return ok_status();
    window_ = p.take();
    const PoolAxis& h = window_.h;
    bool follows = attrs_.layout.c == 3 && window_.depth_window == 1;
    for (int64_t oh = 0; oh < h.out && follows; ++oh) follows = h.begin(oh) < h.end(oh);
    if (follows && window_.w.size > 0) pieces_ = window_.batch * h.out;
    return ok_status();
  }
  int64_t pieces() const override { return pieces_; }
  Rows rows_of(int64_t piece) const override {
    const PoolAxis& h = window_.h;
    const int64_t image = piece / h.out * h.size, oh = piece % h.out;
    return {(image + h.begin(oh)) * window_.w.size, (image + h.end(oh)) * window_.w.size};
  }
  void run_piece(KernelContext& c, int64_t piece) const override { row(window_, c, piece); }

 protected:
  /// All rows, of windows that the kernel checked.
  void run_rows(KernelContext& c, const PoolWindow& p) const {
    const double cells =
        static_cast<double>(std::min(p.h.window, p.h.size)) * static_cast<double>(std::min(p.w.window, p.w.size));
    const double cost_ns = 0.3 * cells * static_cast<double>(p.w.out * p.channels);
    c.parallel_for(p.batch * p.h.out, cost_ns, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) row(p, c, r);
    });
  }

  const PoolAttrs attrs_;

 private:
  void row(const PoolWindow& p, KernelContext& c, int64_t r) const {
    const int64_t image = p.h.size * p.w.size * p.channels;
    row_code_(p, element_at(c.input(0), r / p.h.out * image), element_at(c.output(0), r * p.w.out * p.channels),
              r % p.h.out);
  }

  const std::string_view name_;
  const PoolRow row_code_;
  PoolWindow window_;
  int64_t pieces_ = 0;
};

}  // namespace emplace
