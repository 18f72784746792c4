// CumulativeLogsumexp: logarithms of running sums of exponentials along one axis.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/cat.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/finite.h"
#include "core/ops/kit/numeric.h"

namespace emplace {
namespace {

template <class T>
class LogScan final : public Kernel {
 public:
  explicit LogScan(const KernelInit& init)
      : exclusive_(init.attrs.flag("exclusive")), reverse_(init.attrs.flag("reverse")) {}

  Status run(KernelContext& c) override {
    const Shape& shape = c.input(0).shape();
    if (c.input(1).num_elements() != 1) return invalid_argument("axis must be a scalar");
    const int64_t axis = int_at(c.input(1), 0), wrapped = axis < 0 ? axis + shape.rank() : axis;
    if (wrapped < 0 || wrapped >= shape.rank()) {
      return invalid_argument(
          cat("ScanOp: Expected scan axis in the range [", -shape.rank(), ", ", shape.rank(), "), but got ", axis));
    }
    const int64_t total = c.output(0).num_elements(), size = shape.dim(static_cast<int>(wrapped));
    if (total == 0) return ok_status();
    int64_t inner = 1;
    for (int d = static_cast<int>(wrapped) + 1; d < shape.rank(); ++d) inner *= shape.dim(d);
    c.parallel_for(total / size, 20.0 * static_cast<double>(size), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) scan(c, i / inner * size * inner + i % inner, size, inner);
    });
    return ok_status();
  }

 private:
  using W = std::conditional_t<kIsHalf<T>, float, T>;

  void scan(KernelContext& c, int64_t offset, int64_t size, int64_t stride) const {
    const T* x = c.in<T>(0) + offset;
    T* y = c.out<T>(0) + offset;
    // The logarithm of nothing is the lowest number, as in TensorFlow.
    W running = static_cast<W>(Finite<T>::lowest());
    for (int64_t i = 0; i < size; ++i) {
      const int64_t at = (reverse_ ? size - 1 - i : i) * stride;
      const W next = log_sum(running, static_cast<W>(x[at]));
      y[at] = static_cast<T>(exclusive_ ? running : next);
      running = next;
    }
  }
  static W log_sum(W a, W b) {
    const W high = std::max(a, b), low = std::min(a, b);
    if (high != high || low != low) return std::numeric_limits<W>::quiet_NaN();
    return std::isinf(high) ? high : high + std::log1p(std::exp(low - high));
  }

  const bool exclusive_, reverse_;
};

// TensorFlow's: the logarithms of the positive and of the negative part, scanned the other way.
Status log_scan_gradient(GradientContext& g) {
  const Value dy = g.grad(0), x = g.input(0), y = g.output(0);
  const DType type = g.type(x);
  const double lowest = type == DType::kDouble     ? std::numeric_limits<double>::lowest()
                        : type == DType::kHalf     ? -65504
                        : type == DType::kBFloat16 ? -3.3895313892515355e38
                                                   : std::numeric_limits<float>::lowest();
  const GradientContext::AttrList how{{"exclusive", AttrValue::of(g.attrs().flag("exclusive"))},
                                      {"reverse", AttrValue::of(!g.attrs().flag("reverse"))}};
  const auto part = [&](std::string_view compare, Value size) {
    Value some = g.add(compare, {dy, g.scalar(type, 0)});
    Value log = g.add("SelectV2", {some, g.add("Log", {size}), g.scalar(type, lowest)});
    Value sums = g.add("CumulativeLogsumexp", {g.add("Sub", {log, y}, {}, "sub"), g.input(1)}, how);
    return g.add("Exp", {g.add("AddV2", {sums, x}, {}, "add")});
  };
  g.set(0, g.add("Sub", {part("Greater", dy), part("Less", g.neg(dy))}, {}, "sub"));
  return g.status();
}

}  // namespace

OpDef cumulative_logsumexp_op() {
  return OpDef("CumulativeLogsumexp")
      .doc("The logarithms of running sums of exp(x) along an axis.")
      .shape(shape_unchanged)
      .cpu<float>(make<LogScan<float>>)
      .cpu<double>(make<LogScan<double>>)
      .cpu<half>(make<LogScan<half>>)
      .cpu<bfloat16>(make<LogScan<bfloat16>>)
      .gradient(log_scan_gradient)
      .sample("x=f32[3,4] uniform(-2,2); axis=1");
}

}  // namespace emplace
