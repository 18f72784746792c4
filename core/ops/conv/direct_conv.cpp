#include "core/ops/conv/direct_conv.h"

#include <algorithm>

#include "core/ops/gemm/tile.h"

namespace emplace {
namespace {
constexpr int64_t kFewChannels = 8;
}  // namespace

template <class T>
DirectConv<T>::DirectConv(const ConvShape& shape) : shape_(shape) {
  in_h_ = shape.in_h;
  in_w_ = shape.in_w;
  in_c_ = shape.in_c;
  out_h_ = shape.out_h;
  out_w_ = shape.out_w;
  out_c_ = shape.out_c;
  groups_ = shape.groups();
  depth_ = shape.filter_c;
  group_out_ = groups_ > 0 ? out_c_ / groups_ : 0;
  rows_ = gemm::kernels<T>().max_rows;
  cols_ = gemm::kernels<T>().max_cols;
  panels_ = (group_out_ + cols_ - 1) / cols_;
  zeros_.assign(static_cast<size_t>(depth_), T(0));
  vertical_ = {shape.stride_h, shape.pad_top, shape.dilation_h, 1};
  horizontal_ = {shape.stride_w, shape.pad_left, shape.dilation_w, 1};
  gather_ = groups_ == 1 && depth_ <= kFewChannels;
}

template <class T>
DirectConv<T> DirectConv<T>::input_gradient(const ConvShape& shape) {
  DirectConv conv(shape);
  conv.backward_ = true;
  std::swap(conv.in_h_, conv.out_h_);
  std::swap(conv.in_w_, conv.out_w_);
  std::swap(conv.in_c_, conv.out_c_);
  std::swap(conv.depth_, conv.group_out_);
  conv.panels_ = (conv.group_out_ + conv.cols_ - 1) / conv.cols_;
  conv.zeros_.assign(static_cast<size_t>(conv.depth_), T(0));
  conv.vertical_ = {1, -shape.pad_top, -shape.dilation_h, shape.stride_h};
  conv.horizontal_ = {1, -shape.pad_left, -shape.dilation_w, shape.stride_w};
  conv.gather_ = conv.groups_ == 1 && conv.depth_ <= kFewChannels;
  return conv;
}

template <class T>
int64_t DirectConv<T>::packed_filter_size() const {
  return groups_ * panels_ * cols_ * shape_.taps() * depth_;
}

template <class T>
void DirectConv<T>::pack_filter(Parallel& parallel, const T* filter, T* packed) const {
  int64_t taps = shape_.taps();
  int64_t filter_out = shape_.out_c;  // the filter's last axis, in both directions
  parallel.run(groups_ * panels_, static_cast<double>(taps * depth_ * cols_) * 0.3, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      int64_t group = p / panels_, first = p % panels_ * cols_;
      int64_t width = std::min<int64_t>(cols_, group_out_ - first);
      T* out = packed + p * cols_ * taps * depth_;
      for (int64_t tap = 0; tap < taps; ++tap) {
        for (int64_t k = 0; k < depth_; ++k, out += cols_) {
          if (backward_) {  // out channels are the filter's input channels
            for (int64_t j = 0; j < width; ++j) out[j] = filter[(tap * shape_.filter_c + first + j) * filter_out + group * depth_ + k];
          } else {
            std::copy_n(filter + (tap * depth_ + k) * filter_out + group * group_out_ + first, width, out);
          }
          std::fill(out + width, out + cols_, T(0));
        }
      }
    }
  });
}

template <class T>
template <class F>
void DirectConv<T>::for_each_run(int64_t pixel, int rows, const F& body) const {
  int64_t x = pixel % out_w_, y = pixel / out_w_ % out_h_, image = pixel / out_w_ / out_h_;
  for (int i = 0; i < rows;) {
    int run = static_cast<int>(std::min<int64_t>(rows - i, out_w_ - x));
    body(i, run, x, y, image);
    i += run;
    x = 0;
    if (++y == out_h_) y = 0, ++image;
  }
}

template <class T>
void DirectConv<T>::fill_pointers(const T* in, int64_t pixel, int rows, const T** pointers) const {
  const T* outside = zeros_.data();
  for_each_run(pixel, rows, [&](int first, int run, int64_t x, int64_t y, int64_t image) {
    const T** tap = pointers + first;
    for (int64_t kh = 0; kh < shape_.window_h; ++kh) {
      int64_t row = vertical_.source(y, kh, in_h_);
      const T* line = in + (image * in_h_ + row) * in_w_ * in_c_;
      for (int64_t kw = 0; kw < shape_.window_w; ++kw, tap += rows_) {
        for (int i = 0; i < run; ++i) {
          int64_t col = row < 0 ? -1 : horizontal_.source(x + i, kw, in_w_);
          tap[i] = col < 0 ? outside : line + col * in_c_;
        }
      }
    }
  });
}

template <class T>
void DirectConv<T>::gather(const T* in, int64_t pixel, int rows, T* values) const {
  for_each_run(pixel, rows, [&](int first, int run, int64_t x, int64_t y, int64_t image) {
    T* out = values + first;
    for (int64_t kh = 0; kh < shape_.window_h; ++kh) {
      int64_t row = vertical_.source(y, kh, in_h_);
      const T* line = in + (image * in_h_ + row) * in_w_ * in_c_;
      for (int64_t kw = 0; kw < shape_.window_w; ++kw, out += depth_ * rows) {
        bool inside = row >= 0 && horizontal_.divide == 1 && horizontal_.source(x, kw, in_w_) >= 0 &&
                      horizontal_.source(x + run - 1, kw, in_w_) >= 0;
        const T* source = inside ? line + horizontal_.source(x, kw, in_w_) * in_c_ : nullptr;
        for (int64_t c = 0; c < depth_; ++c) {
          T* to = out + c * rows;
          int64_t step = horizontal_.step * in_c_;
          if (inside && step == 1) {
            for (int i = 0; i < run; ++i) to[i] = source[i];
          } else if (inside) {
            for (int i = 0; i < run; ++i) to[i] = source[i * step + c];
          } else {
            for (int i = 0; i < run; ++i) {
              int64_t col = row < 0 ? -1 : horizontal_.source(x + i, kw, in_w_);
              to[i] = col < 0 ? T(0) : line[col * in_c_ + c];
            }
          }
        }
      }
    }
  });
}

template <class T>
void DirectConv<T>::run_tiles(const T* in, const T* packed, T* out, int64_t begin, int64_t end,
                              const ConvEpilogue<T>& epilogue, RowSink* sink) const {
  const auto& kernel = gemm::kernels<T>();
  int64_t taps = shape_.taps(), pixels = shape_.batch * out_h_ * out_w_;
  thread_local std::vector<const T*> pointers;
  thread_local std::vector<T> values;
  if (gather_) {
    values.resize(static_cast<size_t>(taps * depth_ * rows_));
  } else {
    pointers.resize(static_cast<size_t>(taps * rows_));
  }
  for (int64_t tile = begin; tile < end; ++tile) {
    int64_t first_pixel = tile * rows_;
    gemm::TileArgs<T> t{};
    t.rows = static_cast<int>(std::min<int64_t>(rows_, pixels - first_pixel));
    if (gather_) {
      gather(in, first_pixel, t.rows, values.data());
      t.taps = 1;
      t.depth = taps * depth_;
      t.a = values.data();
      t.a_step = t.rows;
    } else {
      fill_pointers(in, first_pixel, t.rows, pointers.data());
      t.taps = taps;
      t.depth = depth_;
      t.row_pointers = pointers.data();
      t.row_pointer_stride = rows_;
    }
    for (int64_t group = 0; group < groups_; ++group) {
      if (group > 0) {
        for (const T*& p : pointers) p += p == zeros_.data() ? 0 : depth_;
      }
      for (int64_t panel = 0; panel < panels_; ++panel) {
        int64_t first = panel * cols_, channel = group * group_out_ + first;
        t.cols = static_cast<int>(std::min<int64_t>(cols_, group_out_ - first));
        t.b = packed + (group * panels_ + panel) * cols_ * taps * depth_;
        t.b_step = cols_;
        t.c = out + first_pixel * out_c_ + channel;
        t.c_step = out_c_;
        kernel.tile(t);
        if (epilogue.apply) epilogue.apply(epilogue.state, t.c, t.rows, t.cols, out_c_, channel);
      }
    }
    if (sink) sink->finished(first_pixel, t.rows);
  }
}

template <class T>
void DirectConv<T>::run(Parallel& parallel, const T* in, const T* packed_filter, T* out, const ConvEpilogue<T>& epilogue,
                        RowSink* sink) const {
  int64_t pixels = shape_.batch * out_h_ * out_w_;
  int64_t tiles = (pixels + rows_ - 1) / rows_;
  double cost_ns = static_cast<double>(rows_ * out_c_ * shape_.taps() * depth_) * 0.02 + 200;
  parallel.run(tiles, cost_ns, [&](int64_t begin, int64_t end) { run_tiles(in, packed_filter, out, begin, end, epilogue, sink); });
}

template class DirectConv<float>;
template class DirectConv<double>;
template class DirectConv<uint32_t>;

}  // namespace emplace
