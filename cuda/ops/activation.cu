// Relu and its relatives, their gradients, and the gradients of other elementwise functions.
#include "cuda/elementwise.h"

#include "core/ops/formulas/activation.h"

namespace emplace::cuda {
namespace {

/// With alpha as the element type holds it.
template <class F>
Result<std::unique_ptr<Kernel>> with_alpha(const KernelInit& init) {
  const DType type = base_type(init.input_types[0]);
  F f{init.attrs.number("alpha")};
  if (type == DType::kHalf) f.alpha = static_cast<float>(half(f.alpha));
  if (type == DType::kBFloat16) f.alpha = static_cast<float>(bfloat16(f.alpha));
  return elementwise_of<F, float, double, half, bfloat16>(type, f);
}
/// Of (output, gradient).
template <class F>
Result<std::unique_ptr<Kernel>> of_output(const KernelInit& init) {
  return elementwise_of<F, float, double, half, bfloat16>(base_type(init.input_types.back()), {}, {.same_size = true});
}

}  // namespace

void add_activation(KernelTable& table) {
  table.add("Relu", kRealNumbers.without(kHostInt32),
            elementwise<fn::Relu, float, double, half, bfloat16, int8_t, int16_t, int64_t, uint8_t, uint16_t, uint32_t,
                        uint64_t>);
  table.add("Relu6", kFloating, kOfFloating<fn::Relu6>);
  table.add("Elu", kFloating, kOfFloating<fn::Elu>);
  table.add("Selu", kFloating, kOfFloating<fn::Selu>);
  table.add("Softplus", kFloating, kOfFloating<fn::Softplus>);
  table.add("Softsign", kFloating, kOfFloating<fn::Softsign>);
  table.add("LeakyRelu", kFloating, with_alpha<fn::LeakyRelu>);
  table.add("LeakyReluGrad", kFloating, with_alpha<fn::LeakyReluGrad>);
  table.add("Prelu", kFloatDouble | DTypeSet{DType::kInt32}, elementwise<fn::Prelu, float, double, int32_t>);
  table.add("ReluGrad", kFloating, kOfFloating<fn::ReluGrad>);
  table.add("Relu6Grad", kFloating, kOfFloating<fn::Relu6Grad>);
  table.add("EluGrad", kFloating, kOfFloating<fn::EluGrad>);
  table.add("SeluGrad", kFloating, kOfFloating<fn::SeluGrad>);
  table.add("SoftplusGrad", kFloating, kOfFloating<fn::SoftplusGrad>);
  table.add("SoftsignGrad", kFloating, kOfFloating<fn::SoftsignGrad>);
  table.add("SigmoidGrad", kFloating, of_output<fn::SigmoidGrad>);
  table.add("TanhGrad", kFloating, of_output<fn::TanhGrad>);
  table.add("SqrtGrad", kFloating, of_output<fn::SqrtGrad>);
  table.add("RsqrtGrad", kFloating, of_output<fn::RsqrtGrad>);
  table.add("ReciprocalGrad", kFloating, of_output<fn::ReciprocalGrad>);
  table.add("InvGrad", kFloating, of_output<fn::ReciprocalGrad>);
}

}  // namespace emplace::cuda
