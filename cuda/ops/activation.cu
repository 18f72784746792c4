// Relu and its relatives, their gradients, and the gradients of other elementwise functions.
#include "cuda/elementwise.h"
#include "cuda/functions/activation.h"

namespace emplace::cuda {

void add_activation(KernelTable& table) {
  table.add("Relu", kRealNumbers.without(kHostInt32),
            elementwise<fn::Relu, float, double, half, bfloat16, int8_t, int16_t, int64_t, uint8_t, uint16_t, uint32_t,
                        uint64_t>);
  table.add("Relu6", kFloating, kOfFloating<fn::Relu6>);
  table.add("Elu", kFloating, kOfFloating<fn::Elu>);
  table.add("Selu", kFloating, kOfFloating<fn::Selu>);
  table.add("Softplus", kFloating, kOfFloating<fn::Softplus>);
  table.add("Softsign", kFloating, kOfFloating<fn::Softsign>);
  table.add("LeakyRelu", kFloating, kOfFloating<fn::LeakyRelu>);
  table.add("LeakyReluGrad", kFloating, kOfFloating<fn::LeakyReluGrad>);
  table.add("Prelu", kFloatDouble | DTypeSet{DType::kInt32}, elementwise<fn::Prelu, float, double, int32_t>);
  table.add("ReluGrad", kFloating, kOfFloating<fn::ReluGrad>);
  table.add("Relu6Grad", kFloating, kOfFloating<fn::Relu6Grad>);
  table.add("EluGrad", kFloating, kOfFloating<fn::EluGrad>);
  table.add("SeluGrad", kFloating, kOfFloating<fn::SeluGrad>);
  table.add("SoftplusGrad", kFloating, kOfFloating<fn::SoftplusGrad>);
  table.add("SoftsignGrad", kFloating, kOfFloating<fn::SoftsignGrad>);
  table.add("SigmoidGrad", kFloating, kOfFloating<fn::SigmoidGrad>);
  table.add("TanhGrad", kFloating, kOfFloating<fn::TanhGrad>);
  table.add("SqrtGrad", kFloating, kOfFloating<fn::SqrtGrad>);
  table.add("RsqrtGrad", kFloating, kOfFloating<fn::RsqrtGrad>);
  table.add("ReciprocalGrad", kFloating, kOfFloating<fn::ReciprocalGrad>);
  table.add("InvGrad", kFloating, kOfFloating<fn::ReciprocalGrad>);
}

}  // namespace emplace::cuda
