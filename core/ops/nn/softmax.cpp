// Softmax and LogSoftmax along the last axis.
#include <algorithm>
#include <cmath>

#include "core/base/scratch_vector.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/kit/convert.h"
#include "core/ops/nn/softmax_rows.h"

namespace emplace {
namespace {

Status softmax_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(Shape logits, c.with_rank_at_least(0, 1));
  c.set_output(0, std::move(logits));
  return ok_status();
}

/// y = exp(x - max) / sum. A row of -infinity is NaN.
template <class T>
void softmax_row(const T* x, T* y, int64_t n) {
  T top;
  const T scale = T(1) / exp_row(T())(x, y, n, &top);
  for (int64_t i = 0; i < n; ++i) y[i] *= scale;
}

/// y = x - max - log(sum of exp(x - max)).
template <class T>
void log_softmax_row(const T* x, T* y, int64_t n) {
  ScratchVector<T> kept;  // the output may lie over the input
  const T* from = x;
  if (x == y) {
    kept.assign(x, x + n);
    from = kept.data();
  }
  T top;
  const T log_sum = std::log(exp_row(T())(from, y, n, &top));
  for (int64_t i = 0; i < n; ++i) y[i] = from[i] - top - log_sum;
}

/// Row by row; T is the type to compute in.
template <class T, bool kLog>
class Softmax final : public Kernel {
 public:
  explicit Softmax(const KernelInit& init)
      : widen_(widening(init.input_types[0])), narrow_(narrowing(init.input_types[0])) {}

  Status run(KernelContext& c) override {
    const int64_t total = c.output(0).num_elements();
    if (total == 0) return ok_status();
    const int64_t cols = c.input(0).shape().dim_from_end(1);
    c.parallel_for(total / cols, static_cast<double>(cols), [&](int64_t begin, int64_t end) {
      ScratchVector<T> wide(widen_ ? static_cast<size_t>(cols) : 0);
      for (int64_t r = begin; r < end; ++r) {
        if (widen_) {
          widen_(c.in<uint16_t>(0) + r * cols, wide.data(), cols);
          row(wide.data(), wide.data(), cols);
          narrow_(wide.data(), c.out<uint16_t>(0) + r * cols, cols);
        } else {
          row(c.in<T>(0) + r * cols, c.out<T>(0) + r * cols, cols);
        }
      }
    });
    return ok_status();
  }

 private:
  static void row(const T* x, T* y, int64_t n) { kLog ? log_softmax_row(x, y, n) : softmax_row(x, y, n); }
  ConvertFunction widen_, narrow_;  // halves; null for the others
};

template <bool kLog>
OpDef softmax(std::string_view name, std::string_view doc) {
  return OpDef(name)
      .doc(doc)
      .shape(softmax_shape)
      .may_overwrite_input()
      .cpu(kHalves | DTypeSet{DType::kFloat}, make<Softmax<float, kLog>>)
      .template cpu<double>(make<Softmax<double, kLog>>)
      .sample("logits=f32[2,3] uniform(-2,2)")
      .sample("logits=f32[4,0]")
      .sample("logits=f32[1,1000] uniform(900,1000)");
}

// dx = (dy - sum(dy * y)) * y
Status softmax_gradient(GradientContext& g) {
  Value last = g.ints({-1}, "Sum/reduction_indices");
  Value sum = g.sum(g.mul(g.grad(0), g.output(0)), last, true);
  g.set(0, g.mul(g.add("Sub", {g.grad(0), sum}, {}, "sub"), g.output(0)));
  return g.status();
}

// dx = dy - sum(dy) * exp(y)
Status log_softmax_gradient(GradientContext& g) {
  Value softmax = g.add("Exp", {g.output(0)});
  Value sum = g.sum(g.grad(0), g.ints({-1}, "Sum/reduction_indices"), true);
  g.set(0, g.add("Sub", {g.grad(0), g.mul(sum, softmax)}, {}, "sub"));
  return g.status();
}

}  // namespace

OpDef softmax_op() {
  return softmax<false>("Softmax", "exp(x[i]) / sum_j exp(x[j]) along the last axis.").gradient(softmax_gradient);
}
OpDef log_softmax_op() {
  return softmax<true>("LogSoftmax", "x[i] - log(sum_j exp(x[j])) along the last axis.").gradient(log_softmax_gradient);
}

}  // namespace emplace
