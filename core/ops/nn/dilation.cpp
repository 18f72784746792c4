// Dilation2D, Dilation2DBackpropInput, Dilation2DBackpropFilter: the largest sum of a cell of each window and its tap
// of the filter, and gradients back to the cell, and to the tap.
#include <algorithm>

#include "core/base/scratch_vector.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/finite.h"
#include "core/ops/kit/numeric.h"
#include "core/ops/kit/with_real.h"
#include "core/ops/nn/dilation_window.h"

namespace emplace {
namespace {

Status dilation_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const DilationWindow p, DilationWindow::of(c.attrs(), c.input(0), c.input(1)));
  c.set_output(0, p.out);
  return ok_status();
}
Status dilation_input_shape(ShapeContext& c) {
  c.set_output(0, c.input(0));
  return ok_status();
}
Status dilation_filter_shape(ShapeContext& c) {
  c.set_output(0, c.input(1));
  return ok_status();
}

/// Of one window, for channels [begin, end): the largest sum and which tap gave it first; -1: none is more than the
/// lowest number.
template <class T>
void largest_sums(const DilationWindow& p, const T* image, const T* filter, int64_t oh, int64_t ow, int64_t begin,
                  int64_t end, T* best, int32_t* taps) {
  std::fill(best + begin, best + end, Finite<T>::lowest());
  std::fill(taps + begin, taps + end, -1);
  for (int64_t h = 0; h < p.h.taps; ++h) {
    const int64_t y = p.h.begin(oh) + h * p.h.rate;
    if (y < 0 || y >= p.h.in) continue;
    for (int64_t w = 0; w < p.w.taps; ++w) {
      const int64_t x = p.w.begin(ow) + w * p.w.rate;
      if (x < 0 || x >= p.w.in) continue;
      const auto tap = static_cast<int32_t>(h * p.w.taps + w);
      const T *cell = image + (y * p.w.in + x) * p.depth, *weight = filter + tap * p.depth;
#pragma GCC ivdep
      for (int64_t k = begin; k < end; ++k) {
        const T sum = static_cast<T>(add(cell[k], weight[k]));
        const bool larger = sum > best[k];
        best[k] = larger ? sum : best[k];
        taps[k] = larger ? tap : taps[k];
      }
    }
  }
}

struct DilationArrays {
  const void *image, *filter, *gradient;
  void* out;
};

template <class T>
void dilate_row(const DilationWindow& p, const DilationArrays& a, int64_t row) {
  const T* image = static_cast<const T*>(a.image) + row / p.h.out * p.h.in * p.w.in * p.depth;
  T* out = static_cast<T*>(a.out) + row * p.w.out * p.depth;
  ScratchVector<int32_t> taps(static_cast<size_t>(p.depth));
  for (int64_t ow = 0; ow < p.w.out; ++ow, out += p.depth) {
    largest_sums(p, image, static_cast<const T*>(a.filter), row % p.h.out, ow, 0, p.depth, out, taps.data());
  }
}

/// Calls f(oh, ow, k, tap, gradient) for the windows of image `b`, in order, channels [begin, end).
template <class T>
void for_gradients(const DilationWindow& p, const DilationArrays& a, int64_t b, int64_t begin, int64_t end,
                   const auto& f) {
  const T* image = static_cast<const T*>(a.image) + b * p.h.in * p.w.in * p.depth;
  const T* gradient = static_cast<const T*>(a.gradient) + b * p.h.out * p.w.out * p.depth;
  ScratchVector<T> best(static_cast<size_t>(p.depth));
  ScratchVector<int32_t> taps(static_cast<size_t>(p.depth));
  for (int64_t oh = 0; oh < p.h.out; ++oh) {
    for (int64_t ow = 0; ow < p.w.out; ++ow, gradient += p.depth) {
      largest_sums(p, image, static_cast<const T*>(a.filter), oh, ow, begin, end, best.data(), taps.data());
      for (int64_t k = begin; k < end; ++k) f(oh, ow, k, taps[static_cast<size_t>(k)], gradient[k]);
    }
  }
}

/// To the cells of image `b`. Where no sum is the largest, the window's first cell has the gradient.
template <class T>
void dilation_to_cells(const DilationWindow& p, const DilationArrays& a, int64_t b) {
  const int64_t cells = p.h.in * p.w.in * p.depth;
  T* out = static_cast<T*>(a.out) + b * cells;
  std::fill_n(out, cells, T{});
  for_gradients<T>(p, a, b, 0, p.depth, [&](int64_t oh, int64_t ow, int64_t k, int32_t tap, T gradient) {
    int64_t y = std::max<int64_t>(p.h.begin(oh), 0), x = std::max<int64_t>(p.w.begin(ow), 0);
    if (tap >= 0) {
      y = p.h.begin(oh) + tap / p.w.taps * p.h.rate;
      x = p.w.begin(ow) + tap % p.w.taps * p.w.rate;
    }
    if (y >= p.h.in || x >= p.w.in) return;
    T& cell = out[(y * p.w.in + x) * p.depth + k];
    cell = static_cast<T>(add(cell, gradient));
  });
}

/// To the filter's taps of channels [begin, end), image after image.
template <class T>
void dilation_to_taps(const DilationWindow& p, const DilationArrays& a, int64_t begin, int64_t end) {
  T* out = static_cast<T*>(a.out);
  for (int64_t tap = 0; tap < p.h.taps * p.w.taps; ++tap)
    std::fill(out + tap * p.depth + begin, out + tap * p.depth + end, T{});
  for (int64_t b = 0; b < p.batch; ++b) {
    for_gradients<T>(p, a, b, begin, end, [&](int64_t, int64_t, int64_t k, int32_t tap, T gradient) {
      T& weight = out[std::max(tap, 0) * p.depth + k];
      weight = static_cast<T>(add(weight, gradient));
    });
  }
}

enum class DilationOf : uint8_t { kImage, kInputGradient, kFilterGradient };

struct DilationCode {
  void (*row)(const DilationWindow& p, const DilationArrays& a, int64_t row);
  void (*to_cells)(const DilationWindow& p, const DilationArrays& a, int64_t b);
  void (*to_taps)(const DilationWindow& p, const DilationArrays& a, int64_t begin, int64_t end);
};

class Dilation final : public Kernel {
 public:
  Dilation(const KernelInit& init, DilationCode code)
      : attrs_(init.attrs),
        of_(init.op == "Dilation2D"                ? DilationOf::kImage
            : init.op == "Dilation2DBackpropInput" ? DilationOf::kInputGradient
                                                   : DilationOf::kFilterGradient),
        code_(code) {}
  Status run(KernelContext& c) override {
    ASSIGN_OR_RETURN(const DilationWindow p, DilationWindow::of_run(attrs_, c));
    const Shape& shape = of_ == DilationOf::kImage           ? p.out
                         : of_ == DilationOf::kInputGradient ? c.input(0).shape()
                                                             : c.input(1).shape();
    RETURN_IF_ERROR(ensure_output(c, 0, shape));
    if (c.output(0).num_elements() == 0) return ok_status();
    const DilationArrays a{c.input(0).raw(), c.input(1).raw(), of_ == DilationOf::kImage ? nullptr : c.input(2).raw(),
                           c.output(0).raw()};
    const double row = static_cast<double>(p.h.taps * p.w.taps) * static_cast<double>(p.w.out * p.depth) + 1;
    if (of_ == DilationOf::kImage) {
      c.parallel_for(p.batch * p.h.out, row, [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r) code_.row(p, a, r);
      });
    } else if (of_ == DilationOf::kInputGradient) {
      c.parallel_for(p.batch, row * static_cast<double>(p.h.out), [&](int64_t begin, int64_t end) {
        for (int64_t b = begin; b < end; ++b) code_.to_cells(p, a, b);
      });
    } else {
      c.parallel_for(p.depth, row * static_cast<double>(p.batch * p.h.out) / static_cast<double>(p.depth),
                     [&](int64_t begin, int64_t end) { code_.to_taps(p, a, begin, end); });
    }
    return ok_status();
  }

 private:
  const Attrs attrs_;
  const DilationOf of_;
  const DilationCode code_;
};

Result<std::unique_ptr<Kernel>> make_dilation(const KernelInit& init) {
  const DilationCode code = with_real(init.input_types[0], [](auto zero) {
    using T = decltype(zero);
    return DilationCode{dilate_row<T>, dilation_to_cells<T>, dilation_to_taps<T>};
  });
  return std::unique_ptr<Kernel>(new Dilation(init, code));
}

Status dilation_gradient(GradientContext& g) {
  const auto attrs = [&] { return g.copy_attrs({"strides", "rates", "padding"}); };
  g.set(0, g.add("Dilation2DBackpropInput", {g.input(0), g.input(1), g.grad(0)}, attrs()));
  g.set(1, g.add("Dilation2DBackpropFilter", {g.input(0), g.input(1), g.grad(0)}, attrs()));
  return g.status();
}

}  // namespace

OpDef dilation_2d_op() {
  return OpDef("Dilation2D")
      .doc("The largest sum of a cell of each window and its tap of the filter, channel by channel.")
      .shape(dilation_shape)
      .cpu(kRealNumbers, make_dilation)
      .gradient(dilation_gradient);
}
OpDef dilation_2d_backprop_input_op() {
  return OpDef("Dilation2DBackpropInput")
      .doc("Each window's gradient, added to the cell that Dilation2D chose.")
      .shape(dilation_input_shape)
      .cpu(kRealNumbers, make_dilation);
}
OpDef dilation_2d_backprop_filter_op() {
  return OpDef("Dilation2DBackpropFilter")
      .doc("Each window's gradient, added to the tap of the filter that Dilation2D chose.")
      .shape(dilation_filter_shape)
      .cpu(kRealNumbers, make_dilation);
}

}  // namespace emplace
