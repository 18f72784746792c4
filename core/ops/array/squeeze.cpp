// Squeeze and ExpandDims: dimensions of size 1 go and come.
#include <vector>

#include "core/base/cat.h"
#include "core/base/scratch_vector.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/shape_math.h"

namespace emplace {
namespace {

// REQUIRES: the rank is known. Unknown rank if whether a dimension goes is not known.
Result<Shape> squeezed(const Shape& in, const std::vector<int64_t>& axes) {
  ScratchVector<bool> named(static_cast<size_t>(in.rank()));
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] < -in.rank() || axes[i] >= in.rank()) {
      return invalid_argument(cat("squeeze_dims[", i, "] not in [", -in.rank(), ",", in.rank(), ")."));
    }
    named[static_cast<size_t>(axes[i] < 0 ? axes[i] + in.rank() : axes[i])] = true;
  }
  Shape out;
  for (int i = 0; i < in.rank(); ++i) {
    int64_t dim = in.dim(i);
    if (named[static_cast<size_t>(i)]) {
      if (dim >= 0 && dim != 1) {
        return invalid_argument(cat("Can not squeeze dim[", i, "], expected a dimension of 1, got ", dim));
      }
    } else if (axes.empty() && dim < 0) {
      return Shape::unknown();
    } else if (!axes.empty() || dim != 1) {
      out.add_dim(dim);
    }
  }
  return out;
}

Status squeeze_shape(ShapeContext& c) {
  if (!c.input(0).rank_known()) return ok_status();
  ASSIGN_OR_RETURN(Shape out, squeezed(c.input(0), c.attrs().integers("squeeze_dims")));
  c.set_output(0, out);
  return ok_status();
}

class Squeeze final : public Kernel {
 public:
  explicit Squeeze(const KernelInit& init) : axes_(init.attrs.integers("squeeze_dims")) {}
  Status run(KernelContext& c) override {
    ASSIGN_OR_RETURN(Shape out, squeezed(c.input(0).shape(), axes_));
    c.forward_output(0, c.input(0).reshaped(out));
    return ok_status();
  }

 private:
  std::vector<int64_t> axes_;
};

Result<Shape> expanded(const Shape& in, const Tensor& axis) {
  if (axis.num_elements() != 1) return invalid_argument("'dim' input must be a tensor with a single value");
  if (!in.rank_known()) return Shape::unknown();
  int64_t at = int_at(axis, 0);
  int rank = in.rank();
  if (at < -1 - rank || at > rank) {
    return invalid_argument(cat("dim ", at, " not in the interval [", -1 - rank, ", ", rank, "]."));
  }
  if (rank >= kMaxRank) return invalid_argument(cat("more than ", kMaxRank, " dimensions"));
  if (at < 0) at += rank + 1;
  Shape out;
  for (int i = 0; i < rank; ++i) {
    if (i == at) out.add_dim(1);
    out.add_dim(in.dim(i));
  }
  if (at == rank) out.add_dim(1);
  return out;
}

Status expand_dims_shape(ShapeContext& c) {
  const Tensor* axis = c.input_value(1);
  if (axis == nullptr) return ok_status();
  ASSIGN_OR_RETURN(Shape out, expanded(c.input(0), *axis));
  c.set_output(0, out);
  return ok_status();
}

Status expand_dims_cpu(KernelContext& c) {
  ASSIGN_OR_RETURN(Shape out, expanded(c.input(0).shape(), c.input(1)));
  c.forward_output(0, c.input(0).reshaped(out));
  return ok_status();
}

}  // namespace

OpDef squeeze_op() {
  return OpDef("Squeeze")
      .doc("Removes the named dimensions, which must have size 1; all of size 1 if none is named.")
      .traits({.of_sums = OfSums::kKeeps})
      .shape(squeeze_shape)
      .cpu(kMovable, make<Squeeze>)
      .forwards_input()
      .gradient(reshape_gradient);
}

OpDef expand_dims_op() {
  return OpDef("ExpandDims")
      .doc("Inserts a dimension of size 1 at index dim.")
      .traits({.of_sums = OfSums::kKeeps})
      .shape(expand_dims_shape)
      .cpu(kMovable, stateless<expand_dims_cpu>)
      .value_inputs({1})
      .forwards_input()
      .gradient(reshape_gradient);
}

}  // namespace emplace
