#include "core/ops/conv/volume_conv.h"

#include <algorithm>

#include "core/base/kept_by_thread.h"
#include "core/ops/conv/direct_conv_parts.h"

namespace emplace {

template <class T>
VolumeConv<T> VolumeConv<T>::forward(const VolumeConvShape& shape) {
  return VolumeConv(shape, false);
}
template <class T>
VolumeConv<T> VolumeConv<T>::input_gradient(const VolumeConvShape& shape) {
  return VolumeConv(shape, true);
}

template <class T>
VolumeConv<T>::VolumeConv(const VolumeConvShape& s, bool backward)
    : batch_(s.batch), in_c_(s.in_c), out_c_(s.out_c), groups_(s.groups()), backward_(backward) {
  if (backward) std::swap(in_c_, out_c_);
  depth_ = groups_ > 0 ? in_c_ / groups_ : 0;
  group_out_ = groups_ > 0 ? out_c_ / groups_ : 0;
  for (size_t i = 0; i < 3; ++i) {
    const VolumeConvShape::Axis& a = s.axes[i];
    axes_[i] = {a.in, a.out, a.window, a.stride, a.pad, a.dilation, 1};
    if (backward) axes_[i] = {a.out, a.in, a.window, 1, (a.window - 1) * a.dilation - a.pad, a.dilation, a.stride};
  }
  cols_ = gemm::kernels<T>().max_cols;
  panels_ = pieces_of(group_out_, cols_);
  // Tiles of a row that are equally long: 32 pixels are 11 + 11 + 10.
  const int64_t most = gemm::kernels<T>().max_rows,
                row = std::max<int64_t>(1, pieces_of(axes_[2].out, axes_[2].divide));
  rows_ = static_cast<int>(pieces_of(row, pieces_of(row, most)));
  zeros_.assign(static_cast<size_t>(depth_), T(0));
}

template <class T>
int64_t VolumeConv<T>::packed_filter_size() const {
  const int64_t widest = gemm::kWidestCols<T>;
  return groups_ * pieces_of(group_out_, widest) * widest * taps() * depth_;
}

template <class T>
void VolumeConv<T>::pack_filter(Parallel& parallel, const T* filter, T* packed) const {
  const int64_t all = taps();
  parallel.run(groups_ * panels_, static_cast<double>(panel_size()) * 0.3, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      const int64_t group = p / panels_, first = p % panels_ * cols_;
      const int64_t width = std::min<int64_t>(cols_, group_out_ - first);
      T* out = packed + p * panel_size();
      for (int64_t tap = 0; tap < all; ++tap) {
        for (int64_t k = 0; k < depth_; ++k, out += cols_) {
          if (backward_) {  // what is written are the filter's input channels
            const T* from = filter + ((all - 1 - tap) * group_out_ + first) * in_c_ + group * depth_ + k;
            for (int64_t j = 0; j < width; ++j) out[j] = from[j * in_c_];
          } else {
            std::copy_n(filter + (tap * depth_ + k) * out_c_ + group * group_out_ + first, width, out);
          }
          std::fill(out + width, out + cols_, T(0));
        }
      }
    }
  });
}

template <class T>
int64_t VolumeConv<T>::tiles_of_phase() const {
  return pieces_of(pieces_of(axes_[2].out, axes_[2].divide), rows_);
}

// The taps that the tile's pixels, the first of which is (z, y, x), see.
template <class T>
void VolumeConv<T>::see_taps(gemm::TileArgs<T>& t, const T* image, int64_t z, int64_t y, int64_t x,
                             SeenTaps& seen) const {
  const auto& [d, h, w] = axes_;
  seen.pointers.clear();
  for (int64_t kd = 0; kd < d.window; ++kd) {
    const int64_t plane = d.source(z, kd);
    for (int64_t kh = 0; plane >= 0 && kh < h.window; ++kh) {
      const int64_t row = h.source(y, kh);
      for (int64_t kw = 0; row >= 0 && kw < w.window; ++kw) {
        if ((x * w.step - w.pad + kw * w.reach) % w.divide != 0) continue;
        seen.offsets[static_cast<size_t>(t.taps++)] = ((kd * h.window + kh) * w.window + kw) * depth_ * cols_;
        const T* line = image + (plane * h.in + row) * w.in * in_c_;
        for (int64_t i = 0; i < rows_; ++i) {
          const int64_t col = i < t.rows ? w.source(x + i * w.divide, kw) : -1;
          seen.pointers.push_back(col < 0 ? zeros_.data() : line + col * in_c_);
        }
      }
    }
  }
}

template <class T>
void VolumeConv<T>::multiply(gemm::TileArgs<T>& t, const T* packed, T* out, SeenTaps& seen) const {
  t.row_pointers = seen.pointers.data();
  t.row_pointer_stride = rows_;
  t.b_offsets = seen.offsets.data();
  t.b_step = cols_;
  for (int64_t group = 0; group < groups_; ++group) {
    for (size_t i = 0; group > 0 && i < seen.pointers.size(); ++i) {
      if (seen.pointers[i] != zeros_.data()) seen.pointers[i] += depth_;
    }
    for (int64_t panel = 0; panel < panels_; ++panel) {
      t.cols = static_cast<int>(std::min<int64_t>(cols_, group_out_ - panel * cols_));
      t.b = packed + (group * panels_ + panel) * panel_size();
      t.c = out + group * group_out_ + panel * cols_;
      gemm::kernels<T>().tile(t);
    }
  }
}

template <class T>
void VolumeConv<T>::run_tile(const T* in, const T* packed, T* out, int64_t index, SeenTaps& seen) const {
  const auto& [d, h, w] = axes_;
  const int64_t tiles = tiles_of_phase(), line = index / tiles / phases();
  const int64_t x = index / tiles % phases() + index % tiles * rows_ * w.divide;
  if (x >= w.out) return;
  gemm::TileArgs<T> t{};
  t.rows = static_cast<int>(std::min<int64_t>(rows_, pieces_of(w.out - x, w.divide)));
  t.depth = depth_;
  t.c_step = w.divide * out_c_;
  const int64_t y = line % h.out, z = line / h.out % d.out, image = line / h.out / d.out;
  see_taps(t, in + image * d.in * h.in * w.in * in_c_, z, y, x, seen);
  multiply(t, packed, out + (line * w.out + x) * out_c_, seen);
}

template <class T>
void VolumeConv<T>::run(Parallel& parallel, const T* in, const T* packed_filter, T* out) const {
  const int64_t units = batch_ * axes_[0].out * axes_[1].out * phases() * tiles_of_phase();
  const double cost = static_cast<double>(out_c_ * taps() * depth_ * rows_) * 0.02 + 200;
  parallel.run(units, cost, [&](int64_t begin, int64_t end) {
    static constinit thread_local KeptByThread<SeenTaps> kept_seen;
    auto& seen = kept_seen.get();
    seen.offsets.resize(static_cast<size_t>(taps()));
    for (int64_t i = begin; i < end; ++i) run_tile(in, packed_filter, out, i, seen);
  });
}

template class VolumeConv<float>;
template class VolumeConv<double>;

}  // namespace emplace
