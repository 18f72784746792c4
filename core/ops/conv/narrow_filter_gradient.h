/// NarrowFilterGradient: the gradient of a convolution with respect to its filter where the input has few channels (a
/// grey or colour image), NHWC. A tile of one tap's channels would be nearly empty; so the rows of a tile are all taps
/// and channels, each written out as the line of values that the pixels of a block see through it.
#pragma once

#include <algorithm>

#include "core/base/parallel.h"
#include "core/ops/conv/conv_shape.h"

namespace emplace {

/// Immutable after construction. T: float, double.
template <class T>
class NarrowFilterGradient {
 public:
  static bool suits(const ConvShape& s) {
    constexpr int64_t kMostLines = 1024;  // about 1 MB for a worker
    return s.groups() == 1 && s.in_c <= 4 && s.taps() > 1 && s.taps() <= kMostLines / std::max<int64_t>(1, s.in_c);
  }

  /// REQUIRES: suits(shape).
  explicit NarrowFilterGradient(const ConvShape& shape);
  /// Elements of scratch that run() needs.
  int64_t scratch_size() const { return parts_ * size_; }
  /// in [batch, in_h, in_w, in_c], out_gradient [batch, out_h, out_w, out_c], filter [h, w, in_c, out_c].
  /// The order of every sum depends on the shape only.
  void run(Parallel& parallel, const T* in, const T* out_gradient, T* scratch, T* filter) const;

 private:
  struct Buffers;
  void add_pixels(const T* in, const T* gradient, int64_t begin, int64_t end, Buffers& buffers, T* sums) const;
  void write_lines(const T* in, int64_t begin, int64_t end, T* lines) const;
  void write_run(const T* in, int64_t n, int64_t oh, int64_t first, int64_t count, T* lines) const;

  ConvShape shape_;
  int64_t lines_, size_;   // taps times channels; elements of the filter
  int64_t parts_;          // of the pixels: each has sums of its own, added at the end
  int rows_, cols_;        // of a tile
  int64_t gradient_step_;  // elements between pixels of the gradient, padded to whole vectors
};

extern template class NarrowFilterGradient<float>;
extern template class NarrowFilterGradient<double>;

}  // namespace emplace
