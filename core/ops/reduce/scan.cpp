// Cumsum and Cumprod: running sums and products along one axis.
#include "core/base/cat.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/numeric.h"

namespace emplace {
namespace {

struct RunningSum {
  template <class T>
  static T start() {
    return T(0);
  }
  template <class T>
  static T combine(T a, T b) {
    return add(a, b);
  }
};
struct RunningProduct {
  template <class T>
  static T start() {
    return T(1);
  }
  template <class T>
  static T combine(T a, T b) {
    if constexpr (std::is_integral_v<T> && sizeof(T) < sizeof(int))
      return static_cast<T>(static_cast<uint32_t>(a) * static_cast<uint32_t>(b));
    else
      return multiply(a, b);
  }
};

/// Halves keep the running result in float.
template <class T>
using Running = std::conditional_t<kIsHalf<T>, float, T>;

template <class S, class T>
class Scan final : public Kernel {
 public:
  explicit Scan(const KernelInit& init)
      : exclusive_(init.attrs.flag("exclusive")), reverse_(init.attrs.flag("reverse")) {}

  Status prepare(KernelContext& c) override {
    const Shape& shape = c.input(0).shape();
    if (c.input(1).shape().rank() != 0) {
      return invalid_argument(cat("ScanOp: axis must be a scalar, not ", c.input(1).shape().to_string()));
    }
    const int64_t axis = int_at(c.input(1), 0), wrapped = axis < 0 ? axis + shape.rank() : axis;
    if (wrapped < 0 || wrapped >= shape.rank()) {
      return invalid_argument(
          cat("ScanOp: Expected scan axis in the range [", -shape.rank(), ", ", shape.rank(), "), but got ", axis));
    }
    size_ = shape.dim(static_cast<int>(wrapped));
    inner_ = 1;
    for (int d = static_cast<int>(wrapped) + 1; d < shape.rank(); ++d) inner_ *= shape.dim(d);
    return ok_status();
  }

  Status run(KernelContext& c) override {
    const int64_t total = c.output(0).num_elements();
    if (total == 0) return ok_status();
    c.parallel_for(total / size_, static_cast<double>(size_) + 5, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) scan(c, i / inner_ * size_ * inner_ + i % inner_);
    });
    return ok_status();
  }

 private:
  void scan(KernelContext& c, int64_t offset) const {
    const T* x = c.in<T>(0) + offset;
    T* y = c.out<T>(0) + offset;
    auto running = S::template start<Running<T>>();
    for (int64_t i = 0; i < size_; ++i) {
      const int64_t at = (reverse_ ? size_ - 1 - i : i) * inner_;
      const auto next = S::combine(running, static_cast<Running<T>>(x[at]));
      y[at] = static_cast<T>(exclusive_ ? running : next);
      running = next;
    }
  }

  bool exclusive_, reverse_;
  int64_t size_ = 0, inner_ = 1;
};

template <class S>
OpDef scan_op(std::string_view name, std::string_view doc) {
  return OpDef(name)
      .doc(doc)
      .shape(shape_unchanged)
      .value_inputs({1})
      .template cpu<float>(make<Scan<S, float>>)
      .template cpu<double>(make<Scan<S, double>>)
      .template cpu<half>(make<Scan<S, half>>)
      .template cpu<bfloat16>(make<Scan<S, bfloat16>>)
      .template cpu<int8_t>(make<Scan<S, int8_t>>)
      .template cpu<int16_t>(make<Scan<S, int16_t>>)
      .template cpu<int32_t>(make<Scan<S, int32_t>>)
      .template cpu<int64_t>(make<Scan<S, int64_t>>)
      .template cpu<uint8_t>(make<Scan<S, uint8_t>>)
      .template cpu<uint16_t>(make<Scan<S, uint16_t>>)
      .template cpu<uint32_t>(make<Scan<S, uint32_t>>)
      .template cpu<uint64_t>(make<Scan<S, uint64_t>>)
      .template cpu<complex64>(make<Scan<S, complex64>>)
      .template cpu<complex128>(make<Scan<S, complex128>>)
      .sample("x=f32[3,4] uniform(-2,2); axis=1")
      .sample("x=f32[3,4] uniform(-2,2); axis=0; exclusive=true; reverse=true");
}

Value scan(GradientContext& g, std::string_view op, Value x, bool reverse) {
  return g.add(op, {x, g.input(1)},
               {{"exclusive", AttrValue::of(g.attrs().flag("exclusive"))}, {"reverse", AttrValue::of(reverse)}});
}

Status cumsum_gradient(GradientContext& g) {
  g.set(0, scan(g, "Cumsum", g.grad(0), !g.attrs().flag("reverse")));
  return g.status();
}

Status cumprod_gradient(GradientContext& g) {
  const bool reverse = g.attrs().flag("reverse");
  Value product = scan(g, "Cumprod", g.input(0), reverse);
  Value sums = scan(g, "Cumsum", g.mul(product, g.grad(0)), !reverse);
  g.set(0, g.add("DivNoNan", {sums, g.input(0)}, {}, "div_no_nan"));
  return g.status();
}

}  // namespace

OpDef cumsum_op() { return scan_op<RunningSum>("Cumsum", "The running sum along an axis.").gradient(cumsum_gradient); }
OpDef cumprod_op() {
  return scan_op<RunningProduct>("Cumprod", "The running product along an axis.").gradient(cumprod_gradient);
}

}  // namespace emplace
