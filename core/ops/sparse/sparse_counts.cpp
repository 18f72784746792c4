// DenseCountSparseOutput, SparseCountSparseOutput, RaggedCountSparseOutput: how often each number stands in each row,
// as a sparse tensor. SparseBincount: the same of a sparse tensor, dense.
#include <algorithm>

#include "core/base/cat.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/numeric.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/kit/with_real.h"
#include "core/ops/sparse/sparse_tensor.h"

namespace emplace {
namespace {

constexpr DTypeSet kCounts{DType::kFloat, DType::kDouble, DType::kInt8,   DType::kInt16,  DType::kInt32,
                           DType::kInt64, DType::kUInt8,  DType::kUInt16, DType::kUInt32, DType::kUInt64};

/// A number, the row that it stands in, and where its weight is.
struct Counted {
  int64_t row, number, at;
};

/// Which numbers count, and what comes out of them.
class SparseCounting {
 public:
  explicit SparseCounting(const Attrs& attrs)
      : least_(attrs.integer("minlength")), most_(attrs.integer("maxlength")), binary_(attrs.flag("binary_output")) {}

  Status take(int64_t row, int64_t number, int64_t at) {
    if (number < 0) return invalid_argument(cat("Input values must all be non-negative, found ", number));
    if (most_ >= 0 && number >= most_) return ok_status();
    largest_ = std::max(largest_, number);
    counted_.push_back({row, number, at});
    return ok_status();
  }
  /// Fills the outputs. `rows`: -1: there is one, which is no dimension of its own.
  Status write(KernelContext& c, const Tensor& weights, int64_t rows);

 private:
  template <class T>
  void write_as(KernelContext& c, const T* weights, bool has_rows);

  const int64_t least_, most_;
  const bool binary_;
  int64_t largest_ = 0;
  ScratchVector<Counted> counted_;
};

bool is_same_bin(const Counted& a, const Counted& b) { return a.row == b.row && a.number == b.number; }

Status SparseCounting::write(KernelContext& c, const Tensor& weights, int64_t rows) {
  std::sort(counted_.begin(), counted_.end(), [](const Counted& a, const Counted& b) {
    return a.row != b.row ? a.row < b.row : a.number != b.number ? a.number < b.number : a.at < b.at;
  });
  int64_t bins = 0;
  for (size_t i = 0; i < counted_.size(); ++i) bins += i == 0 || !is_same_bin(counted_[i - 1], counted_[i]) ? 1 : 0;
  const int64_t rank = rows < 0 ? 1 : 2;
  RETURN_IF_ERROR(c.allocate_output(0, Shape{bins, rank}));
  RETURN_IF_ERROR(c.allocate_output(1, Shape{bins}));
  RETURN_IF_ERROR(c.allocate_output(2, Shape{rank}));
  if (rows >= 0) c.out<int64_t>(2)[0] = rows;
  const int64_t bound = largest_ == INT64_MAX ? INT64_MIN : largest_ + 1;  // as TensorFlow's sum wraps
  c.out<int64_t>(2)[rank - 1] = most_ >= 0 ? most_ : std::max(bound, least_);
  with_real(c.output(1).dtype(), [&]<class T>(T) {
    write_as(c, weights.num_elements() > 0 && !binary_ ? weights.data<T>() : nullptr, rows >= 0);
  });
  return ok_status();
}

template <class T>
void SparseCounting::write_as(KernelContext& c, const T* weights, bool has_rows) {
  int64_t* place = c.out<int64_t>(0);
  T* sum = c.out<T>(1) - 1;
  for (size_t i = 0; i < counted_.size(); ++i) {
    const Counted& one = counted_[i];
    const T weight = weights != nullptr ? weights[one.at] : T(1);
    if (i > 0 && is_same_bin(counted_[i - 1], one)) {
      if (!binary_) *sum = add(*sum, weight);
      continue;
    }
    if (has_rows) *place++ = one.row;
    *place++ = one.number;
    *++sum = weight;
  }
}

Status check_weights(const Tensor& weights, const Tensor& values) {
  if (weights.num_elements() == 0 || weights.shape() == values.shape()) return ok_status();
  return invalid_argument(cat("Weights and values must have the same shape. Weight shape: ",
                              weights.shape().to_string(), "; values shape: ", values.shape().to_string()));
}

Status dense_counts_shape(ShapeContext& c) {
  const Shape& values = c.input(0);
  if (values.rank_known() && values.rank() != 1 && values.rank() != 2)
    return invalid_argument(cat("Input must be a 1 or 2-dimensional tensor. Got: ", values.to_string()));
  const int64_t rank = values.rank_known() ? values.rank() : -1;
  c.set_output(0, Shape{-1, rank});
  c.set_output(1, Shape{-1});
  c.set_output(2, Shape{rank});
  return ok_status();
}

Status sparse_counts_shape(ShapeContext& c) {
  const int64_t rank = dim_or_unknown(c.input(0), 1);
  c.set_output(0, Shape{-1, rank});
  c.set_output(1, Shape{-1});
  c.set_output(2, Shape{rank});
  return ok_status();
}

Status ragged_counts_shape(ShapeContext& c) {
  c.set_output(0, Shape{-1, 2});
  c.set_output(1, Shape{-1});
  c.set_output(2, Shape{2});
  return ok_status();
}

class CountingKernel : public Kernel {
 public:
  explicit CountingKernel(const KernelInit& init) : attrs_(init.attrs) {}

 protected:
  const Attrs attrs_;
};

class DenseCounts final : public CountingKernel {
 public:
  using CountingKernel::CountingKernel;
  Status run(KernelContext& c) override {
    const Tensor& values = c.input(0);
    const Shape& shape = values.shape();
    if (shape.rank() != 1 && shape.rank() != 2)
      return invalid_argument(cat("Input must be a 1 or 2-dimensional tensor. Got: ", shape.to_string()));
    RETURN_IF_ERROR(check_weights(c.input(1), values));
    const bool has_rows = shape.rank() == 2;
    if (has_rows && shape.dim(0) == 0) return invalid_argument("Invalid input: Shapes dimension cannot be 0.");
    const int64_t row = std::max<int64_t>(shape.dim(shape.rank() - 1), 1);
    SparseCounting counting(attrs_);
    for (int64_t i = 0; i < values.num_elements(); ++i)
      RETURN_IF_ERROR(counting.take(has_rows ? i / row : 0, int_at(values, i), i));
    return counting.write(c, c.input(1), has_rows ? shape.dim(0) : -1);
  }
};

class SparseCounts final : public CountingKernel {
 public:
  using CountingKernel::CountingKernel;
  Status run(KernelContext& c) override {
    ASSIGN_OR_RETURN(const SparseTensor t, SparseTensor::of(c, 0, 1, 2));
    if (t.rank == 0) return invalid_argument("The shape argument requires at least one element.");
    RETURN_IF_ERROR(t.check_places());
    RETURN_IF_ERROR(check_weights(c.input(3), c.input(1)));
    const bool has_rows = t.rank > 1;
    if (has_rows && (t.sizes[0] <= 0 || t.sizes[0] >= INT32_MAX))
      return invalid_argument(cat("Cannot allocate ", t.sizes[0], " batches, is the dense shape too wide?"));
    SparseCounting counting(attrs_);
    for (int64_t i = 0; i < t.count; ++i)
      RETURN_IF_ERROR(counting.take(has_rows ? t.place(i)[0] : 0, int_at(c.input(1), i), i));
    return counting.write(c, c.input(3), has_rows ? t.sizes[0] : -1);
  }
};

class RaggedCounts final : public CountingKernel {
 public:
  using CountingKernel::CountingKernel;
  Status run(KernelContext& c) override {
    const Tensor& values = c.input(1);
    RETURN_IF_ERROR(check_weights(c.input(2), values));
    if (c.input(0).num_elements() < 2)
      return invalid_argument("Must provide at least 2 elements for the splits argument");
    const auto* splits = c.in<int64_t>(0);
    const int64_t rows = c.input(0).num_elements() - 1, count = values.num_elements();
    if (splits[0] != 0) return invalid_argument(cat("Splits must start with 0, not with ", splits[0]));
    if (splits[rows] != count)
      return invalid_argument(
          cat("Splits must end with the number of values, got ", splits[rows], " instead of ", count));
    SparseCounting counting(attrs_);
    int64_t end = 0;  // of the row, among the splits; as TensorFlow, splits that fall are passed over
    for (int64_t i = 0; i < count; ++i) {
      while (i >= splits[end]) ++end;
      RETURN_IF_ERROR(counting.take(end - 1, int_at(values, i), i));
    }
    return counting.write(c, c.input(2), rows);
  }
};

Status sparse_bincount_shape(ShapeContext& c) {
  const Shape& size = c.input(3);
  if (size.rank_known() && size.rank() != 0)
    return invalid_argument(cat("Shape must be rank 0 but is rank ", size.rank()));
  ASSIGN_OR_RETURN(const std::optional<int64_t> bins, scalar_value(c, 3));
  if (bins && *bins < 0) return invalid_argument(cat("size (", *bins, ") must be non-negative"));
  const Shape sizes = c.input_as_shape(2);
  if (!sizes.rank_known()) return ok_status();
  c.set_output(
      0, sizes.rank() == 1 ? Shape{bins.value_or(-1)} : Shape{sizes.rank() > 0 ? sizes.dim(0) : -1, bins.value_or(-1)});
  return ok_status();
}

class SparseBincount final : public Kernel {
 public:
  explicit SparseBincount(const KernelInit& init) : binary_(init.attrs.flag("binary_output")) {}

  Status run(KernelContext& c) override {
    const Tensor &values = c.input(1), &weights = c.input(4);
    if (c.input(3).num_elements() != 1 || c.input(3).shape().rank() != 0)
      return invalid_argument(cat("Shape must be rank 0 but is rank ", c.input(3).shape().rank()));
    const int64_t size = int_at(c.input(3), 0);
    if (size < 0) return invalid_argument(cat("size (", size, ") must be non-negative"));
    ASSIGN_OR_RETURN(const SparseTensor t, SparseTensor::of(c, 0, 1, 2));
    if (t.rank < 1 || t.rank > 2)
      return invalid_argument(cat("a sparse vector or matrix is counted, not a tensor of rank ", t.rank));
    RETURN_IF_ERROR(check_weights(weights, values));
    RETURN_IF_ERROR(t.check_places());
    Shape out = t.rank == 1 ? Shape{size} : Shape{t.sizes[0], size};
    if (!out.checked_num_elements()) return invalid_argument("the result's size cannot be counted");
    RETURN_IF_ERROR(ensure_output(c, 0, out));
    fill_zeros(*c.parallel_, c.output(0));
    return with_real(c.output(0).dtype(), [&]<class T>(T) -> Status {
      for (int64_t i = 0; i < t.count; ++i) {
        const int64_t number = int_at(values, i);
        if (number < 0) return invalid_argument("Input must be non-negative");
        if (number >= size) continue;
        T& at = c.out<T>(0)[(t.rank == 1 ? 0 : t.place(i)[0] * size) + number];
        at = binary_ ? T(1) : add(at, weights.num_elements() > 0 ? weights.data<T>()[i] : T(1));
      }
      return ok_status();
    });
  }

 private:
  const bool binary_;
};

OpDef counts(std::string_view name, std::string_view doc, ShapeRule shape, KernelMaker maker) {
  return OpDef(name).doc(doc).shape(shape).kernel_attr("output_type").cpu(kCounts, maker).provides_outputs();
}

}  // namespace

OpDef dense_count_sparse_output_op() {
  return counts(
      "DenseCountSparseOutput",
      "How often each number occurs in a vector or in each row, or the sum of its weights, as a sparse tensor.",
      dense_counts_shape, make<DenseCounts>);
}
OpDef sparse_count_sparse_output_op() {
  return counts(
      "SparseCountSparseOutput",
      "How often each number occurs in each row of a sparse tensor, or the sum of its weights, as a sparse one.",
      sparse_counts_shape, make<SparseCounts>);
}
OpDef ragged_count_sparse_output_op() {
  return counts(
      "RaggedCountSparseOutput",
      "How often each number occurs in each row of a ragged tensor, or the sum of its weights, as a sparse one.",
      ragged_counts_shape, make<RaggedCounts>);
}
OpDef sparse_bincount_op() {
  return OpDef("SparseBincount")
      .doc("How often each number below size occurs in a sparse vector, or in each row, or the sum of its weights.")
      .shape(sparse_bincount_shape)
      .kernel_attr("T")
      .value_inputs({2, 3})
      .cpu<float>(make<SparseBincount>)
      .cpu<double>(make<SparseBincount>)
      .cpu<int32_t>(make<SparseBincount>)
      .cpu<int64_t>(make<SparseBincount>)
      .not_differentiable();
}

}  // namespace emplace
