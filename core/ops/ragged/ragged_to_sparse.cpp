// RaggedTensorToSparse: the values of a ragged tensor with their places.
#include <algorithm>
#include <vector>

#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/ragged/row_splits.h"

namespace emplace {
namespace {

Status ragged_to_sparse_shape(ShapeContext& c) {
  const auto depth = static_cast<int>(c.attrs().integer("RAGGED_RANK"));
  for (int i = 0; i < depth; ++i) RETURN_IF_ERROR(c.with_rank(i, 1).take_status());
  const Shape& values = c.input(depth);
  const bool known = values.rank_known() && values.rank() > 0;
  const int64_t rank = known ? values.rank() + depth : -1;
  const bool counted = known && values.fully_known();
  c.set_output(0, Shape{counted ? values.num_elements() : -1, rank});
  c.set_output(1, Shape{counted ? values.num_elements() : -1});
  c.set_output(2, Shape{rank});
  return ok_status();
}

class RaggedToSparse final : public Kernel {
 public:
  explicit RaggedToSparse(const KernelInit& init) : depth_(static_cast<int>(init.attrs.integer("RAGGED_RANK"))) {}

  Status run(KernelContext& c) override {
    const Tensor& values = c.input(depth_);
    if (values.shape().rank() == 0) return invalid_argument("rt_dense_values must have rank at least 1");
    RETURN_IF_ERROR(check_nested_splits(c, 0, depth_, values.shape().dim(0)));
    const int64_t count = values.num_elements();
    const int rank = depth_ + values.shape().rank();
    RETURN_IF_ERROR(ensure_output(c, 0, Shape{count, rank}));
    RETURN_IF_ERROR(ensure_output(c, 1, Shape{count}));
    RETURN_IF_ERROR(ensure_output(c, 2, Shape{rank}));
    copy_elements(values.dtype(), values.raw(), c.output(1).raw(), count);
    put_places(c, values.shape(), rank);
    int64_t* size = c.out<int64_t>(2);
    size[0] = c.input(0).num_elements() - 1;
    for (int d = 0; d < depth_; ++d) {
      const RowSplits splits(c.input(d));
      size[d + 1] = 0;
      for (int64_t row = 0; row < splits.rows(); ++row) size[d + 1] = std::max(size[d + 1], splits.length(row));
    }
    for (int d = 1; d < values.shape().rank(); ++d) size[depth_ + d] = values.shape().dim(d);
    return ok_status();
  }

 private:
  void put_places(KernelContext& c, const Shape& values, int rank) const {
    int64_t* place = c.out<int64_t>(0);
    const int64_t pitch = values.dim(0) > 0 ? values.num_elements() / values.dim(0) : 0;
    std::vector<int64_t> row(static_cast<size_t>(depth_), 0);  // that value `v` lies in, dimension by dimension
    for (int64_t v = 0; v < values.dim(0); ++v) {
      int64_t at = v;
      std::vector<int64_t> coordinates(static_cast<size_t>(depth_) + 1);
      for (int d = depth_ - 1; d >= 0; --d) {
        const RowSplits splits(c.input(d));
        int64_t& r = row[static_cast<size_t>(d)];
        while (splits[r + 1] <= at) ++r;
        coordinates[static_cast<size_t>(d) + 1] = at - splits[r];
        at = r;
      }
      coordinates[0] = at;
      for (int64_t i = 0; i < pitch; ++i, place += rank) {
        std::copy(coordinates.begin(), coordinates.end(), place);
        int64_t inner = i;
        for (int d = values.rank() - 1; d >= 1; --d) {
          place[depth_ + d] = inner % values.dim(d);
          inner /= values.dim(d);
        }
      }
    }
  }

  int depth_;
};

Status ragged_to_sparse_gradient(GradientContext& g) {
  const int values = g.num_inputs() - 1;
  g.set(values, g.reshape(g.grad(1), g.shape_of(g.input(values))));
  return g.status();
}

}  // namespace

OpDef ragged_tensor_to_sparse_op() {
  return OpDef("RaggedTensorToSparse")
      .doc("The values of a ragged tensor with their places, and its smallest dense shape.")
      .shape(ragged_to_sparse_shape)
      .kernel_attr("Tsplits")
      .cpu(DTypeSet{DType::kInt32, DType::kInt64}, make<RaggedToSparse>)
      .gradient(ragged_to_sparse_gradient);
}

}  // namespace emplace
