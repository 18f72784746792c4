// CTCGreedyDecoder: the most likely class of each step, without blanks and repetitions.
#include <algorithm>

#include "core/base/cat.h"
#include "core/base/scratch_vector.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/nn/ctc_inputs.h"

namespace emplace {
namespace {

Status ctc_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Shape inputs, c.with_rank(0, 3));
  ASSIGN_OR_RETURN(const Shape lengths, c.with_rank(1, 1));
  ASSIGN_OR_RETURN(const int64_t batch, ShapeContext::merge_dim(inputs.dim(1), lengths.dim(0)));
  c.set_output(0, Shape{-1, 2});
  c.set_output(1, Shape{-1});
  c.set_output(2, Shape{2});
  c.set_output(3, Shape{batch, 1});
  return ok_status();
}

template <class T>
class CtcGreedyDecoder final : public Kernel {
 public:
  explicit CtcGreedyDecoder(const KernelInit& init)
      : merges_(init.attrs.flag("merge_repeated")), blank_(init.attrs.integer("blank_index")) {}

  Status run(KernelContext& c) override {
    RETURN_IF_ERROR(check_ctc_inputs(c));
    const int64_t batch = c.input(0).shape().dim(1), classes = c.input(0).shape().dim(2);
    const int64_t blank = blank_ < 0 ? classes + blank_ : blank_;
    if (blank < 0 || blank >= classes) {
      return invalid_argument(
          cat("blank_index expected to be between ", -classes, " and ", classes - 1, " but was ", blank_));
    }
    RETURN_IF_ERROR(ensure_output(c, 3, Shape{batch, 1}));
    ScratchVector<int64_t> values, places;  // places: rows (sequence, step)
    int64_t longest = 0;
    for (int64_t b = 0; b < batch; ++b) {
      const size_t before = values.size();
      c.out<T>(3)[b] = decode(c, b, blank, values);
      const auto length = static_cast<int64_t>(values.size() - before);
      longest = std::max(longest, length);
      for (int64_t t = 0; t < length; ++t) places.insert(places.end(), {b, t});
    }
    const auto count = static_cast<int64_t>(values.size());
    RETURN_IF_ERROR(ensure_output(c, 0, Shape{count, 2}));
    RETURN_IF_ERROR(ensure_output(c, 1, Shape{count}));
    RETURN_IF_ERROR(ensure_output(c, 2, Shape{2}));
    std::copy(places.begin(), places.end(), c.out<int64_t>(0));
    std::copy(values.begin(), values.end(), c.out<int64_t>(1));
    c.out<int64_t>(2)[0] = batch;
    c.out<int64_t>(2)[1] = longest;
    return ok_status();
  }

 private:
  /// Appends the sequence's classes to `values`; returns the negative sum of their numbers.
  T decode(const KernelContext& c, int64_t sequence, int64_t blank, ScratchVector<int64_t>& values) const {
    const Shape& shape = c.input(0).shape();
    T sum = 0;
    int64_t last = -1;
    for (int64_t t = 0; t < c.in<int32_t>(1)[sequence]; ++t) {
      const T* row = c.in<T>(0) + (t * shape.dim(1) + sequence) * shape.dim(2);
      const T* best = row;
      for (const T* p = row + 1; p < row + shape.dim(2); ++p) {
        if (*p > *best) best = p;
      }
      sum += -*best;
      const int64_t found = best - row;
      if (found != blank && !(merges_ && found == last)) values.push_back(found);
      last = found;
    }
    return sum;
  }

  bool merges_;
  int64_t blank_;
};

}  // namespace

OpDef ctc_greedy_decoder_op() {
  return OpDef("CTCGreedyDecoder")
      .doc("Decodes logits [time, batch, classes] by the best class of each step, as a sparse matrix of classes.")
      .shape(ctc_shape)
      .cpu<float>(make<CtcGreedyDecoder<float>>)
      .cpu<double>(make<CtcGreedyDecoder<double>>)
      .not_differentiable();
}

}  // namespace emplace
