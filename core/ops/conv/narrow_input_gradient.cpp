#include "core/ops/conv/narrow_input_gradient.h"

#include <algorithm>

#include "core/base/scratch_vector.h"

namespace emplace {

template <class T>
NarrowInputGradient<T>::NarrowInputGradient(const ConvShape& shape)
    : shape_(shape), products_(shape.out_w, shape.taps() * shape.in_c, shape.out_c, false, true) {}

// The products of output row `oh`, one tap after the other, onto the image's rows.
template <class T>
void NarrowInputGradient<T>::add_row(const T* products, int64_t oh, T* image) const {
  const ConvShape& s = shape_;
  for (int64_t kh = 0; kh < s.window_h; ++kh) {
    int64_t ih = oh * s.stride_h - s.pad_top + kh * s.dilation_h;
    if (ih < 0 || ih >= s.in_h) continue;
    for (int64_t kw = 0; kw < s.window_w; ++kw) {
      const T* from = products + (kh * s.window_w + kw) * s.in_c;
      int64_t offset = kw * s.dilation_w - s.pad_left;
      T* row = image + ih * s.in_w * s.in_c;
      // Columns of the output whose source column lies in the image.
      int64_t first = offset >= 0 ? 0 : (-offset + s.stride_w - 1) / s.stride_w;
      int64_t last = s.in_w - offset <= 0 ? 0 : std::min(s.out_w, (s.in_w - offset + s.stride_w - 1) / s.stride_w);
      for (int64_t ow = first; ow < last; ++ow) {
        T* to = row + (ow * s.stride_w + offset) * s.in_c;
        for (int64_t k = 0; k < s.in_c; ++k) to[k] += from[ow * columns() + k];
      }
    }
  }
}

template <class T>
void NarrowInputGradient<T>::run(Parallel& parallel, const T* out_gradient, const T* filter, T* scratch,
                                 T* in_gradient) const {
  const ConvShape& s = shape_;
  if (scratch_size() > 0) products_.pack_b(parallel, filter, scratch);
  const int64_t image_size = s.in_h * s.in_w * s.in_c, row_size = s.out_w * s.out_c;
  const double cost_ns = static_cast<double>(s.out_h * s.out_w) * static_cast<double>(columns()) *
                         (0.03 * static_cast<double>(s.out_c) + 1);
  parallel.run(s.batch, cost_ns, [&](int64_t begin, int64_t end) {
    Sequential alone;
    ScratchVector<T> products(static_cast<size_t>(s.out_w * columns()));
    for (int64_t n = begin; n < end; ++n) {
      T* image = in_gradient + n * image_size;
      std::fill_n(image, image_size, T(0));
      for (int64_t oh = 0; oh < s.out_h; ++oh) {
        products_.run(alone, out_gradient + (n * s.out_h + oh) * row_size, filter, scratch, products.data());
        add_row(products.data(), oh, image);
      }
    }
  });
}

template class NarrowInputGradient<float>;
template class NarrowInputGradient<double>;

}  // namespace emplace
