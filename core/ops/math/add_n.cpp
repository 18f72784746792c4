// AddN, AccumulateNV2: the sum of any number of tensors of one shape, from the first to the last.
#include <algorithm>
#include <tuple>

#include "core/base/cat.h"
#include "core/op/gradient_context.h"
#include "core/op/of_run.h"
#include "core/ops/kit/elementwise.h"
#include "core/ops/kit/numeric.h"
#include "core/ops/list/element_sum.h"
#include "core/ops/list/elements.h"

namespace emplace {
namespace {

struct Add {
  template <class T>
  EMPLACE_INLINE static T apply(T a, T b) {
    return add(a, b);
  }
};

/// Adds the inputs one after the other, a block at a time, so that the partial sums stay in the cache. They stay out
/// of the output until the last addition, because the output may be any of the inputs.
class AddN final : public Kernel {
 public:
  explicit AddN(const KernelInit& init)
      : add_(elementwise_code<Add, float, double, int32_t, int64_t, uint64_t, complex64, complex128>(
                 init.output_types[0]),
             init.output_types[0], init.output_types[0], 2) {}

  Status run(KernelContext& c) override {
    Tensor& out = c.output(0);
    if (c.num_inputs() == 1) {
      if (out.raw() != c.input(0).raw()) std::copy_n(c.in<char>(0), out.size_bytes(), out.data<char>());
      return ok_status();
    }
    const int64_t bytes = static_cast<int64_t>(dtype_size(out.dtype()));
    c.parallel_for(out.num_elements(), add_.get().cost_ns * c.num_inputs(), [&](int64_t begin, int64_t end) {
      for (int64_t at = begin; at < end; at += kBlock) add_block(c, at * bytes, std::min(kBlock, end - at));
    });
    return ok_status();
  }

 private:
  static constexpr int64_t kBlock = 1024;

  void add_block(KernelContext& c, int64_t offset, int64_t n) const {
    static constexpr int64_t kAdvance[] = {1, 1};
    alignas(64) char partial[kBlock * sizeof(complex128)];
    const void* left = c.in<char>(0) + offset;
    for (int i = 1; i < c.num_inputs(); ++i) {
      void* sum = i + 1 == c.num_inputs() ? c.out<char>(0) + offset : partial;
      const void* operands[] = {left, c.in<char>(i) + offset};
      add_.get().function(operands, kAdvance, sum, n, add_.get().params);
      left = sum;
    }
  }

  BoundTile add_;
};

/// Lists: element by element. One that is not set counts as zeros, and stays so if it is set in none. Other variants
/// likewise.
class AddLists final : public Kernel {
 public:
  explicit AddLists(const KernelInit&) {}

  Status run(KernelContext& c) override {
    if (!list_in(c.input(0)).ok()) return add_variants(c);
    ASSIGN_OR_RETURN(const int most, widest(c));
    ASSIGN_OR_RETURN(TensorList * sum, changed_list(c, most, 0));
    for (int i = 0; i < c.num_inputs(); ++i) {
      if (i == most) continue;
      ASSIGN_OR_RETURN(const TensorList* other, list_in(c.input(i)));
      RETURN_IF_ERROR(add_.add_list(c, *sum, *other));
    }
    return ok_status();
  }

 private:
  Status add_variants(KernelContext& c) {
    Tensor sum = c.input(0);
    for (int i = 1; i < c.num_inputs(); ++i) RETURN_IF_ERROR(add_.add(c, DType::kVariant, sum, c.input(i)));
    c.forward_output(0, std::move(sum));
    return ok_status();
  }

  // The others are added to it: of many lists with one element each, a sum takes as many steps as there are lists.
  static Result<int> widest(const KernelContext& c) {
    int most = 0;
    int64_t width = -1;
    for (int i = 0; i < c.num_inputs(); ++i) {
      ASSIGN_OR_RETURN(const TensorList* list, list_in(c.input(i)));
      const int64_t here = list->elements.last() - list->elements.first();
      if (here > width) std::tie(most, width) = std::pair(i, here);
    }
    return most;
  }

  ElementSum add_;
};

Status add_n_shape(ShapeContext& c) {
  Shape all = c.input(c.num_inputs() - 1);
  for (int i = c.num_inputs() - 2; i >= 0; --i) {
    auto merged = ShapeContext::merge(c.input(i), all);
    if (!merged.ok()) {
      return invalid_argument(cat(merged.status().message(), "\n\tFrom merging shape ", i, " with other shapes."));
    }
    all = merged.take();
  }
  c.set_output(0, std::move(all));
  return ok_status();
}

/// Before a run, what the attr says, as TensorFlow; its kernels ask the first input.
Status accumulate_shape(ShapeContext& c) {
  Shape all = is_of_run(c) ? c.input(0) : c.attrs().shape("shape");
  for (int i = 1; i < c.num_inputs() && is_of_run(c); ++i) {
    auto merged = ShapeContext::merge(c.input(i), all);
    if (!merged.ok()) {
      return invalid_argument(
          cat("Parameters and update must be the same size, got ", all.to_string(), " and ", c.input(i).to_string()));
    }
    all = merged.take();
  }
  c.set_output(0, std::move(all));
  return ok_status();
}

Status add_n_gradient(GradientContext& g) {
  for (int i = 0; i < g.num_inputs(); ++i) g.pass_on(0, i);
  return g.status();
}

}  // namespace

OpDef accumulate_nv2_op() {
  return OpDef("AccumulateNV2")
      .doc("The sum of all inputs, which have one shape. TensorFlow makes it of a variable that it adds them to.")
      .traits({.of_sums = OfSums::kAdds})
      .shape(accumulate_shape)
      .may_overwrite_input()
      .cpu(kNumbers, make<AddN>)
      .gradient(add_n_gradient);
}

OpDef add_n_op() {
  return OpDef("AddN")
      .doc("The sum of all inputs, which have one shape.")
      .traits({.of_sums = OfSums::kAdds})
      .shape(add_n_shape)
      .may_overwrite_input()
      .cpu(kNumbers, make<AddN>)
      .cpu(DTypeSet{DType::kVariant}, make<AddLists>)
      .sample("inputs=f32[2,3] uniform(-2,2),f32[2,3] uniform(-2,2),f32[2,3] uniform(-2,2); N=3")
      .gradient(add_n_gradient);
}

}  // namespace emplace
