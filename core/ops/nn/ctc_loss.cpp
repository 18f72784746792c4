// CTCLoss: how unlikely the labels are, whatever steps they are spread over, and the gradient of that. The last class
// is the blank between labels.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/cat.h"
#include "core/base/scratch_vector.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/shape_math.h"

namespace emplace {
namespace {

Status ctc_loss_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(Shape inputs, c.with_rank(0, 3));
  ASSIGN_OR_RETURN(const Shape indices, c.with_rank(1, 2));
  ASSIGN_OR_RETURN(const Shape values, c.with_rank(2, 1));
  ASSIGN_OR_RETURN(const Shape lengths, c.with_rank(3, 1));
  RETURN_IF_ERROR(ShapeContext::merge_dim(indices.dim(0), values.dim(0)).take_status());
  ASSIGN_OR_RETURN(inputs.dim(1), ShapeContext::merge_dim(inputs.dim(1), lengths.dim(0)));
  c.set_output(0, Shape{inputs.dim(1)});
  c.set_output(1, inputs);
  return ok_status();
}

using Labels = ScratchVector<int32_t>;

struct CtcAttrs {
  bool collapse, merge, ignore_longer;
};

/// log(exp(a) + exp(b)), also of -infinity.
template <class T>
T log_sum(T a, T b) {
  constexpr T kNone = -std::numeric_limits<T>::infinity();
  if (a == kNone) return b;
  if (b == kNone) return a;
  // In float, as TensorFlow does it, whatever T is.
  const T most = std::max(a, b), least = std::min(a, b);
  return most + std::log1p(std::exp(static_cast<float>(least - most)));
}

/// A row of numbers for each label and each blank around them.
template <class T>
struct LogTable {
  int64_t rows, columns;
  ScratchVector<T> numbers;
  LogTable(int64_t r, int64_t c)
      : rows(r), columns(c), numbers(static_cast<size_t>(r * c), -std::numeric_limits<T>::infinity()) {}
  T& at(int64_t row, int64_t column) { return numbers[static_cast<size_t>(row * columns + column)]; }
};

/// One sequence: its probabilities by step and class, the labels with blanks around them.
template <class T>
struct CtcSequence {
  const Labels& labels;
  int64_t steps, classes;
  const ScratchVector<T>& probabilities;
  bool merge;

  int64_t count() const { return static_cast<int64_t>(labels.size()); }
  int32_t label(int64_t u) const { return labels[static_cast<size_t>(u)]; }
  bool is_blank(int64_t u) const { return label(u) == classes - 1; }
  bool stays(int64_t u) const { return merge || is_blank(u); }
  /// Over the blank between labels u and v.
  bool leaps(int64_t u, int64_t v) const { return !is_blank(u) && !(merge && label(u) == label(v)); }
  T log_of(int64_t u, int64_t t) const { return std::log(probabilities[static_cast<size_t>(t * classes + label(u))]); }
  /// Labels that can be reached in step t, and from which the end can be.
  int64_t first(int64_t t) const { return std::max<int64_t>(0, count() - 2 * (steps - t)); }
  int64_t last(int64_t t) const { return std::min(count(), 2 * (t + 1)); }

  /// Of all ways to label u in step t.
  LogTable<T> forward() const {
    LogTable<T> log(steps, count());
    for (int64_t u = 0; u < std::min<int64_t>(2, count()); ++u) log.at(0, u) = log_of(u, 0);
    for (int64_t t = 1; t < steps; ++t) {
      for (int64_t u = first(t); u < last(t); ++u) {
        T sum = stays(u) ? log.at(t - 1, u) : -std::numeric_limits<T>::infinity();
        if (u > 0) sum = log_sum(sum, log.at(t - 1, u - 1));
        if (u > 1 && leaps(u, u - 2)) sum = log_sum(sum, log.at(t - 1, u - 2));
        log.at(t, u) = log_of(u, t) + sum;
      }
    }
    return log;
  }
  /// Of all ways from there to the end.
  LogTable<T> backward() const {
    LogTable<T> log(steps, count());
    for (int64_t u = std::max<int64_t>(0, count() - 2); u < count(); ++u) log.at(steps - 1, u) = 0;
    for (int64_t t = steps - 2; t >= 0; --t) {
      for (int64_t u = first(t); u < last(t); ++u) {
        T sum = stays(u) ? log_sum(log.at(t, u), log.at(t + 1, u) + log_of(u, t + 1)) : log.at(t, u);
        if (u + 1 < count()) sum = log_sum(sum, log.at(t + 1, u + 1) + log_of(u + 1, t + 1));
        if (u + 2 < count() && leaps(u, u + 2)) sum = log_sum(sum, log.at(t + 1, u + 2) + log_of(u + 2, t + 1));
        log.at(t, u) = sum;
      }
    }
    return log;
  }
};

/// Sequence b of a batch: logits and gradients of a step are `pitch` apart. Returns the loss.
template <class T>
T sequence_loss(const Labels& labels, const T* logits, T* gradient, int64_t steps, int64_t classes, int64_t pitch,
                bool merge) {
  ScratchVector<T> probabilities(static_cast<size_t>(steps * classes));
  for (int64_t t = 0; t < steps; ++t) {
    const T* x = logits + t * pitch;
    T* y = probabilities.data() + t * classes;
    const T most = *std::max_element(x, x + classes);
    T sum = 0;
    for (int64_t k = 0; k < classes; ++k) sum += y[k] = std::exp(x[k] - most);
    for (int64_t k = 0; k < classes; ++k) y[k] /= sum;
  }
  const CtcSequence<T> s{labels, steps, classes, probabilities, merge};
  LogTable<T> forward = s.forward(), backward = s.backward();
  constexpr T kNone = -std::numeric_limits<T>::infinity();
  T all = kNone;
  for (int64_t u = 0; u < s.count(); ++u) all = log_sum(all, forward.at(0, u) + backward.at(0, u));
  ScratchVector<T> by_class(static_cast<size_t>(classes));
  for (int64_t t = 0; t < steps; ++t) {
    const T* y = probabilities.data() + t * classes;
    T* to = gradient + t * pitch;
    std::copy_n(y, classes, to);
    if (all == kNone) continue;  // no way at all
    std::fill(by_class.begin(), by_class.end(), kNone);
    for (int64_t u = 0; u < s.count(); ++u) {
      T& sum = by_class[static_cast<size_t>(s.label(u))];
      sum = log_sum(sum, forward.at(t, u) + backward.at(t, u));
    }
    for (int64_t k = 0; k < classes; ++k) to[k] -= std::exp(static_cast<float>(by_class[static_cast<size_t>(k)] - all));
  }
  return -all;
}

std::string text_of(const Labels& labels) {
  std::string text;
  for (const int32_t l : labels) text += cat(text.empty() ? "" : ",", l);
  return text;
}

/// The labels of sequence b with a blank before each and at the end.
Result<Labels> with_blanks(const Labels& given, int64_t b, int64_t steps, int64_t classes, const CtcAttrs& attrs) {
  if (given.empty()) return invalid_argument(cat("Labels length is zero in batch ", b));
  const auto blank = static_cast<int32_t>(classes - 1);
  Labels labels;
  bool ended = false;
  for (size_t i = 0; i < given.size(); ++i) {
    if (i > 0 && attrs.collapse && given[i] == given[i - 1]) continue;
    if (given[i] >= blank) {
      ended = true;
      continue;
    }
    if (ended) {
      return invalid_argument(cat("Saw a non-null label (index >= num_classes - 1) following a null label, batch: ", b,
                                  " num_classes: ", classes, " labels: ", text_of(given)));
    }
    if (given[i] < 0) {
      return invalid_argument(cat("All labels must be nonnegative integers, batch: ", b, " labels: ", text_of(given)));
    }
    labels.push_back(blank);
    labels.push_back(given[i]);
  }
  labels.push_back(blank);
  const auto wanted = static_cast<int64_t>(given.size());
  if (attrs.ignore_longer || wanted <= steps) return labels;
  return invalid_argument(cat("Not enough time for target transition sequence (required: ", wanted, ", available: ",
                              steps, ") in batch ", b, ": ignore_longer_outputs_than_inputs leaves such ones out"));
}

/// Labels of each sequence, from places in rows and values.
Result<ScratchVector<Labels>> labels_of(const KernelContext& c, int64_t batch) {
  const Shape &indices = c.input(1).shape(), &values = c.input(2).shape();
  if (indices.rank() != 2) return invalid_argument("labels_indices is not a matrix");
  if (values.rank() != 1) return invalid_argument("labels_values is not a vector");
  if (indices.dim(0) != values.dim(0) || indices.dim(1) != 2) {
    return invalid_argument(
        cat("labels_indices and labels_values must contain the same number of rows, with 2 columns, "
            "but saw shapes: ",
            indices.to_string(), " vs. ", values.to_string()));
  }
  ScratchVector<Labels> labels(static_cast<size_t>(batch));
  const int64_t* at = c.in<int64_t>(1);
  for (int64_t i = 0; i < indices.dim(0); ++i, at += 2) {
    if (at[0] < 0 || at[0] >= batch || at[1] < 0 || at[1] == INT64_MAX) {
      return invalid_argument(cat("label SparseTensor is not valid: indices[", i, "] = [", at[0], ",", at[1],
                                  "] is out of bounds: need 0 <= index < [", batch, ",...]"));
    }
    if (i > 0 && (at[-2] > at[0] || (at[-2] == at[0] && at[-1] >= at[1]))) {
      return invalid_argument(cat("label SparseTensor is not valid: indices[", i, "] = [", at[0], ",", at[1], "] is ",
                                  at[-2] == at[0] && at[-1] == at[1] ? "repeated" : "out of order"));
    }
    labels[static_cast<size_t>(at[0])].push_back(c.in<int32_t>(2)[i]);
  }
  return labels;
}

template <class T>
class CtcLoss final : public Kernel {
 public:
  explicit CtcLoss(const KernelInit& init)
      : attrs_{init.attrs.flag("preprocess_collapse_repeated"), init.attrs.flag("ctc_merge_repeated"),
               init.attrs.flag("ignore_longer_outputs_than_inputs")} {}
  Status run(KernelContext& c) override {
    const Shape &inputs = c.input(0).shape(), &lengths = c.input(3).shape();
    RETURN_IF_ERROR(check(c, inputs, lengths));
    const int64_t batch = inputs.dim(1), classes = inputs.dim(2), pitch = batch * classes;
    ASSIGN_OR_RETURN(const ScratchVector<Labels> given, labels_of(c, batch));
    ScratchVector<Labels> labels(static_cast<size_t>(batch));
    for (int64_t b = 0; b < batch; ++b) {
      const auto i = static_cast<size_t>(b);
      ASSIGN_OR_RETURN(labels[i], with_blanks(given[i], b, c.in<int32_t>(3)[b], classes, attrs_));
    }
    RETURN_IF_ERROR(ensure_output(c, 0, lengths));
    RETURN_IF_ERROR(ensure_output(c, 1, inputs));
    std::fill_n(c.out<T>(0), batch, T(0));
    std::fill_n(c.out<T>(1), inputs.num_elements(), T(0));
    const double cost = 100.0 * static_cast<double>(inputs.dim(0)) * static_cast<double>(classes + 10);
    c.parallel_for(batch, cost, [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        const int64_t steps = c.in<int32_t>(3)[b];
        const auto i = static_cast<size_t>(b);
        if (steps == 0 || static_cast<int64_t>(given[i].size()) > steps) continue;
        c.out<T>(0)[b] = sequence_loss(labels[i], c.in<T>(0) + b * classes, c.out<T>(1) + b * classes, steps, classes,
                                       pitch, attrs_.merge);
      }
    });
    return ok_status();
  }

 private:
  static Status check(const KernelContext& c, const Shape& inputs, const Shape& lengths) {
    if (inputs.rank() != 3) return invalid_argument("inputs is not a 3-Tensor");
    if (lengths.rank() != 1) return invalid_argument("sequence_length is not a vector");
    if (inputs.dim(1) != lengths.dim(0)) {
      return invalid_argument(cat("len(sequence_length) != batch_size.  len(sequence_length):  ", lengths.dim(0),
                                  " batch_size: ", inputs.dim(1)));
    }
    if (inputs.num_elements() == 0)
      return invalid_argument(cat("inputs must have steps, sequences and classes, got shape ", inputs.to_string()));
    if (inputs.dim(2) > INT32_MAX) return invalid_argument("num_classes cannot exceed max int");
    for (int64_t b = 0; b < lengths.dim(0); ++b) {
      const int32_t steps = c.in<int32_t>(3)[b];
      if (steps < 0 || steps > inputs.dim(0))
        return invalid_argument(cat("sequence_length(", b, ") is ", steps, ", wanted is 0 to ", inputs.dim(0)));
    }
    return ok_status();
  }

  const CtcAttrs attrs_;
};

// What the kernel made, times what arrived at each loss; it has no gradient of its own.
Status ctc_loss_gradient(GradientContext& g) {
  const Value made = g.add(
      "PreventGradient", {g.output(1)},
      {{"message", AttrValue::of(std::string("Currently there is no way to take the second  derivative of ctc_loss due "
                                             "to the fused implementation's interaction  with tf.gradients()"))}});
  g.set(0, g.mul(g.expand_dims(g.grad(0), -1), made));
  return g.status();
}

}  // namespace

OpDef ctc_loss_op() {
  return OpDef("CTCLoss")
      .doc("-log of the probability of the labels, spread over the steps in any way, and its gradient.")
      .shape(ctc_loss_shape)
      .cpu<float>(make<CtcLoss<float>>)
      .cpu<double>(make<CtcLoss<double>>)
      .gradient(ctc_loss_gradient);
}

}  // namespace emplace
