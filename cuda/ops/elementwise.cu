// What every elementwise kernel does on the host (cuda/elementwise.h).
#include "cuda/elementwise.h"

#include <array>

#include "core/base/cat.h"
#include "cuda/chainable.h"

namespace emplace::cuda {
namespace {

/// Do the dimensions that both have agree, but for ones?
bool broadcastable(const Shape& a, const Shape& b) {
  for (int d = 1; d <= a.rank() && d <= b.rank(); ++d) {
    const int64_t x = a.dim_from_end(d), y = b.dim_from_end(d);
    if (x != y && x != 1 && y != 1) return false;
  }
  return true;
}

template <int kOperands>
class Elementwise final : public ChainableKernel {
 public:
  Elementwise(const ElementKernels& kernels, const FunctionState& function, const FunctionRules& rules)
      : kernels_(kernels), function_(function), rules_(rules) {}

  Status prepare(KernelContext& c) override {
    if constexpr (kOperands == 1) {
      return ok_status();
    } else {
      if (rules_.check) RETURN_IF_ERROR(rules_.check(c));
      std::array<const Shape*, kOperands> shapes;
      for (int i = 0; i < kOperands; ++i) shapes[static_cast<size_t>(i)] = &c.input(i).shape();
      if (rules_.same_size) {
        const int64_t left = c.input(0).num_elements(), right = c.input(1).num_elements();
        if (left != right) {
          return invalid_argument(
              cat("The two arguments to a cwise op must have same number of elements, got ", left, " and ", right));
        }
        shapes[1] = shapes[0];
      }
      incompatible_ = rules_.if_incompatible && !broadcastable(*shapes[0], *shapes[1]);
      if (incompatible_) return ok_status();
      ASSIGN_OR_RETURN(plan_, plan_broadcast<kOperands>(shapes, c.output(0).shape()));
      flat_ = kOperands == 2;
      for (int k = 0; k < kOperands; ++k) {
        single_[static_cast<size_t>(k)] = plan_.single(k) && !plan_.flat(k);
        flat_ &= plan_.single(k) || plan_.flat(k);
      }
      packs_ = !flat_ && plan_.pack(kernels_.pack);
      return ok_status();
    }
  }

  std::optional<FunctionText> function() const override {
    if (incompatible_ || kernels_.function.empty()) return {};
    return FunctionText{kernels_.function, kernels_.type, kernels_.result, std::to_array(function_.bytes)};
  }

  Status run(KernelContext& c) override {
    if (incompatible_) {
      RETURN_IF_ERROR(c.allocate_output(0, Shape{}));
      CUDA_TRY(cudaMemsetAsync(c.output(0).raw(), *rules_.if_incompatible ? 1 : 0, sizeof(bool), stream_of(c)));
      return ok_status();
    }
    if constexpr (kOperands == 1)
      return run_flat(c);
    else if constexpr (kOperands == 2)
      return flat_ ? run_flat(c) : run_broadcast(c, kernels_.broadcast);
    else
      return run_broadcast(c, kernels_.broadcast_of_three);
  }

 private:
  Status run_flat(KernelContext& c) {
    FlatWork work{function_};
    for (int k = 0; k < kOperands; ++k) {
      work.in[k] = c.input(k).raw();
      work.single[k] = single_[static_cast<size_t>(k)];
    }
    work.out = c.output(0).raw();
    work.elements = c.output(0).num_elements();
    return launch(Barriers::kNone, kernels_.flat, grid_for(work.elements, int64_t{kThreads} * kernels_.pack), kThreads,
                  0, stream_of(c), work);
  }
  Status run_broadcast(KernelContext& c, void (*kernel)(BroadcastWork<kOperands>)) {
    BroadcastWork<kOperands> work{function_};
    for (int k = 0; k < kOperands; ++k) work.in[k] = c.input(k).raw();
    work.out = c.output(0).raw();
    work.plan = plan_;
    work.packs = packs_;
    return launch(Barriers::kNone, kernel, grid_for(plan_.elements), kThreads, 0, stream_of(c), work);
  }

  ElementKernels kernels_;
  FunctionState function_;
  FunctionRules rules_;
  Broadcast<kOperands> plan_;
  std::array<bool, kOperands> single_{};
  bool incompatible_ = false, flat_ = true, packs_ = false;
};

}  // namespace

Result<std::unique_ptr<Kernel>> make_elementwise(DType type, std::span<const ElementKernels> kernels, int arity,
                                                 const FunctionState& function, const FunctionRules& rules) {
  for (const ElementKernels& k : kernels) {
    if (k.type != type) continue;
    std::unique_ptr<Kernel> made;
    if (arity == 1)
      made = std::make_unique<Elementwise<1>>(k, function, rules);
    else if (arity == 2)
      made = std::make_unique<Elementwise<2>>(k, function, rules);
    else
      made = std::make_unique<Elementwise<3>>(k, function, rules);
    return Result<std::unique_ptr<Kernel>>(std::move(made));
  }
  return internal_error("a family lists a type that its function was not made for");
}

}  // namespace emplace::cuda
