// SparseToDense: values at listed places, a default elsewhere.
#include <compare>

#include "core/base/cat.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/index_text.h"
#include "core/ops/kit/shape_math.h"

namespace emplace {
namespace {

Status sparse_to_dense_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(Shape out, shape_from_input(c, 1));
  c.set_output(0, out);
  return ok_status();
}

struct Places {
  const Tensor& indices;
  const Shape& shape;
  int64_t count, depth;

  int64_t at(int64_t i, int64_t d) const { return int_at(indices, i * depth + d); }
  std::string text(int64_t i) const {
    return cat("indices[", i, "] = [", index_text(indices, i * depth, depth, ","), "]");
  }

  bool inside(int64_t i) const {
    for (int d = 0; d < depth; ++d) {
      if (at(i, d) < 0 || at(i, d) >= shape.dim(d)) return false;
    }
    return true;
  }
  std::strong_ordering compare(int64_t i, int64_t k) const {
    for (int d = 0; d < depth; ++d) {
      if (at(i, d) != at(k, d)) return at(i, d) <=> at(k, d);
    }
    return std::strong_ordering::equal;
  }
  int64_t offset(int64_t i) const {
    int64_t flat = 0;
    for (int d = 0; d < depth; ++d) flat = flat * shape.dim(d) + at(i, d);
    return flat;
  }
};

Status check(const Places& p, bool validate) {
  for (int64_t i = 0; i < p.count; ++i) {
    if (!p.inside(i)) {
      std::string limits = p.shape.to_string();
      return invalid_argument(validate ? cat(p.text(i), " is out of bounds: need 0 <= index < ", limits)
                                       : cat("Indices are not valid (out of bounds).  Shape: ", limits));
    }
    if (!validate || i == 0) continue;
    auto order = p.compare(i, i - 1);
    if (order < 0) {
      return invalid_argument(p.text(i) +
                              " is out of order. Many sparse ops require sorted indices.\n"
                              "    Use `tf.sparse.reorder` to create a correctly ordered copy.");
    }
    if (order == 0) return invalid_argument(p.text(i) + " is repeated");
  }
  return ok_status();
}

class SparseToDense final : public Kernel {
 public:
  explicit SparseToDense(const KernelInit& init) : validate_(init.attrs.flag("validate_indices")) {}

  Status run(KernelContext& c) override {
    const Tensor &indices = c.input(0), &values = c.input(2), &rest = c.input(3);
    const Shape& s = indices.shape();
    if (s.rank() > 2) {
      return invalid_argument(cat("sparse_indices should be a scalar, vector, or matrix, got shape ", s.to_string()));
    }
    ASSIGN_OR_RETURN(Shape shape, shape_of_values(c.input(1)));
    Places places{indices, shape, s.rank() > 0 ? s.dim(0) : 1, s.rank() > 1 ? s.dim(1) : 1};
    if (shape.rank() != places.depth) {
      return invalid_argument(
          cat("output_shape has incorrect number of elements: ", shape.rank(), " should be: ", places.depth));
    }
    bool one_value = values.shape().rank() == 0;
    if (!one_value && !(values.shape() == Shape{places.count})) {
      return invalid_argument(cat("sparse_values has incorrect shape ", values.shape().to_string(),
                                  ", should be [] or [", places.count, "]"));
    }
    if (rest.shape().rank() != 0) return invalid_argument("default_value should be a scalar.");
    RETURN_IF_ERROR(check(places, validate_));
    RETURN_IF_ERROR(ensure_output(c, 0, shape));
    Tensor& out = c.output(0);
    fill_elements(*c.parallel_, out.dtype(), rest.raw(), out.raw(), out.num_elements());
    for (int64_t i = 0; i < places.count; ++i) {
      copy_elements(out.dtype(), element_at(values, one_value ? 0 : i), element_at(out, places.offset(i)), 1);
    }
    return ok_status();
  }

 private:
  bool validate_;
};

Status sparse_to_dense_gradient(GradientContext& g) {
  Value values = g.add("GatherNd", {g.grad(0), g.input(0)});
  Value all = g.sum(g.grad(0), g.all_axes(g.grad(0)));
  g.set(2, values);
  g.set(3, g.add("Sub", {all, g.sum(values, g.all_axes(values))}, {}, "sub"));
  return g.status();
}

}  // namespace

OpDef sparse_to_dense_op() {
  return OpDef("SparseToDense")
      .doc("A tensor of the given shape with values at the indices and a default elsewhere.")
      .shape(sparse_to_dense_shape)
      .cpu(kMovable, make<SparseToDense>)
      .value_inputs({1})
      .gradient(sparse_to_dense_gradient);
}

}  // namespace emplace
