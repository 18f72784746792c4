// ReverseSequence: the first elements of each sequence of a batch in reverse order.
#include <algorithm>
#include <utility>

#include "core/base/cat.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/array/sequence_layout.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/index_text.h"
#include "core/ops/kit/shape_math.h"

namespace emplace {
namespace {

Status reverse_sequence_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(Shape lengths, c.with_rank(1, 1));
  Shape out = c.input(0);
  if (!out.rank_known()) return ok_status();
  const int64_t seq_dim = c.attrs().integer("seq_dim"), batch_dim = c.attrs().integer("batch_dim");
  for (auto [name, dim] : {std::pair{"batch_dim", batch_dim}, {"seq_dim", seq_dim}}) {
    if (dim >= out.rank()) return invalid_argument(cat(name, " must be < input rank: ", dim, " vs. ", out.rank()));
  }
  if (batch_dim < 0) return invalid_argument(cat("batch_dim must be >=0, got ", batch_dim));
  int64_t& batch = out.dim(static_cast<int>(batch_dim));
  ASSIGN_OR_RETURN(batch, ShapeContext::merge_dim(batch, lengths.dim(0)));
  c.set_output(0, out);
  return ok_status();
}

class ReverseSequence final : public Kernel {
 public:
  explicit ReverseSequence(const KernelInit& init)
      : seq_dim_(init.attrs.integer("seq_dim")), batch_dim_(init.attrs.integer("batch_dim")) {}

  Status run(KernelContext& c) override {
    const Tensor &in = c.input(0), &lengths = c.input(1);
    ASSIGN_OR_RETURN(const SequenceLayout l, SequenceLayout::of(in.shape(), lengths.shape(), seq_dim_, batch_dim_));
    const int64_t size = in.shape().dim(static_cast<int>(seq_dim_));
    for (int64_t i = 0; i < lengths.num_elements(); ++i) {
      const int64_t length = index_at(lengths, i);
      if (length < 0) return invalid_argument(cat("seq_lens(", i, ") < 0"));
      if (length > size) return invalid_argument(cat("seq_lens(", i, ") > input.dims(", seq_dim_, ")"));
    }
    RETURN_IF_ERROR(ensure_output(c, 0, in.shape()));
    if (in.num_elements() > 0) with_element(in.dtype(), [&]<class E>(E) { reverse<E>(c, l); });
    return ok_status();
  }

 private:
  template <class E>
  static void reverse(KernelContext& c, const SequenceLayout& l) {
    const E* in = static_cast<const E*>(c.input(0).raw());
    E* out = static_cast<E*>(c.output(0).raw());
    const Tensor& lengths = c.input(1);
    const int64_t step = l.sequence_first ? l.middle * l.second : 1;  // runs from one element of a sequence to the next
    c.parallel_for(c.output(0).num_elements() / l.inner, 0.5 * static_cast<double>(l.inner),
                   [&](int64_t begin, int64_t end) {
                     for (int64_t run = begin; run < end; ++run) {
                       const int64_t second = run % l.second, first = run / l.second / l.middle % l.first;
                       const int64_t at = l.sequence_first ? first : second,
                                     length = index_at(lengths, l.sequence_first ? second : first);
                       const int64_t from = at < length ? run + (length - 1 - 2 * at) * step : run;
                       std::copy_n(in + from * l.inner, l.inner, out + run * l.inner);
                     }
                   });
  }

  int64_t seq_dim_, batch_dim_;
};

Status reverse_sequence_gradient(GradientContext& g) {
  g.set(0, g.add("ReverseSequence", {g.grad(0), g.input(1)}, g.copy_attrs({"seq_dim", "batch_dim"})));
  return g.status();
}

}  // namespace

OpDef reverse_sequence_op() {
  return OpDef("ReverseSequence")
      .doc("The first seq_lengths[i] elements of sequence i in reverse order; those behind them stay.")
      .shape(reverse_sequence_shape)
      .cpu(kAllData, make<ReverseSequence>)
      .gradient(reverse_sequence_gradient)
      .sample("input=f32[3,4,2] uniform(-2,2); seq_lengths=[4,0,3]; seq_dim=1")
      .sample("input=f32[4,2,3] uniform(-2,2); seq_lengths=[1,3,4]; seq_dim=0; batch_dim=2");
}

}  // namespace emplace
