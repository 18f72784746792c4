// DynamicPartition: slices sorted into as many tensors as there are partitions, by the number that each has.
#include <vector>

#include "core/base/cat.h"
#include "core/base/scratch_vector.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/array/partition_slice.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/index_text.h"
#include "core/ops/kit/shape_math.h"

namespace emplace {
namespace {

Status partition_shape(ShapeContext& c) {
  const Shape& partitions = c.input(1);
  if (!partitions.rank_known()) return ok_status();
  ASSIGN_OR_RETURN(const Shape data, c.with_rank_at_least(0, partitions.rank()));
  ASSIGN_OR_RETURN(Shape prefix, subshape(data, 0, partitions.rank()));
  RETURN_IF_ERROR(ShapeContext::merge(prefix, partitions).status());
  ASSIGN_OR_RETURN(Shape slice, subshape(data, partitions.rank()));
  if (slice.rank_known() && slice.rank() >= kMaxRank)
    return invalid_argument(cat("more than ", kMaxRank, " dimensions"));
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, concat_shapes(Shape{-1}, slice));
  return ok_status();
}

Status partition_cpu(KernelContext& c) {
  const Tensor &data = c.input(0), &partitions = c.input(1);
  ASSIGN_OR_RETURN(const Shape slice, partition_slice(data.shape(), partitions.shape()));
  const int32_t* of = partitions.data<int32_t>();
  const int64_t n = partitions.num_elements(), row = data.num_elements() > 0 ? slice.num_elements() : 0;
  ScratchVector<int64_t> counts(static_cast<size_t>(c.num_outputs()));
  for (int64_t i = 0; i < n; ++i) {
    if (of[i] < 0 || of[i] >= c.num_outputs()) {
      return invalid_argument(cat("partitions", place_text(partitions.shape(), partitions.shape().rank(), i), " = ",
                                  of[i], " is not in [0, ", c.num_outputs(), ")"));
    }
    ++counts[static_cast<size_t>(of[i])];
  }
  for (int p = 0; p < c.num_outputs(); ++p)
    RETURN_IF_ERROR(ensure_output(c, p, concat_shapes(Shape{counts[static_cast<size_t>(p)]}, slice)));
  counts.assign(counts.size(), 0);
  for (int64_t i = 0; i < n && row > 0; ++i) {
    Tensor& out = c.output(of[i]);
    copy_elements(data.dtype(), element_at(data, i * row), element_at(out, counts[static_cast<size_t>(of[i])]++ * row),
                  row);
  }
  return ok_status();
}

// The same partitions of the slices' numbers say where each gradient belongs.
Status partition_gradient(GradientContext& g) {
  Value data = g.input(0), partitions = g.input(1);
  Value prefix = g.shape_of(partitions);
  Value count = g.add("Prod", {prefix, g.ints({0}, "Const")});
  Value numbers = g.reshape(g.range(g.index(0, "range/start"), count, g.index(1, "range/delta")), prefix);
  const int n = static_cast<int>(g.attrs().integer("num_partitions"));
  Value parts = g.add("DynamicPartition", {numbers, partitions}, g.copy_attrs({"num_partitions"}));
  std::vector<Value> inputs;
  inputs.reserve(static_cast<size_t>(n) * 2);
  for (int i = 0; i < n; ++i) inputs.push_back(parts.output(static_cast<uint32_t>(i)));
  for (int i = 0; i < n; ++i) inputs.push_back(g.grad(i));
  Value stitched = g.add("ParallelDynamicStitch", inputs, {{"N", AttrValue::of(int64_t{n})}});
  g.set(0, g.reshape(stitched, g.shape_of(data)));
  return g.status();
}

}  // namespace

OpDef dynamic_partition_op() {
  return OpDef("DynamicPartition")
      .doc("Output p: the slices data[i] with partitions[i] = p, in their order.")
      .shape(partition_shape)
      .cpu(kAllData | DTypeSet{DType::kResource}, stateless<partition_cpu>)
      .gradient(partition_gradient)
      .sample("data=f32[5,2] uniform(-2,2); partitions=[1,0,2,1,1]; num_partitions=3")
      .sample("data=f32[2,3] uniform(-2,2); partitions=[0,1]; num_partitions=2");
}

}  // namespace emplace
