#include "core/ops/conv/epilogue.h"

#include "core/base/cat.h"

namespace emplace {
namespace {

struct Name {
  std::string_view text;
  Activation activation;
};
constexpr Name kNames[] = {
    {"Relu", Activation::kRelu},           {"Relu6", Activation::kRelu6}, {"Elu", Activation::kElu},
    {"LeakyRelu", Activation::kLeakyRelu}, {"Prelu", Activation::kPrelu}, {"Sigmoid", Activation::kSigmoid},
    {"Tanh", Activation::kTanh},
};

}  // namespace

Result<FusedOps> FusedOps::from(const Attrs& attrs) {
  FusedOps ops;
  for (const std::string& name : attrs.texts("fused_ops")) {
    if (name == "BiasAdd" && !ops.bias && !ops.batch_norm) {
      ops.bias = true;
      continue;
    }
    if (name == "FusedBatchNorm" && !ops.bias && !ops.batch_norm) {
      ops.batch_norm = true;
      continue;
    }
    bool known = false;
    for (const Name& n : kNames) {
      if (n.text != name || ops.activation != Activation::kNone) continue;
      ops.activation = n.activation;
      known = true;
    }
    if (!known) return unimplemented(cat("fused op '", name, "' in this place"));
  }
  if (const AttrValue* alpha = attrs.find("leakyrelu_alpha")) ops.leaky_alpha = alpha->get<float>();
  if (const AttrValue* epsilon = attrs.find("epsilon")) ops.epsilon = epsilon->get<float>();
  return ops;
}

Status FusedOps::check_num_args(const Attrs& attrs) const {
  if (num_args() == attrs.integer("num_args")) return ok_status();
  return invalid_argument(cat("fused_ops need ", num_args(), " args, but num_args is ", attrs.integer("num_args")));
}

}  // namespace emplace
