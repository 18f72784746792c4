#include "core/ops/kit/moved_variants.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/op/tensor_list.h"
#include "core/ops/list/elements.h"

namespace emplace {
namespace {

class VariantMover final : public Kernel {
 public:
  explicit VariantMover(std::unique_ptr<Kernel> numbers) : numbers_(std::move(numbers)) {}

  Status run(KernelContext& c) override {
    std::vector<Tensor> inputs, outputs;
    std::vector<int64_t> before;  // how many variants the inputs in front of each have
    int64_t count = 0;
    for (int i = 0; i < c.num_inputs(); ++i) {
      before.push_back(count);
      ASSIGN_OR_RETURN(inputs.emplace_back(), numbered(c, c.input(i), count));
    }
    for (int i = 0; i < c.num_outputs(); ++i) {
      ASSIGN_OR_RETURN(outputs.emplace_back(), place_for(c, c.output(i)));
    }
    KernelContext moving = c;
    moving.inputs_ = inputs;
    moving.outputs_ = outputs;
    moving.constant_inputs_ = 0;
    RETURN_IF_ERROR(numbers_->prepare(moving));
    RETURN_IF_ERROR(numbers_->run(moving));
    for (int i = 0; i < c.num_outputs(); ++i) {
      Tensor& out = outputs[static_cast<size_t>(i)];
      if (c.output(i).dtype() == DType::kVariant) RETURN_IF_ERROR(check_list_size(out.num_elements()));
      c.forward_output(i, c.output(i).dtype() == DType::kVariant ? moved(c, before, out) : std::move(out));
    }
    return ok_status();
  }

 private:
  /// The variants' numbers from `count` + 1 on.
  static Result<Tensor> numbered(KernelContext& c, const Tensor& in, int64_t& count) {
    if (in.dtype() != DType::kVariant) return in;
    ASSIGN_OR_RETURN(Tensor numbers, c.allocate_scratch(DType::kInt64, in.shape()));
    for (int64_t& number : numbers.flat<int64_t>()) number = ++count;
    return numbers;
  }
  /// Where the shape is open, the kernel allocates.
  static Result<Tensor> place_for(KernelContext& c, const Tensor& out) {
    if (out.dtype() != DType::kVariant) return out;
    if (out.raw() == nullptr) return Tensor::wrap(DType::kInt64, out.shape(), nullptr);
    return c.allocate_scratch(DType::kInt64, out.shape());
  }
  static Tensor moved(const KernelContext& c, const std::vector<int64_t>& before, const Tensor& numbers) {
    ListElements elements;
    for (const int64_t number : numbers.flat<int64_t>()) {
      if (number == 0) {
        elements.push_back(Tensor());
        continue;
      }
      const auto behind = std::lower_bound(before.begin(), before.end(), number);
      const auto input = static_cast<int>(behind - before.begin()) - 1;
      elements.push_back(variant_at(c.input(input), number - before[static_cast<size_t>(input)] - 1));
    }
    return variants_tensor(numbers.shape(), std::move(elements));
  }

  const std::unique_ptr<Kernel> numbers_;
};

}  // namespace

Result<std::unique_ptr<Kernel>> variant_mover(const KernelInit& init, KernelMaker maker) {
  const auto as_numbers = [](std::span<const DType> types) {
    std::vector<DType> numbers(types.begin(), types.end());
    std::replace(numbers.begin(), numbers.end(), DType::kVariant, DType::kInt64);
    return numbers;
  };
  const std::vector<DType> inputs = as_numbers(init.input_types), outputs = as_numbers(init.output_types);
  KernelInit of_numbers = init;
  of_numbers.input_types = inputs;
  of_numbers.output_types = outputs;
  ASSIGN_OR_RETURN(std::unique_ptr<Kernel> numbers, maker(of_numbers));
  return owned_kernel(new VariantMover(std::move(numbers)));
}

}  // namespace emplace
