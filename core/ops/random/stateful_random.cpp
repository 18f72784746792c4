// StatefulUniform, StatefulUniformInt, StatefulUniformFullInt, StatefulStandardNormalV2, StatefulTruncatedNormal:
// numbers of the stream that a variable holds (tf.random.Generator of TensorFlow 2.0 to 2.3).
#include "core/base/cat.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/random/random_state.h"
#include "core/ops/random/rng_state.h"

namespace emplace {
namespace {

/// Inputs: the variable, the algorithm, a shape.
Status of_variable_shape(ShapeContext& c) {
  RETURN_IF_ERROR(c.with_rank(1, 0).take_status());
  ASSIGN_OR_RETURN(Shape out, shape_from_input(c, 2));
  c.set_output(0, std::move(out));
  return ok_status();
}

/// Gives the output its shape, and takes as many numbers of the stream.
Result<PhiloxStream> begin_stateful(KernelContext& c) {
  const Tensor& sizes = c.input(2);
  if (sizes.dtype() != DType::kInt32 && sizes.dtype() != DType::kInt64)
    return invalid_argument(cat("shape must be a vector of {int32,int64}, not of ", dtype_name(sizes.dtype())));
  ASSIGN_OR_RETURN(const Shape shape, shape_of_values(sizes));
  RETURN_IF_ERROR(ensure_output(c, 0, shape));
  return take_rng_numbers(c, static_cast<uint64_t>(c.output(0).num_elements()));
}

template <Distribution kDistribution>
Status stateful_cpu(KernelContext& c) {
  ASSIGN_OR_RETURN(const PhiloxStream stream, begin_stateful(c));
  Tensor& out = c.output(0);
  fill_random(*c.parallel_, stream, kDistribution, out.dtype(), out.raw(), out.num_elements());
  return ok_status();
}

Status stateful_integers_cpu(KernelContext& c) {
  static constexpr std::string_view kNames[] = {"minval", "maxval"};
  for (int i : {0, 1}) {
    if (const Shape& shape = c.input(3 + i).shape(); shape.rank() != 0)
      return invalid_argument(cat(kNames[i], " must be 0-D, got shape ", shape.to_string()));
  }
  const int64_t low = int_at(c.input(3), 0), high = int_at(c.input(4), 0);
  if (low >= high) return invalid_argument(cat("Need minval < maxval, got ", low, " >= ", high));
  ASSIGN_OR_RETURN(const PhiloxStream stream, begin_stateful(c));
  Tensor& out = c.output(0);
  fill_random_integers(*c.parallel_, stream, out.dtype(), low, high, out.raw(), out.num_elements());
  return ok_status();
}

Status stateful_words_cpu(KernelContext& c) {
  ASSIGN_OR_RETURN(const PhiloxStream stream, begin_stateful(c));
  Tensor& out = c.output(0);
  fill_random_words(*c.parallel_, stream, element_stride(out.dtype()), out.raw(), out.num_elements());
  return ok_status();
}

OpDef stateful(std::string_view name, std::string_view doc) {
  return OpDef(name)
      .doc(doc)
      .traits({.writes_variable = true})
      .shape(of_variable_shape)
      .kernel_attr("dtype")
      .value_inputs({2});
}

}  // namespace

OpDef stateful_uniform_op() {
  return stateful("StatefulUniform", "Uniform numbers in [0, 1) of the stream that a variable holds.")
      .cpu(kFloating, stateless<stateful_cpu<Distribution::kUniform>>);
}
OpDef stateful_standard_normal_v2_op() {
  return stateful("StatefulStandardNormalV2", "Normal numbers of the stream that a variable holds.")
      .cpu(kFloating, stateless<stateful_cpu<Distribution::kNormal>>);
}
OpDef stateful_truncated_normal_op() {
  return stateful("StatefulTruncatedNormal",
                  "Normal numbers of the stream that a variable holds, those beyond two deviations drawn anew.")
      .cpu(kFloating, stateless<stateful_cpu<Distribution::kTruncatedNormal>>);
}
OpDef stateful_uniform_int_op() {
  return stateful("StatefulUniformInt", "Integers in [minval, maxval) of the stream that a variable holds.")
      .cpu(DTypeSet{DType::kInt32, DType::kInt64}, stateless<stateful_integers_cpu>);
}
OpDef stateful_uniform_full_int_op() {
  return stateful("StatefulUniformFullInt", "Integers of any value, of the stream that a variable holds.")
      .cpu(DTypeSet{DType::kInt32, DType::kInt64, DType::kUInt32, DType::kUInt64}, stateless<stateful_words_cpu>);
}

}  // namespace emplace
