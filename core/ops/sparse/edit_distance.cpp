// EditDistance: how many insertions, removals and replacements make one row of a sparse tensor the row of another.
#include <algorithm>
#include <complex>
#include <limits>

#include "core/base/cat.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/kit/with_real.h"
#include "core/ops/sparse/sparse_tensor.h"

namespace emplace {
namespace {

constexpr int kHypothesis = 0, kTruth = 3;  // the first of three inputs each

Status edit_distance_shape(ShapeContext& c) {
  RETURN_IF_ERROR(sparse_inputs(c, kHypothesis, kHypothesis + 1, kHypothesis + 2));
  RETURN_IF_ERROR(sparse_inputs(c, kTruth, kTruth + 1, kTruth + 2));
  const Tensor *a = c.input_value(kHypothesis + 2), *b = c.input_value(kTruth + 2);
  if (!a || !b) return ok_status();
  if (a->num_elements() != b->num_elements())
    return invalid_argument(cat("Num elements of hypothesis_shape does not match truth_shape: ", a->num_elements(),
                                " vs. ", b->num_elements()));
  if (a->num_elements() < 2)
    return invalid_argument(cat(
        "Input Hypothesis SparseTensors must have rank at least 2, but hypothesis_shape rank is: ", a->num_elements()));
  Shape out;
  for (int64_t d = 0; d + 1 < a->num_elements(); ++d) out.add_dim(std::max(int_at(*a, d), int_at(*b, d)));
  c.set_output(0, std::move(out));
  return ok_status();
}

/// The rows of a sparse tensor, one after the other: values whose places differ in the last dimension only.
class SparseRows {
 public:
  explicit SparseRows(const SparseTensor& t) : t_(t) { next(); }
  bool done() const { return begin_ == t_.count; }
  int64_t begin() const { return begin_; }
  int64_t length() const { return end_ - begin_; }
  const int64_t* place() const { return t_.place(begin_); }
  void next() {
    begin_ = end_;
    while (end_ < t_.count && std::equal(place(), place() + t_.rank - 1, t_.place(end_))) ++end_;
  }

 private:
  const SparseTensor& t_;
  int64_t begin_ = 0, end_ = 0;
};

/// Elements [begin, begin + count) of a sparse tensor's values.
struct Word {
  const void* values;
  int64_t begin, count;
};

template <class E>
int64_t distance(const Word& meant, const Word& said) {
  const int64_t n = meant.count, m = said.count;
  const E* truth = static_cast<const E*>(meant.values) + meant.begin;
  const E* hypothesis = static_cast<const E*>(said.values) + said.begin;
  ScratchVector<int64_t> row(static_cast<size_t>(m + 1));  // from the truth so far to each beginning of the hypothesis
  std::iota(row.begin(), row.end(), 0);
  for (int64_t i = 1; i <= n; ++i) {
    int64_t diagonal = std::exchange(row[0], i);
    for (int64_t k = 1; k <= m; ++k) {
      int64_t& here = row[static_cast<size_t>(k)];
      const int64_t replaced = diagonal + (truth[i - 1] == hypothesis[k - 1] ? 0 : 1);
      diagonal = here;
      here = std::min({replaced, here + 1, row[static_cast<size_t>(k - 1)] + 1});
    }
  }
  return row.back();
}

using Distance = int64_t (*)(const Word& meant, const Word& said);

Distance distance_of(DType type) {
  switch (type) {
    case DType::kString:
      return distance<std::string>;
    case DType::kBool:
      return distance<bool>;
    case DType::kComplex64:
      return distance<std::complex<float>>;
    case DType::kComplex128:
      return distance<std::complex<double>>;
    default:
      return with_real(type, [](auto zero) -> Distance { return distance<decltype(zero)>; });
  }
}

class EditDistance final : public Kernel {
 public:
  explicit EditDistance(const KernelInit& init)
      : normalizes_(init.attrs.flag("normalize")), distance_(distance_of(init.attrs.type("T"))) {}

  Status run(KernelContext& c) override {
    ASSIGN_OR_RETURN(const SparseTensor hypothesis, SparseTensor::of(c, kHypothesis, kHypothesis + 1, kHypothesis + 2));
    ASSIGN_OR_RETURN(const SparseTensor truth, SparseTensor::of(c, kTruth, kTruth + 1, kTruth + 2));
    if (hypothesis.rank != truth.rank || truth.rank < 2)
      return invalid_argument(
          cat("truth and hypothesis must have one rank of at least 2, found ", truth.rank, " and ", hypothesis.rank));
    RETURN_IF_ERROR(hypothesis.check_places());
    RETURN_IF_ERROR(truth.check_places());
    Shape out;
    for (int64_t d = 0; d + 1 < truth.rank; ++d) out.add_dim(std::max(truth.sizes[d], hypothesis.sizes[d]));
    if (!out.checked_num_elements()) return invalid_argument("the result's size cannot be counted");
    RETURN_IF_ERROR(ensure_output(c, 0, out));
    fill_zeros(*c.parallel_, c.output(0));
    walk(c, hypothesis, truth);
    return ok_status();
  }

 private:
  /// Both in the order of their rows; a row that only one has meets nothing.
  void walk(KernelContext& c, const SparseTensor& hypothesis, const SparseTensor& truth) const {
    const void *said = c.input(kHypothesis + 1).raw(), *meant = c.input(kTruth + 1).raw();
    const int64_t outer = truth.rank - 1;
    SparseRows h(hypothesis), t(truth);
    while (!h.done() || !t.done()) {
      const auto before = [&](const SparseRows& a, const SparseRows& b) {
        return !a.done() &&
               (b.done() || std::lexicographical_compare(a.place(), a.place() + outer, b.place(), b.place() + outer));
      };
      const bool takes_h = !before(t, h), takes_t = !before(h, t);
      const int64_t* place = takes_h ? h.place() : t.place();
      int64_t at = 0;
      for (int64_t d = 0; d < outer; ++d) at = at * c.output(0).shape().dim(static_cast<int>(d)) + place[d];
      const int64_t wanted = takes_t ? t.length() : 0, found = takes_h ? h.length() : 0;
      const int64_t edits = takes_h && takes_t ? distance_({meant, t.begin(), wanted}, {said, h.begin(), found})
                                               : std::max(wanted, found);
      c.out<float>(0)[at] = result(edits, wanted);
      if (takes_h) h.next();
      if (takes_t) t.next();
    }
  }

  float result(int64_t edits, int64_t wanted) const {
    const auto number = static_cast<float>(edits);
    if (!normalizes_) return number;
    if (wanted > 0) return number / static_cast<float>(wanted);
    return edits == 0 ? 0 : std::numeric_limits<float>::infinity();
  }

  const bool normalizes_;
  const Distance distance_;
};

}  // namespace

OpDef edit_distance_op() {
  return OpDef("EditDistance")
      .doc("How many edits make each row of a sparse tensor that of another; per element of the other, if normalized.")
      .shape(edit_distance_shape)
      .kernel_attr("T")
      .value_inputs({2, 5})
      .cpu(kAllData, make<EditDistance>)
      .not_differentiable();
}

}  // namespace emplace
