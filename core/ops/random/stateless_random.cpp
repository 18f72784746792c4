// StatelessRandomUniform, StatelessRandomNormal, StatelessTruncatedNormal and their V2 forms,
// StatelessRandomUniformInt, StatelessRandomUniformFullInt and their V2: the stream is an input.
// StatelessRandomGetKeyCounter, StatelessRandomGetKeyCounterAlg, StatelessRandomGetAlg: what that input is made from.
#include "core/base/cat.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/random/random_state.h"

namespace emplace {
namespace {

constexpr DTypeSet kWords{DType::kInt32, DType::kInt64, DType::kUInt32, DType::kUInt64};

Status from_seed_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(Shape seed, c.with_rank(1, 1));
  RETURN_IF_ERROR(require_dim(seed.dim(0), 2).take_status());
  ASSIGN_OR_RETURN(Shape out, shape_from_input(c, 0));
  c.set_output(0, std::move(out));
  return ok_status();
}

Status from_counter_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(Shape key, c.with_rank(1, 1));
  RETURN_IF_ERROR(c.with_rank(2, 1).take_status());
  RETURN_IF_ERROR(c.with_rank(3, 0).take_status());
  RETURN_IF_ERROR(require_dim(key.dim(0), 1).take_status());
  ASSIGN_OR_RETURN(Shape out, shape_from_input(c, 0));
  c.set_output(0, std::move(out));
  return ok_status();
}

Result<PhiloxStream> stream_from_seed(const KernelContext& c) { return philox_from_seed(c.input(1)); }

Result<PhiloxStream> stream_from_counter(const KernelContext& c) {
  return philox_from_counter(c.input(1), c.input(2), c.input(3));
}

template <Distribution kDistribution, Result<PhiloxStream> (*kStream)(const KernelContext&)>
Status fill(KernelContext& c) {
  ASSIGN_OR_RETURN(Shape shape, shape_of_values(c.input(0)));
  ASSIGN_OR_RETURN(const PhiloxStream stream, kStream(c));
  RETURN_IF_ERROR(ensure_output(c, 0, shape));
  fill_random(*c.parallel_, stream, kDistribution, c.output(0).dtype(), c.output(0).raw(), c.output(0).num_elements());
  return ok_status();
}

/// The bounds are the last two inputs.
template <Result<PhiloxStream> (*kStream)(const KernelContext&)>
Status integers(KernelContext& c) {
  static constexpr std::string_view kNames[] = {"minval", "maxval"};
  const int bounds = c.num_inputs() - 2;
  ASSIGN_OR_RETURN(const Shape shape, shape_of_values(c.input(0)));
  ASSIGN_OR_RETURN(const PhiloxStream stream, kStream(c));
  RETURN_IF_ERROR(ensure_output(c, 0, shape));
  if (shape.num_elements() == 0) return ok_status();
  for (int i : {0, 1}) {
    if (const Shape& bound = c.input(bounds + i).shape(); bound.rank() != 0)
      return invalid_argument(cat(kNames[i], " must be 0-D, got shape ", bound.to_string()));
  }
  const int64_t low = int_at(c.input(bounds), 0), high = int_at(c.input(bounds + 1), 0);
  if (low >= high) return invalid_argument(cat("Need minval < maxval, got ", low, " >= ", high));
  Tensor& out = c.output(0);
  fill_random_integers(*c.parallel_, stream, out.dtype(), low, high, out.raw(), out.num_elements());
  return ok_status();
}

template <Result<PhiloxStream> (*kStream)(const KernelContext&)>
Status words(KernelContext& c) {
  ASSIGN_OR_RETURN(const Shape shape, shape_of_values(c.input(0)));
  ASSIGN_OR_RETURN(const PhiloxStream stream, kStream(c));
  RETURN_IF_ERROR(ensure_output(c, 0, shape));
  Tensor& out = c.output(0);
  fill_random_words(*c.parallel_, stream, element_stride(out.dtype()), out.raw(), out.num_elements());
  return ok_status();
}

Status key_counter_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(Shape seed, c.with_rank(0, 1));
  RETURN_IF_ERROR(require_dim(seed.dim(0), 2).take_status());
  c.set_output(0, Shape{1});
  c.set_output(1, Shape{2});
  if (c.num_outputs() > 2) c.set_output(2, Shape{});
  return ok_status();
}

Status key_counter(KernelContext& c) {
  ASSIGN_OR_RETURN(const PhiloxStart start, philox_start_from_seed(c.input(0)));
  c.out<uint64_t>(0)[0] = start.key;
  c.out<uint64_t>(1)[0] = start.counter_low;
  c.out<uint64_t>(1)[1] = start.counter_high;
  if (c.num_outputs() > 2) *c.out<int32_t>(2) = static_cast<int32_t>(kPhilox);
  return ok_status();
}

Status algorithm(KernelContext& c) {
  *c.out<int32_t>(0) = static_cast<int32_t>(kPhilox);
  return ok_status();
}

template <Distribution kDistribution>
OpDef from_seed(std::string_view name, std::string_view doc) {
  return OpDef(name)
      .doc(doc)
      .shape(from_seed_shape)
      .kernel_attr("dtype")
      .value_inputs({0})
      .cpu(kFloating, stateless<fill<kDistribution, stream_from_seed>>)
      .sample("shape=[2,3]; seed=[5,7]");
}
template <Distribution kDistribution>
OpDef from_counter(std::string_view name, std::string_view doc) {
  return OpDef(name)
      .doc(doc)
      .shape(from_counter_shape)
      .kernel_attr("dtype")
      .value_inputs({0})
      .cpu(kFloating, stateless<fill<kDistribution, stream_from_counter>>)
      .sample("shape=[2,3]; key=u64[1] 5; counter=u64[2] 7; alg=1");
}

}  // namespace

OpDef stateless_random_uniform_op() {
  return from_seed<Distribution::kUniform>("StatelessRandomUniform",
                                           "Uniform numbers in [0, 1) that depend on the seed alone.")
      .not_differentiable();
}
OpDef stateless_random_normal_op() {
  return from_seed<Distribution::kNormal>("StatelessRandomNormal", "Normal numbers that depend on the seed alone.")
      .not_differentiable();
}
OpDef stateless_truncated_normal_op() {
  return from_seed<Distribution::kTruncatedNormal>("StatelessTruncatedNormal",
                                                   "Truncated normal numbers that depend on the seed alone.")
      .not_differentiable();
}
OpDef stateless_random_uniform_v2_op() {
  return from_counter<Distribution::kUniform>("StatelessRandomUniformV2",
                                              "Uniform numbers in [0, 1) of a given stream.")
      .not_differentiable();
}
OpDef stateless_random_normal_v2_op() {
  return from_counter<Distribution::kNormal>("StatelessRandomNormalV2", "Normal numbers of a given stream.")
      .not_differentiable();
}
OpDef stateless_truncated_normal_v2_op() {
  return from_counter<Distribution::kTruncatedNormal>("StatelessTruncatedNormalV2",
                                                      "Truncated normal numbers of a given stream.")
      .not_differentiable();
}
OpDef stateless_random_uniform_int_op() {
  return OpDef("StatelessRandomUniformInt")
      .doc("Integers in [minval, maxval) that depend on the seed alone.")
      .shape(from_seed_shape)
      .kernel_attr("dtype")
      .value_inputs({0})
      .cpu(DTypeSet{DType::kInt32, DType::kInt64}, stateless<integers<stream_from_seed>>)
      .sample("shape=[2,3]; seed=[5,7]; minval=i32[] 3; maxval=i32[] 17")
      .not_differentiable();
}
OpDef stateless_random_uniform_int_v2_op() {
  return OpDef("StatelessRandomUniformIntV2")
      .doc("Integers in [minval, maxval) of a given stream.")
      .shape(from_counter_shape)
      .kernel_attr("dtype")
      .value_inputs({0})
      .cpu(DTypeSet{DType::kInt32, DType::kInt64}, stateless<integers<stream_from_counter>>)
      .sample("shape=[2,3]; key=u64[1] 5; counter=u64[2] 7; alg=1; minval=i32[] 3; maxval=i32[] 17")
      .not_differentiable();
}
OpDef stateless_random_uniform_full_int_op() {
  return OpDef("StatelessRandomUniformFullInt")
      .doc("Integers of any value, that depend on the seed alone.")
      .shape(from_seed_shape)
      .kernel_attr("dtype")
      .value_inputs({0})
      .cpu(kWords, stateless<words<stream_from_seed>>)
      .sample("shape=[2,3]; seed=[5,7]")
      .not_differentiable();
}
OpDef stateless_random_uniform_full_int_v2_op() {
  return OpDef("StatelessRandomUniformFullIntV2")
      .doc("Integers of any value, of a given stream.")
      .shape(from_counter_shape)
      .kernel_attr("dtype")
      .value_inputs({0})
      .cpu(kWords, stateless<words<stream_from_counter>>)
      .sample("shape=[2,3]; key=u64[1] 5; counter=u64[2] 7; alg=1")
      .not_differentiable();
}
OpDef stateless_random_get_key_counter_op() {
  return OpDef("StatelessRandomGetKeyCounter")
      .doc("The stream of random numbers that a seed stands for.")
      .shape(key_counter_shape)
      .cpu(stateless<key_counter>)
      .sample("seed=[5,7]")
      .not_differentiable();
}
OpDef stateless_random_get_key_counter_alg_op() {
  return OpDef("StatelessRandomGetKeyCounterAlg")
      .doc("The stream of random numbers that a seed stands for, and which algorithm draws it.")
      .shape(key_counter_shape)
      .cpu(stateless<key_counter>)
      .sample("seed=[5,7]");
}
OpDef stateless_random_get_alg_op() {
  return OpDef("StatelessRandomGetAlg")
      .doc("Which algorithm draws random numbers here: 1, Philox.")
      .shape(shape_scalar)
      .cpu(stateless<algorithm>)
      .not_differentiable();
}

}  // namespace emplace
