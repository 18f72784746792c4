// MaxPoolWithArgmax, MaxPoolGradWithArgmax: the largest cell of each window and where it is, gradients back to there.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "core/base/cat.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/finite.h"
#include "core/ops/kit/numeric.h"
#include "core/ops/kit/with_real.h"
#include "core/ops/nn/pool_window.h"

namespace emplace {
namespace {

Status argmax_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(Shape out, pooled_shape(PoolAttrs::of(c.attrs()), c.input(0), "MaxPoolWithArgmax"));
  c.set_output(0, out);
  c.set_output(1, out);
  return ok_status();
}

Status argmax_gradient_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Shape image, c.with_rank(0, 4));
  c.set_output(0, image);
  return ok_status();
}

/// Row `oh` of the windows of one image. The number of its first cell is `first`.
template <class T, class I>
void argmax_row(const PoolWindow& p, const void* cells, int64_t first, int64_t oh, void* largest, void* places) {
  const T* image = static_cast<const T*>(cells);
  T* best = static_cast<T*>(largest);
  I* at = static_cast<I*>(places);
  for (int64_t ow = 0; ow < p.w.out; ++ow, best += p.channels, at += p.channels) {
    std::fill_n(best, p.channels, Finite<T>::lowest());
    std::fill_n(at, p.channels, static_cast<I>(-1));
    bool any = false;
    for (int64_t y = p.h.begin(oh); y < p.h.end(oh); ++y) {
      for (int64_t x = p.w.begin(ow); x < p.w.end(ow); ++x) {
        const int64_t offset = (y * p.w.size + x) * p.channels;
        const T* cell = image + offset;
        // The first cell counts whatever it is, then only larger ones do: no other NaN.
#pragma GCC ivdep
        for (int64_t k = 0; k < p.channels; ++k) {
          const bool larger = !any || cell[k] > best[k];
          best[k] = larger ? cell[k] : best[k];
          at[k] = larger ? static_cast<I>(first + offset + k) : at[k];
        }
        any = true;
      }
    }
  }
}

class MaxPoolWithArgmax final : public Kernel {
 public:
  using Code = void (*)(const PoolWindow& p, const void* image, int64_t first, int64_t oh, void* out, void* places);
  MaxPoolWithArgmax(const KernelInit& init, Code code)
      : attrs_(PoolAttrs::of(init.attrs)), of_all_(init.attrs.flag("include_batch_in_index")), code_(code) {}
  Status run(KernelContext& c) override {
    ASSIGN_OR_RETURN(const PoolWindow p, argmax_window(attrs_, c.input(0).shape()));
    RETURN_IF_ERROR(ensure_output(c, 0, p.out));
    RETURN_IF_ERROR(ensure_output(c, 1, p.out));
    const int64_t image = p.h.size * p.w.size * p.channels, row = p.w.out * p.channels;
    const double cells =
        static_cast<double>(std::min(p.h.window, p.h.size)) * static_cast<double>(std::min(p.w.window, p.w.size));
    c.parallel_for(p.batch * p.h.out, cells * static_cast<double>(row), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const int64_t first = r / p.h.out * image;
        code_(p, element_at(c.input(0), first), of_all_ ? first : 0, r % p.h.out, element_at(c.output(0), r * row),
              element_at(c.output(1), r * row));
      }
    });
    return ok_status();
  }

 private:
  const PoolAttrs attrs_;
  const bool of_all_;
  const Code code_;
};

Result<std::unique_ptr<Kernel>> make_argmax(const KernelInit& init) {
  const MaxPoolWithArgmax::Code code = with_real(init.input_types[0], [&](auto zero) -> MaxPoolWithArgmax::Code {
    using T = decltype(zero);
    return init.output_types[1] == DType::kInt32 ? argmax_row<T, int32_t> : argmax_row<T, int64_t>;
  });
  return std::unique_ptr<Kernel>(new MaxPoolWithArgmax(init, code));
}

/// Adds n gradients to the cells that `places` say, counted from `out` on.
template <class T>
void add_to_places(const void* gradients, const int64_t* places, void* out, int64_t n) {
  const T* gradient = static_cast<const T*>(gradients);
  for (int64_t i = 0; i < n; ++i) {
    T& cell = static_cast<T*>(out)[places[i]];
    cell = static_cast<T>(add(cell, gradient[i]));
  }
}

class MaxPoolGradWithArgmax final : public Kernel {
 public:
  using Code = void (*)(const void* gradients, const int64_t* places, void* out, int64_t n);
  MaxPoolGradWithArgmax(const KernelInit& init, Code code)
      : attrs_(PoolAttrs::of(init.attrs)), of_all_(init.attrs.flag("include_batch_in_index")), code_(code) {}
  Status run(KernelContext& c) override {
    RETURN_IF_ERROR(check_argmax_gradient(attrs_, c));
    const Shape& image = c.input(0).shape();
    RETURN_IF_ERROR(ensure_output(c, 0, image));
    Tensor& out = c.output(0);
    const int64_t cells = image.num_elements(), n = c.input(2).num_elements(), images = image.dim(0);
    if (cells == 0 && n > 0) return out_of_range(c, cells);
    if (cells == 0) return ok_status();
    std::atomic<bool> wrong{false}, elsewhere{false};
    const int64_t each = n / images, size = cells / images;
    c.parallel_for(images, 2.0 * static_cast<double>(each + size), [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        const int64_t* places = c.in<int64_t>(2) + b * each;
        const int64_t first = of_all_ ? b * size : 0, from = of_all_ ? 0 : b * size;
        std::memset(element_at(out, b * size), 0, static_cast<size_t>(size * element_stride(out.dtype())));
        if (std::any_of(places, places + each, [&](int64_t p) { return p < first || p >= first + size; })) {
          const bool none =
              std::any_of(places, places + each, [&](int64_t p) { return p < -from || p >= cells - from; });
          (none ? wrong : elsewhere) = true;
          continue;
        }
        code_(element_at(c.input(1), b * each), places, element_at(out, from), each);
      }
    });
    if (wrong) return out_of_range(c, of_all_ ? cells : size);
    if (elsewhere) return run_by_one(c, each, size);
    return ok_status();
  }

 private:
  /// Places in other images than the gradient's own: one after the other, in the order in which they stand.
  Status run_by_one(KernelContext& c, int64_t each, int64_t size) const {
    Tensor& out = c.output(0);
    std::memset(out.raw(), 0, static_cast<size_t>(out.num_elements() * element_stride(out.dtype())));
    for (int64_t b = 0; b < c.input(0).shape().dim(0); ++b) {
      code_(element_at(c.input(1), b * each), c.in<int64_t>(2) + b * each, element_at(out, of_all_ ? 0 : b * size),
            each);
    }
    return ok_status();
  }
  /// TensorFlow's process ends here.
  Status out_of_range(const KernelContext& c, int64_t size) const {
    const int64_t* places = c.in<int64_t>(2);
    const int64_t* bad =
        std::find_if(places, places + c.input(2).num_elements(), [&](int64_t p) { return p < 0 || p >= size; });
    return invalid_argument(cat("argmax[", bad - places, "] is ", *bad, ", but ",
                                of_all_ ? "the images have " : "an image has ", size,
                                " elements: take the places that MaxPoolWithArgmax gave"));
  }

  const PoolAttrs attrs_;
  const bool of_all_;
  const Code code_;
};

Result<std::unique_ptr<Kernel>> make_argmax_gradient(const KernelInit& init) {
  const MaxPoolGradWithArgmax::Code code = with_real(
      init.input_types[0], [](auto zero) -> MaxPoolGradWithArgmax::Code { return add_to_places<decltype(zero)>; });
  return std::unique_ptr<Kernel>(new MaxPoolGradWithArgmax(init, code));
}

Status argmax_gradient(GradientContext& g) {
  g.set(0, g.add("MaxPoolGradWithArgmax", {g.input(0), g.grad(0), g.output(1)},
                 g.copy_attrs({"ksize", "strides", "padding", "include_batch_in_index"})));
  return g.status();
}

}  // namespace

OpDef max_pool_with_argmax_op() {
  return OpDef("MaxPoolWithArgmax")
      .doc("The largest cell of each window, and its number in its image or, with include_batch_in_index, in all.")
      .shape(argmax_shape)
      .cpu(kRealNumbers, make_argmax)
      .gradient(argmax_gradient);
}
OpDef max_pool_grad_with_argmax_op() {
  return OpDef("MaxPoolGradWithArgmax")
      .doc("Each window's gradient, added to the cell that MaxPoolWithArgmax found.")
      .shape(argmax_gradient_shape)
      .cpu(kRealNumbers, make_argmax_gradient);
}

}  // namespace emplace
