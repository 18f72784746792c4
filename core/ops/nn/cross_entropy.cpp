// SoftmaxCrossEntropyWithLogits and SparseSoftmaxCrossEntropyWithLogits: the loss of each row and its gradient.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/cat.h"
#include "core/base/scratch_vector.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/kit/broadcast.h"
#include "core/ops/kit/convert.h"
#include "core/ops/kit/element.h"
#include "core/ops/nn/softmax_rows.h"

namespace emplace {
namespace {

/// Logits and labels are broadcast against each other.
Status dense_shape(ShapeContext& c) {
  const Shape &logits = c.input(0), &labels = c.input(1);
  if (!logits.rank_known() || !labels.rank_known()) {
    ASSIGN_OR_RETURN(Shape known, logits.rank_known()   ? c.with_rank(0, 2)
                                  : labels.rank_known() ? c.with_rank(1, 2)
                                                        : Shape::unknown());
    c.set_output(0, Shape{-1});
    c.set_output(1, Shape{-1, -1});
    return ok_status();
  }
  ASSIGN_OR_RETURN(Shape both, broadcast_shapes(logits, labels));
  if (both.rank() != 2) return invalid_argument(cat("Shape must be rank 2 but is rank ", both.rank()));
  c.set_output(0, Shape{both.dim(0)});
  c.set_output(1, std::move(both));
  return ok_status();
}

Status sparse_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(Shape logits, c.with_rank(0, 2));
  ASSIGN_OR_RETURN(Shape labels, c.with_rank(1, 1));
  ASSIGN_OR_RETURN(int64_t rows, ShapeContext::merge_dim(logits.dim(0), labels.dim(0)));
  c.set_output(0, Shape{rows});
  c.set_output(1, Shape{rows, logits.dim(1)});
  return ok_status();
}

/// A row of a matrix that may be one row or one column for all, in the type to compute in.
template <class T>
class Rows {
 public:
  Rows(const Tensor& t, const Shape& broadcast_to)
      : data_(static_cast<const char*>(t.raw())), widen_(widening(t.dtype())), bytes_(element_stride(t.dtype())) {
    const int rank = t.shape().rank();
    const int64_t rows = rank < 2 ? 1 : t.shape().dim(0), cols = rank < 1 ? 1 : t.shape().dim_from_end(1);
    cols_ = broadcast_to.dim(1);
    row_step_ = rows == 1 ? 0 : cols;
    one_column_ = cols == 1 && cols_ != 1;
  }
  void read(int64_t r, T* to) const {
    const char* from = data_ + r * row_step_ * bytes_;
    const int64_t n = one_column_ ? 1 : cols_;
    if (widen_)
      widen_(from, to, n);
    else
      std::copy_n(reinterpret_cast<const T*>(from), n, to);
    if (one_column_) std::fill_n(to, cols_, T(to[0]));
  }

 private:
  const char* data_;
  ConvertFunction widen_;
  int64_t bytes_, cols_ = 0, row_step_ = 0;
  bool one_column_ = false;
};

/// Writes n results as elements of the op's type.
template <class T>
void write(Tensor& t, int64_t first, const T* from, int64_t n) {
  void* to = element_at(t, first);
  if (ConvertFunction narrow = narrowing(t.dtype()))
    narrow(from, to, n);
  else
    std::copy_n(from, n, static_cast<T*>(to));
}

/// loss = sum of labels * (log(sum) - (x - max)), gradient = softmax - labels.
template <class T>
Status dense_loss(KernelContext& c) {
  const Shape shape = c.output(1).shape();
  const int64_t cols = shape.dim(1);
  const Rows<T> logits(c.input(0), shape), labels(c.input(1), shape);
  c.parallel_for(shape.dim(0), static_cast<double>(cols) * 2 + 20, [&](int64_t begin, int64_t end) {
    ScratchVector<T> x(static_cast<size_t>(cols)), label(x.size()), probability(x.size());
    for (int64_t r = begin; r < end; ++r) {
      T loss = 0, top = 0;
      if (cols > 0) {
        logits.read(r, x.data());
        labels.read(r, label.data());
        const T sum = exp_row(T())(x.data(), probability.data(), cols, &top), log_sum = std::log(sum);
        for (size_t j = 0; j < x.size(); ++j) {
          loss += label[j] == T(0) ? T(0) : label[j] * (log_sum - (x[j] - top));
          probability[j] = probability[j] / sum - label[j];
        }
        write(c.output(1), r * cols, probability.data(), cols);
      }
      write(c.output(0), r, &loss, 1);
    }
  });
  return ok_status();
}

/// The label of a row, or -1 if it is none of the classes.
int64_t class_of(const Tensor& labels, int64_t row, int64_t classes) {
  const int64_t label = int_at(labels, row);
  return label >= 0 && label < classes ? label : -1;
}

Status refuse_labels(const Tensor& labels, int64_t classes) {
  for (int64_t r = 0; r < labels.num_elements(); ++r) {
    if (class_of(labels, r, classes) >= 0) continue;
    std::string all;
    for (int64_t i = 0; i < std::min<int64_t>(labels.num_elements(), 100); ++i) append(all, " ", int_at(labels, i));
    return invalid_argument(cat("Received a label value of ", int_at(labels, r),
                                " which is outside the valid range of [0, ", classes, ").  Label values:", all));
  }
  return ok_status();
}

template <class T>
Status sparse_loss(KernelContext& c) {
  const Shape shape = c.output(1).shape();
  const int64_t cols = shape.dim(1);
  if (shape.num_elements() == 0 && cols == 0 && shape.dim(0) > 0) {
    return invalid_argument(cat("Must have at least one class, but got logits shape ", shape.to_string()));
  }
  RETURN_IF_ERROR(refuse_labels(c.input(1), cols));
  const Rows<T> logits(c.input(0), shape);
  c.parallel_for(shape.dim(0), static_cast<double>(cols) * 2 + 20, [&](int64_t begin, int64_t end) {
    ScratchVector<T> x(static_cast<size_t>(cols)), probability(x.size());
    for (int64_t r = begin; r < end; ++r) {
      logits.read(r, x.data());
      const size_t label = static_cast<size_t>(class_of(c.input(1), r, cols));
      T top;
      const T sum = exp_row(T())(x.data(), probability.data(), cols, &top);
      const T loss = std::log(sum) - (x[label] - top);
      for (T& p : probability) p /= sum;
      probability[label] -= T(1);
      write(c.output(1), r * cols, probability.data(), cols);
      write(c.output(0), r, &loss, 1);
    }
  });
  return ok_status();
}

Value times_rows(GradientContext& g, Value row_factors, Value rows) {
  return g.mul(g.expand_dims(row_factors, -1), rows);
}

// Output 1 is the gradient of the loss already; what arrives at it goes through a softmax.
Value features_gradient(GradientContext& g) {
  Value gradient = times_rows(g, g.grad(0), g.output(1));
  if (g.grad_is_zero(1)) return gradient;
  Value softmax = g.add("Softmax", {g.input(0)});
  Value dot = g.sum(g.mul(g.grad(1), softmax), g.ints({-1}, "Sum/reduction_indices"), true);
  Value second = g.mul(g.add("Sub", {g.grad(1), dot}, {}, "sub"), softmax);
  return g.add("AddV2", {gradient, second}, {}, "add");
}

Status softmax_cross_entropy_gradient(GradientContext& g) {
  g.set(0, features_gradient(g));
  g.set(1, times_rows(g, g.grad(0), g.neg(g.add("LogSoftmax", {g.input(0)}))));
  return g.status();
}

Status sparse_cross_entropy_gradient(GradientContext& g) {
  g.set(0, features_gradient(g));
  return g.status();
}

}  // namespace

OpDef softmax_cross_entropy_op() {
  return OpDef("SoftmaxCrossEntropyWithLogits")
      .doc("Cross entropy of each row of labels with softmax(features), and its gradient.")
      .shape(dense_shape)
      .cpu(kHalves | DTypeSet{DType::kFloat}, stateless<dense_loss<float>>)
      .cpu<double>(stateless<dense_loss<double>>)
      .sample("features=f32[2,3] uniform(-2,2); labels=f32[2,3] uniform(0,1)")
      .gradient(softmax_cross_entropy_gradient);
}
OpDef sparse_softmax_cross_entropy_op() {
  return OpDef("SparseSoftmaxCrossEntropyWithLogits")
      .doc("The same for rows that belong to one class each.")
      .traits({.class_labels = true})
      .shape(sparse_shape)
      .cpu(kHalves | DTypeSet{DType::kFloat}, stateless<sparse_loss<float>>)
      .cpu<double>(stateless<sparse_loss<double>>)
      .sample("features=f32[2,3] uniform(-2,2); labels=i32[2] uniform(0,2)")
      .gradient(sparse_cross_entropy_gradient);
}

}  // namespace emplace
