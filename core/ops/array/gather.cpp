// Gather, GatherV2, ResourceGather: slices of params along an axis, chosen by indices.
#include <algorithm>
#include <cstring>

#include "core/base/cat.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/array/gather_geometry.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/index_text.h"
#include "core/ops/kit/moved_variants.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/state/variable_state.h"

namespace emplace {
namespace {

Status gather_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(Shape params, c.with_rank_at_least(0, 1));
  ASSIGN_OR_RETURN(Shape inner, subshape(params, 1));
  c.set_output(0, concat_shapes(c.input(1), inner));
  return ok_status();
}

Status gather_v2_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(Shape params, c.with_rank_at_least(0, 1));
  const Shape& indices = c.input(1);
  RETURN_IF_ERROR(c.with_rank(2, 0).take_status());
  int64_t batch_dims = c.attrs().integer("batch_dims");
  if (batch_dims < -kMaxRank || batch_dims > kMaxRank) {
    return invalid_argument(cat("batch_dims ", batch_dims, " is out of range"));
  }
  ASSIGN_OR_RETURN(auto axis, scalar_value(c, 2));
  if (!axis) {
    int64_t rank =
        params.rank_known() && indices.rank_known()
            ? params.rank() + indices.rank() - 1 - (batch_dims < 0 ? batch_dims + indices.rank() : batch_dims)
            : -1;
    if (rank >= 0) {
      if (rank > kMaxRank) return invalid_argument(cat("more than ", kMaxRank, " dimensions"));
      c.set_output(0, Shape::unknown_dims(static_cast<int>(rank)));
    }
    return ok_status();
  }
  if (*axis < -kMaxRank || *axis >= kMaxRank) return invalid_argument(cat("axis ", *axis, " is out of range"));
  RETURN_IF_ERROR(require_rank_at_least(params, *axis < 0 ? -*axis : *axis + 1).take_status());
  RETURN_IF_ERROR(require_rank_at_least(indices, batch_dims < 0 ? -batch_dims : batch_dims).take_status());
  if (!indices.rank_known() && batch_dims < 0) return ok_status();
  if (batch_dims < 0) batch_dims += indices.rank();
  RETURN_IF_ERROR(require_rank_at_least(params, batch_dims + 1).take_status());
  ASSIGN_OR_RETURN(Shape outer, subshape(params, 0, *axis));
  ASSIGN_OR_RETURN(Shape chosen, subshape(indices, batch_dims));
  Shape out = concat_shapes(outer, chosen);
  if (*axis != -1) {
    ASSIGN_OR_RETURN(Shape inner, subshape(params, *axis + 1));
    out = concat_shapes(out, inner);
  }
  if (out.rank_known() && out.rank() > kMaxRank) return invalid_argument(cat("more than ", kMaxRank, " dimensions"));
  c.set_output(0, out);
  return ok_status();
}

// The first index out of range, as TensorFlow reports it; -1: none.
template <class Index>
int64_t first_bad(const Index* indices, int64_t n, int64_t size) {
  for (int64_t i = 0; i < n; ++i) {
    if (indices[i] < 0 || static_cast<int64_t>(indices[i]) >= size) return i;
  }
  return -1;
}

template <class E, class Index>
void gather_rows(KernelContext& c, const Tensor& from_params, const GatherSizes& g, const Index* indices) {
  const char* params = static_cast<const char*>(from_params.raw());  // of a variable in its file, at any address
  E* out = static_cast<E*>(c.output(0).raw());
  int64_t rows = g.batch * g.outer * g.chosen;
  double cost = 2 + 0.1 * static_cast<double>(g.inner) * static_cast<double>(sizeof(E));
  c.parallel_for(rows, cost, [&](int64_t begin, int64_t end) {
    int64_t choice = begin % g.chosen, slab = begin / g.chosen;
    for (int64_t r = begin; r < end; ++r) {
      int64_t index = static_cast<int64_t>(indices[slab / g.outer * g.chosen + choice]);
      const char* from = params + (slab * g.size + index) * g.inner * static_cast<int64_t>(sizeof(E));
      if constexpr (std::is_same_v<E, std::string>) {
        std::copy_n(reinterpret_cast<const E*>(from), g.inner, out + r * g.inner);
      } else if (g.inner == 1) {
        std::memcpy(out + r, from, sizeof(E));
      } else {
        std::memcpy(out + r * g.inner, from, static_cast<size_t>(g.inner) * sizeof(E));
      }
      if (++choice == g.chosen) {
        choice = 0;
        ++slab;
      }
    }
  });
}

Status gather(KernelContext& c, const Tensor& params, int64_t axis, int64_t batch_dims) {
  const Tensor& indices = c.input(1);
  ASSIGN_OR_RETURN(const GatherGeometry geometry,
                   GatherGeometry::make(params.shape(), indices.shape(), axis, batch_dims));
  RETURN_IF_ERROR(ensure_output(c, 0, geometry.out));
  const GatherSizes& g = geometry.sizes;
  return with_index(indices.dtype(), [&]<class Index>(Index) -> Status {
    const Index* data = indices.data<Index>();
    int64_t bad = first_bad(data, indices.num_elements(), g.size);
    if (bad >= 0 && c.output(0).num_elements() > 0) {
      return invalid_argument(cat("indices", place_text(indices.shape(), indices.shape().rank(), bad), " = ", data[bad],
                                  " is not in [0, ", g.size, ")"));
    }
    if (c.output(0).num_elements() == 0) return ok_status();
    with_element(params.dtype(), [&]<class E>(E) { gather_rows<E>(c, params, g, data); });
    return ok_status();
  });
}

Status gather_cpu(KernelContext& c) { return gather(c, c.input(0), 0, 0); }

class GatherV2 final : public Kernel {
 public:
  explicit GatherV2(const KernelInit& init) : batch_dims_(init.attrs.integer("batch_dims")) {}
  Status run(KernelContext& c) override {
    if (c.input(2).num_elements() != 1) return invalid_argument("axis must be scalar");
    return gather(c, c.input(0), int_at(c.input(2), 0), batch_dims_);
  }

 private:
  int64_t batch_dims_;
};

Status resource_gather_shape(ShapeContext& c) {
  const HandleInfo* handle = c.input_handle(0);
  ASSIGN_OR_RETURN(Shape params, require_rank_at_least(handle ? handle->shape : Shape::unknown(), 1));
  const int64_t batch_dims = c.attrs().integer("batch_dims");
  if (batch_dims < 0) return invalid_argument(cat("batch_dims is negative (", batch_dims, ")"));
  ASSIGN_OR_RETURN(Shape chosen, subshape(c.input(1), batch_dims));
  ASSIGN_OR_RETURN(Shape outer, subshape(params, 0, batch_dims));
  ASSIGN_OR_RETURN(Shape inner, subshape(params, batch_dims + 1));
  c.set_output(0, concat_shapes(concat_shapes(outer, chosen), inner));
  return ok_status();
}

class ResourceGather final : public Kernel {
 public:
  explicit ResourceGather(const KernelInit& init) : batch_dims_(init.attrs.integer("batch_dims")) {}
  Status run(KernelContext& c) override {
    ASSIGN_OR_RETURN(const Tensor params, value_behind_handle(c.variable(0), c.output(0).dtype()));
    return gather(c, params, batch_dims_, batch_dims_);
  }

 private:
  int64_t batch_dims_;
};

// Along the first axis the gradient is slices of params.
void slices_gradient(GradientContext& g, Value params_shape) {
  Value size = g.expand_dims(g.size_of(g.input(1)), 0);
  Value values = g.reshape(g.grad(0), g.concat({size, g.slice(params_shape, 1)}));
  g.set_slices(0, values, g.reshape(g.input(1), size), params_shape);
}

Status gather_gradient(GradientContext& g) {
  slices_gradient(g, g.shape_of(g.input(0)));
  return g.status();
}

// Where the variable's shape is declared, the read is not needed, and goes.
Status resource_gather_gradient(GradientContext& g) {
  Value params = g.add("ReadVariableOp", {g.input(0)}, {{"dtype", AttrValue::of(g.attrs().type("dtype"))}});
  slices_gradient(g, g.shape_of(params));
  return g.status();
}

// Indices into params whose batches lie one behind the other.
Value flat_batch_indices(GradientContext& g, Value params_shape, Value indices, int64_t batch_dims) {
  const DType type = g.type(indices);
  Value sizes = g.cast(params_shape, type);
  Value stride = g.index(1, "ones", type), flat = indices;
  for (int64_t dim = batch_dims; dim > 0; --dim) {
    Value size = g.element(sizes, dim - 1);
    stride = g.mul(stride, g.element(sizes, dim));
    Value starts = g.mul(g.range(g.index(0, "zeros", type), size, g.index(1, "ones", type)), stride);
    // The starts vary along dimension dim - 1 of the indices.
    std::vector<int64_t> before(static_cast<size_t>(dim - 1), 1);
    Value after = g.add("Fill", {g.expand_dims(g.add("Sub", {g.rank_of(indices), g.index(dim, "sub/y")}, {}, "sub"), 0),
                                 g.index(1, "ones")});
    Value form = g.concat({g.ints(before, "concat/values_0"), g.expand_dims(g.cast(size, DType::kInt32), 0), after});
    flat = g.add("AddV2", {flat, g.reshape(starts, form)}, {}, "add");
  }
  return flat;
}

// The axis moves behind the batch dimensions, the rows of each index are summed, and the axis moves back.
Status gather_v2_gradient(GradientContext& g) {
  const Tensor* axis_value = g.value(g.input(2));
  const Shape& params = g.shape(g.input(0));
  const Shape& form = g.shape(g.input(1));
  int64_t batch_dims = g.attrs().integer("batch_dims");
  if (axis_value && int_at(*axis_value, 0) == 0) {
    slices_gradient(g, g.shape_of(g.input(0)));
    return g.status();
  }
  if (!axis_value || !params.rank_known() || (batch_dims < 0 && !form.rank_known())) {
    return unimplemented("the gradient of GatherV2 needs to know the axis and the rank of params before the run");
  }
  if (batch_dims < 0) batch_dims += form.rank();
  int64_t axis = int_at(*axis_value, 0);
  if (axis < 0) axis += params.rank();
  Value params_shape = g.shape_of(g.input(0)), indices = g.input(1), flat = g.ints({-1}, "Const");
  auto inner = g.slice(params_shape, axis + 1);
  Value values = g.reshape(
      g.grad(0), axis == 0 ? g.concat({flat, inner}) : g.concat({g.slice(params_shape, 0, axis), flat, inner}));
  std::vector<int64_t> order, back;
  for (int64_t i = 0; i < batch_dims; ++i) order.push_back(i);
  order.push_back(axis);
  for (int64_t i = batch_dims; i < params.rank(); ++i) {
    if (i != axis) order.push_back(i);
  }
  back.resize(order.size());
  for (size_t i = 0; i < order.size(); ++i) back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  Value permutation = g.ints(order, "concat_1");
  values = g.transpose(values, permutation);
  Value turned_shape = g.gather(params_shape, permutation);
  Value rows = g.element(params_shape, axis);
  if (batch_dims > 0) {
    Value batches = g.add("Prod", {g.slice(turned_shape, 0, batch_dims), g.ints({0}, "Prod/axis")});
    rows = g.mul(rows, batches);
    indices = flat_batch_indices(g, turned_shape, indices, batch_dims);
    values = g.reshape(values, g.concat({flat, g.slice(turned_shape, batch_dims + 1)}));
  }
  Value sums = g.add("UnsortedSegmentSum", {values, g.reshape(indices, flat), rows});
  if (batch_dims > 0) sums = g.reshape(sums, turned_shape);
  g.set(0, g.reshape(g.transpose(sums, g.ints(back, "concat_2")), g.shape_of(g.input(0))));
  return g.status();
}

}  // namespace

OpDef gather_op() {
  return OpDef("Gather")
      .doc("params[indices]: slices along the first axis.")
      .shape(gather_shape)
      .kernel_attr("Tparams")
      .cpu(kMovable, stateless<gather_cpu>)
      .cpu(DTypeSet{DType::kVariant}, moving_variants<stateless<gather_cpu>>)
      .gradient(gather_gradient);
}
OpDef gather_v2_op() {
  return OpDef("GatherV2")
      .doc("Slices of params along an axis, chosen by indices; the first batch_dims dimensions go together.")
      .shape(gather_v2_shape)
      .kernel_attr("Tparams")
      .cpu(kMovable, make<GatherV2>)
      .cpu(DTypeSet{DType::kVariant}, moving_variants<make<GatherV2>>)
      .value_inputs({2})
      .gradient(gather_v2_gradient);
}
OpDef resource_gather_op() {
  return OpDef("ResourceGather")
      .doc(
          "Slices of the variable behind the handle along its first axis; the first batch_dims dimensions go together.")
      .traits({.leaves_state = true})
      .shape(resource_gather_shape)
      .kernel_attr("dtype")
      .cpu(kAllData | DTypeSet{DType::kQInt8, DType::kQUInt8, DType::kQInt32, DType::kResource}, make<ResourceGather>)
      .gradient(resource_gather_gradient);
}

}  // namespace emplace
