// RaggedTensorToTensor: a dense tensor of a ragged one's values, with a default where rows are short.
#include <algorithm>
#include <string_view>

#include "core/base/cat.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/ragged/row_splits.h"

namespace emplace {
namespace {

constexpr int kValues = 1, kDefault = 2, kFirstPartition = 3;

/// How rows are told: the types of the partition tensors, of which the first may be the number of rows.
struct PartitionTypes {
  bool counts_rows = false;
  std::vector<bool> by_rowids;  // else by splits; from the outside in

  static Result<PartitionTypes> of(const Attrs& attrs) {
    PartitionTypes types;
    for (const std::string& type : attrs.texts("row_partition_types")) {
      if (type == "FIRST_DIM_SIZE") {
        types.counts_rows = true;
      } else if (type == "VALUE_ROWIDS" || type == "ROW_SPLITS") {
        types.by_rowids.push_back(type == "VALUE_ROWIDS");
      } else {
        return invalid_argument(cat("Unknown string for partition info type: ", type));
      }
    }
    if (types.by_rowids.empty()) return invalid_argument("row_partition_types must name a partition of rows");
    if (types.by_rowids[0] && !types.counts_rows)
      return invalid_argument("Cannot handle VALUE_ROWIDS in first dimension.");
    return types;
  }
  int depth() const { return static_cast<int>(by_rowids.size()); }
  int input_of(int d) const { return kFirstPartition + d + (counts_rows ? 1 : 0); }
};

/// The wanted shape, with what the values tell of it.
Result<Shape> combined_shape(int depth, const Shape& wanted, const Shape& values) {
  if (!values.rank_known()) return wanted;
  Shape out = wanted.rank_known() ? wanted : Shape::unknown_dims(depth + values.rank());
  if (depth + values.rank() != out.rank()) {
    return invalid_argument(cat("rt_input.shape and shape=", out.to_string(), " are incompatible: rt_input.rank = ",
                                depth + values.rank(), " but shape.rank = ", out.rank()));
  }
  for (int d = 1; d < values.rank(); ++d) {
    int64_t& to = out.dim(depth + d);
    if (values.dim(d) < 0) continue;
    if (to >= 0 && to != values.dim(d)) {
      return invalid_argument(cat("rt_input.shape and shape=", wanted.to_string(), " are incompatible: rt_input.shape[",
                                  depth + d, "] = ", values.dim(d), " but shape[", depth + d, "] = ", to));
    }
    to = values.dim(d);
  }
  return out;
}

Status check_default(const Shape& value, const Shape& values) {
  if (!value.rank_known() || !values.rank_known()) return ok_status();
  if (value.rank() >= values.rank()) {
    return invalid_argument(cat("default_value.shape=", value.to_string(), " and rt_input.flat_values.shape=",
                                values.to_string(), " are incompatible: default_value.rank = ", value.rank(),
                                "  must be less than rt_input.flat_values.rank = ", values.rank()));
  }
  for (int d = 1; d <= value.rank(); ++d) {
    const int64_t a = value.dim_from_end(d), b = values.dim_from_end(d);
    if (a < 0 || b < 0 || a == 1 || a == b) continue;
    return invalid_argument(cat(
        "default_value.shape=", value.to_string(), " and rt_input.flat_values.shape=", values.to_string(),
        " are incompatible: default_value.shape[-", d, "] = ", a, " but rt_input.flat_values.shape[-", d, "] = ", b));
  }
  return ok_status();
}

/// -1 alone: nothing is known of it.
Result<Shape> wanted_shape(const Tensor& t) {
  if (t.shape().rank() == 0) {
    if (int_at(t, 0) == -1) return Shape::unknown();
    return invalid_argument("The only valid scalar shape tensor is the fully unknown shape specified as -1.");
  }
  if (t.shape().rank() != 1) return invalid_argument("shape must be a vector or the scalar -1");
  for (int64_t i = 0; i < t.num_elements(); ++i) {
    if (int_at(t, i) < -1) return invalid_argument(cat("shape has a size of ", int_at(t, i)));
  }
  return values_as_shape(t);
}

Status ragged_to_tensor_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartitionTypes types, PartitionTypes::of(c.attrs()));
  const Tensor* value = c.input_value(0);
  Shape wanted = Shape::unknown();
  if (value) {
    ASSIGN_OR_RETURN(wanted, wanted_shape(*value));
  } else if (c.input(0).rank_known() && c.input(0).rank() == 1) {
    wanted = c.input_as_shape(0);
  }
  ASSIGN_OR_RETURN(Shape out, combined_shape(types.depth(), wanted, c.input(kValues)));
  RETURN_IF_ERROR(check_default(c.input(kDefault), c.input(kValues)));
  c.set_output(0, std::move(out));
  return ok_status();
}

/// Where each value goes, in rows of what the partitions leave; -1: nowhere, its row is longer than the output.
struct Places {
  Tensor at;  // int64
  int64_t size() const { return at.num_elements(); }
  int64_t* data() { return at.data<int64_t>(); }
};

class RaggedToTensor final : public Kernel {
 public:
  explicit RaggedToTensor(const KernelInit& init) : types_(PartitionTypes::of(init.attrs)) {}

  Status run(KernelContext& c) override {
    RETURN_IF_ERROR(types_.status());
    const PartitionTypes& types = *types_;
    const Tensor &values = c.input(kValues), &filling = c.input(kDefault);
    RETURN_IF_ERROR(check_partitions(c, types));
    RETURN_IF_ERROR(check_default(filling.shape(), values.shape()));
    ASSIGN_OR_RETURN(const Shape out, output_shape(c, types));
    RETURN_IF_ERROR(ensure_output(c, 0, out));
    if (out.num_elements() == 0) return ok_status();
    const int depth = types.depth();
    int64_t inner = 1;  // elements of a value
    for (int d = depth + 1; d < out.rank(); ++d) inner *= out.dim(d);
    put_default(c, filling, inner);
    int64_t pitch = 1;
    for (int d = 1; d <= depth; ++d) pitch *= out.dim(d);
    ASSIGN_OR_RETURN(Places places, first_places(c, rows_of(c, types), out.dim(0), pitch));
    for (int d = 0; d < depth; ++d) {
      pitch /= out.dim(d + 1);
      ASSIGN_OR_RETURN(places, inner_places(c, types, d, places, pitch, out.dim(d + 1)));
    }
    if (places.size() != values.shape().dim(0))
      return invalid_argument(
          cat("the partitions are of ", places.size(), " values, but there are ", values.shape().dim(0)));
    Tensor& to = c.output(0);
    for (int64_t v = 0; v < places.size(); ++v) {
      const int64_t at = places.data()[v];
      if (at >= 0) copy_elements(to.dtype(), element_at(values, v * inner), element_at(to, at * inner), inner);
    }
    return ok_status();
  }

 private:
  static Status check_partitions(const KernelContext& c, const PartitionTypes& types) {
    if (c.num_inputs() != types.input_of(types.depth()))
      return invalid_argument(cat("row_partition_types is of ", types.input_of(types.depth()) - kFirstPartition,
                                  " tensors, but there are ", c.num_inputs() - kFirstPartition));
    if (types.counts_rows && c.input(kFirstPartition).num_elements() != 1)
      return invalid_argument("FIRST_DIM_SIZE must be a scalar");
    for (int d = 0; d < types.depth(); ++d) {
      const Tensor& t = c.input(types.input_of(d));
      if (!types.by_rowids[static_cast<size_t>(d)]) {
        RETURN_IF_ERROR(check_splits(t, "row_splits"));
      } else if (t.shape().rank() != 1) {
        return invalid_argument("value_rowids must be a vector");
      }
    }
    return ok_status();
  }

  static int64_t rows_of(const KernelContext& c, const PartitionTypes& types) {
    return types.counts_rows ? int_at(c.input(kFirstPartition), 0) : RowSplits(c.input(types.input_of(0))).rows();
  }

  static int64_t widest_row(const KernelContext& c, const PartitionTypes& types, int d) {
    const Tensor& t = c.input(types.input_of(d));
    int64_t widest = 0;
    if (!types.by_rowids[static_cast<size_t>(d)]) {
      const RowSplits splits(t);
      for (int64_t row = 0; row < splits.rows(); ++row) widest = std::max(widest, splits.length(row));
      return widest;
    }
    for (int64_t i = 0, first = 0; i < t.num_elements(); ++i) {
      if (int_at(t, i) != int_at(t, first)) first = i;
      widest = std::max(widest, i - first + 1);
    }
    return widest;
  }

  static Result<Shape> output_shape(const KernelContext& c, const PartitionTypes& types) {
    ASSIGN_OR_RETURN(const Shape wanted, wanted_shape(c.input(0)));
    ASSIGN_OR_RETURN(Shape out, combined_shape(types.depth(), wanted, c.input(kValues).shape()));
    if (out.dim(0) < 0) out.dim(0) = std::max<int64_t>(rows_of(c, types), 0);
    for (int d = 1; d <= types.depth(); ++d) {
      if (out.dim(d) < 0) out.dim(d) = widest_row(c, types, d - 1);
    }
    if (!out.checked_num_elements()) return invalid_argument("Full size of the output is too large");
    return out;
  }

  static void put_default(KernelContext& c, const Tensor& filling, int64_t inner) {
    Tensor& to = c.output(0);
    if (inner == 0) return;
    // Broadcast to one value, of which the others are copies.
    Shape value = c.input(kValues).shape();
    for (int64_t i = 0; i < inner; ++i) {
      int64_t at = 0, stride = 1, rest = i;
      for (int d = 1; d < value.rank(); ++d) {
        const int64_t coordinate = rest % value.dim_from_end(d);
        rest /= value.dim_from_end(d);
        if (d > filling.shape().rank()) continue;
        if (filling.shape().dim_from_end(d) > 1) at += coordinate * stride;
        stride *= filling.shape().dim_from_end(d);
      }
      copy_elements(to.dtype(), element_at(filling, at), element_at(to, i), 1);
    }
    for (int64_t done = inner, all = to.num_elements(); done < all;) {
      const int64_t n = std::min(done, all - done);
      copy_elements(to.dtype(), to.raw(), element_at(to, done), n);
      done += n;
    }
  }

  static Result<Places> first_places(KernelContext& c, int64_t rows, int64_t wanted, int64_t pitch) {
    if (rows < 0) return invalid_argument(cat("a first dimension of ", rows, " rows"));
    ASSIGN_OR_RETURN(Tensor at, c.allocate_scratch(DType::kInt64, Shape{rows}));
    for (int64_t i = 0; i < rows; ++i) at.data<int64_t>()[i] = i < wanted ? i * pitch : -1;
    return Places{std::move(at)};
  }

  static Result<Places> inner_places(KernelContext& c, const PartitionTypes& types, int d, Places& rows, int64_t pitch,
                                     int64_t width) {
    const Tensor& t = c.input(types.input_of(d));
    const bool by_rowids = types.by_rowids[static_cast<size_t>(d)];
    const int64_t count = by_rowids ? t.num_elements() : RowSplits(t).values();
    ASSIGN_OR_RETURN(Tensor at, c.allocate_scratch(DType::kInt64, Shape{count}));
    int64_t* out = at.data<int64_t>();
    if (!by_rowids) {
      const RowSplits splits(t);
      if (splits.rows() > rows.size())
        return invalid_argument(cat("row_splits of ", splits.rows(), " rows, of which there are ", rows.size()));
      for (int64_t row = 0; row < splits.rows(); ++row) {
        const int64_t base = rows.data()[row];
        for (int64_t i = 0; i < splits.length(row); ++i)
          out[splits[row] + i] = base >= 0 && i < width ? base + i * pitch : -1;
      }
      return Places{std::move(at)};
    }
    for (int64_t i = 0, first = 0; i < count; ++i) {
      const int64_t row = int_at(t, i);
      if (row != int_at(t, first)) first = i;
      if (row < 0 || row >= rows.size())
        return invalid_argument(cat("Got current_value_rowid=", row, " which is not less than ", rows.size()));
      const int64_t base = rows.data()[row];
      out[i] = base >= 0 && i - first < width ? base + (i - first) * pitch : -1;
    }
    return Places{std::move(at)};
  }

  Result<PartitionTypes> types_;
};

// The values' numbers, made dense in the same way, tell whose gradient each element of the output is.
Status ragged_to_tensor_gradient(GradientContext& g) {
  ASSIGN_OR_RETURN(const PartitionTypes types, PartitionTypes::of(g.attrs()));
  const Value values = g.input(kValues), count = g.element(g.shape_of(values), 0);
  const Value dense = g.shape_of(g.output(0));
  const Value rows = g.slice(dense, 0, types.depth() + 1);
  std::vector<Value> inputs{rows, g.range(g.index(0), count, g.index(1)), g.index(-1)};
  for (int i = kFirstPartition; i < g.num_inputs(); ++i) inputs.push_back(g.input(i));
  const Value numbers = g.add("RaggedTensorToTensor", inputs,
                              g.copy_attrs({"Tindex", "num_row_partition_tensors", "row_partition_types"}));
  const Value flat = g.reshape(numbers, std::vector<int64_t>{-1});
  const Value cells = g.concat({g.ints({-1}), g.slice(dense, types.depth() + 1)});
  const Value grads = g.reshape(g.grad(0), cells);
  g.set(kValues, g.add("UnsortedSegmentSum", {grads, flat, count}));
  // Where there is no value stands the default.
  const Value one = g.index(1);
  const Value segment = g.add("Sub", {g.cast(g.add("Equal", {flat, g.index(-1)}), DType::kInt32), one});
  const Value sum = g.add("UnsortedSegmentSum", {grads, segment, one});
  const Value cell = g.reshape(sum, g.slice(dense, types.depth() + 1));
  g.set(kDefault, g.reduce_to(g.input(kDefault), cell, cell, Value{}).first);
  return g.status();
}

}  // namespace

OpDef ragged_tensor_to_tensor_op() {
  return OpDef("RaggedTensorToTensor")
      .doc("A dense tensor of a ragged one: the values in their rows, cut or filled up with the default.")
      .shape(ragged_to_tensor_shape)
      .kernel_attr("T")
      .cpu(kMovable, make<RaggedToTensor>)
      .gradient(ragged_to_tensor_gradient);
}

}  // namespace emplace
