// RaggedCross: every combination of one feature of each column, row by row, as ragged texts or numbers.
#include "core/base/cat.h"
#include "core/base/farmhash.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/ragged/row_splits.h"
#include "core/ops/sparse/joined_hash.h"
#include "core/ops/sparse/sparse_tensor.h"

namespace emplace {
namespace {

/// Features of each row of a batch.
struct RaggedColumn {
  const Tensor* values = nullptr;
  std::vector<int64_t> starts;  // of each row among the values, and behind the last one
};

class RaggedCross final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make_kernel(const KernelInit& init) {
    auto kernel = std::make_unique<RaggedCross>();
    const Attrs& attrs = init.attrs;
    kernel->order_ = attrs.text("input_order");
    kernel->buckets_ = static_cast<uint64_t>(attrs.integer("num_buckets"));
    kernel->key_ = static_cast<uint64_t>(attrs.integer("hash_key"));
    kernel->ragged_ = static_cast<int>(attrs.types("ragged_values_types").size());
    kernel->sparse_ = static_cast<int>(attrs.integer("Nsparse"));
    kernel->dense_ = static_cast<int>(attrs.types("dense_types").size());
    if (attrs.types("ragged_splits_types").size() != static_cast<size_t>(kernel->ragged_))
      return invalid_argument("ragged values and splits must have the same length");
    if (attrs.types("sparse_values_types").size() != static_cast<size_t>(kernel->sparse_))
      return invalid_argument("sparse indices and values must have the same length");
    if (static_cast<int>(kernel->order_.size()) != kernel->ragged_ + kernel->sparse_ + kernel->dense_)
      return invalid_argument(cat("input_order '", kernel->order_, "' has to have a letter for each of ",
                                  kernel->ragged_ + kernel->sparse_ + kernel->dense_, " inputs"));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status run(KernelContext& c) override;

 private:
  Status find_batch(const KernelContext& c);
  Status take_columns(const KernelContext& c);
  Status take_ragged(const KernelContext& c, int i);
  Status take_sparse(const KernelContext& c, int i);
  Status take_dense(const KernelContext& c, int i);
  Status same_batch(int64_t size) const {
    if (size == batch_) return ok_status();
    return invalid_argument(cat("inputs must all have the same batch dimension size, found ", batch_, " and ", size));
  }
  int64_t count_in(const RaggedColumn& column, int64_t row) const {
    return column.starts[static_cast<size_t>(row) + 1] - column.starts[static_cast<size_t>(row)];
  }
  Result<int64_t> crosses(int64_t row) const;
  void cross_row(KernelContext& c, int64_t row, int64_t first, int64_t count) const;
  void put(KernelContext& c, int64_t at, const std::vector<int64_t>& features) const;

  std::string order_;
  uint64_t buckets_ = 0, key_ = 0;
  int ragged_ = 0, sparse_ = 0, dense_ = 0;
  int64_t batch_ = 0;
  std::vector<RaggedColumn> columns_;
};

constexpr std::string_view kMatricesOnly = "tf.ragged.cross only supports inputs with rank=2, found ";

/// The size that the first input says: a ragged one, else a dense one, else a sparse one.
Status RaggedCross::find_batch(const KernelContext& c) {
  batch_ = 0;
  const int dense = 2 * ragged_ + 3 * sparse_, shapes = 2 * ragged_ + 2 * sparse_;
  if (ragged_ > 0) {
    batch_ = c.input(ragged_).num_elements() - 1;
  } else if (dense_ > 0) {
    const Shape& shape = c.input(dense).shape();
    if (shape.rank() != 2) return invalid_argument(cat(kMatricesOnly, shape.to_string()));
    batch_ = shape.dim(0);
  } else if (sparse_ > 0 && c.input(shapes).num_elements() > 0) {
    batch_ = c.in<int64_t>(shapes)[0];
  }
  if (batch_ < 0) return invalid_argument(cat("the batch dimension is negative: ", batch_));
  return ok_status();
}

Status RaggedCross::take_ragged(const KernelContext& c, int i) {
  const Tensor &values = c.input(i), &splits = c.input(ragged_ + i);
  if (values.shape().rank() != 1 || splits.shape().rank() != 1)
    return invalid_argument(cat(kMatricesOnly, values.shape().to_string(), " and ", splits.shape().to_string()));
  RETURN_IF_ERROR(check_splits(splits, "row_splits", values.num_elements()));
  RETURN_IF_ERROR(same_batch(splits.num_elements() - 1));
  columns_.push_back({&values, ints_of(splits)});
  return ok_status();
}

Status RaggedCross::take_sparse(const KernelContext& c, int i) {
  const int first = 2 * ragged_ + i;
  ASSIGN_OR_RETURN(const SparseTensor t, SparseTensor::of(c, first, first + sparse_, first + 2 * sparse_));
  if (t.rank != 2) return invalid_argument(cat(kMatricesOnly, "a sparse one of rank ", t.rank));
  RETURN_IF_ERROR(same_batch(t.sizes[0]));
  RaggedColumn column{&c.input(first + sparse_), {0}};
  int64_t at = 0;
  for (int64_t row = 0; row < batch_; ++row) {
    while (at < t.count && t.place(at)[0] <= row) ++at;
    column.starts.push_back(at);
  }
  columns_.push_back(std::move(column));
  return ok_status();
}

Status RaggedCross::take_dense(const KernelContext& c, int i) {
  const Tensor& values = c.input(2 * ragged_ + 3 * sparse_ + i);
  if (values.shape().rank() != 2) return invalid_argument(cat(kMatricesOnly, values.shape().to_string()));
  RETURN_IF_ERROR(same_batch(values.shape().dim(0)));
  RaggedColumn column{&values, {}};
  for (int64_t row = 0; row <= batch_; ++row) column.starts.push_back(row * values.shape().dim(1));
  columns_.push_back(std::move(column));
  return ok_status();
}

Status RaggedCross::take_columns(const KernelContext& c) {
  columns_.clear();
  int ragged = 0, sparse = 0, dense = 0;
  for (char kind : order_) {
    if (kind == 'R' && ragged < ragged_) {
      RETURN_IF_ERROR(take_ragged(c, ragged++));
    } else if (kind == 'S' && sparse < sparse_) {
      RETURN_IF_ERROR(take_sparse(c, sparse++));
    } else if (kind == 'D' && dense < dense_) {
      RETURN_IF_ERROR(take_dense(c, dense++));
    } else {
      return invalid_argument(cat("input_order '", order_, "' has to have ", ragged_, " times R, ", sparse_,
                                  " times S and ", dense_, " times D"));
    }
  }
  return ok_status();
}

Result<int64_t> RaggedCross::crosses(int64_t row) const {
  int64_t count = 1;
  for (const RaggedColumn& column : columns_) {
    if (__builtin_mul_overflow(count, count_in(column, row), &count))
      return resource_exhausted("the features have more combinations than can be counted");
  }
  return count;
}

void RaggedCross::put(KernelContext& c, int64_t at, const std::vector<int64_t>& features) const {
  uint64_t hash = key_;
  std::string text;
  for (size_t i = 0; i < features.size(); ++i) {
    const Tensor& values = *columns_[i].values;
    const bool has_texts = values.dtype() == DType::kString;
    const auto k = static_cast<size_t>(features[i]);
    if (c.output(0).dtype() == DType::kString) {
      if (i > 0) text += "_X_";
      text += has_texts ? values.data<std::string>()[k] : std::to_string(values.data<int64_t>()[k]);
    } else {
      hash = joined_hash(hash, has_texts ? fingerprint64(values.data<std::string>()[k])
                                         : static_cast<uint64_t>(values.data<int64_t>()[k]));
    }
  }
  if (c.output(0).dtype() == DType::kString) {
    c.out<std::string>(0)[at] = std::move(text);
  } else {
    c.out<int64_t>(0)[at] = static_cast<int64_t>(hash % (buckets_ > 0 ? buckets_ : uint64_t{INT64_MAX}));
  }
}

/// The last column's feature changes fastest.
void RaggedCross::cross_row(KernelContext& c, int64_t row, int64_t first, int64_t count) const {
  const auto start = [&](size_t i) { return columns_[i].starts[static_cast<size_t>(row)]; };
  std::vector<int64_t> features(columns_.size());
  for (size_t i = 0; i < features.size(); ++i) features[i] = start(i);
  for (int64_t n = 0; n < count; ++n) {
    put(c, first + n, features);
    for (size_t i = features.size(); i > 0; --i) {
      if (++features[i - 1] < start(i - 1) + count_in(columns_[i - 1], row)) break;
      features[i - 1] = start(i - 1);
    }
  }
}

Status RaggedCross::run(KernelContext& c) {
  RETURN_IF_ERROR(find_batch(c));
  RETURN_IF_ERROR(take_columns(c));
  RETURN_IF_ERROR(c.allocate_output(1, Shape{batch_ + 1}));
  std::vector<int64_t> starts{0};
  for (int64_t row = 0; row < batch_; ++row) {
    ASSIGN_OR_RETURN(const int64_t count, crosses(row));
    int64_t end = 0;
    if (__builtin_add_overflow(starts.back(), count, &end))
      return resource_exhausted("the features have more combinations than can be counted");
    starts.push_back(end);
  }
  with_index(c.output(1).dtype(), [&]<class I>(I) {
    for (size_t i = 0; i < starts.size(); ++i) c.out<I>(1)[i] = static_cast<I>(starts[i]);
  });
  RETURN_IF_ERROR(c.allocate_output(0, Shape{starts.back()}));
  for (int64_t row = 0; row < batch_; ++row) {
    const int64_t first = starts[static_cast<size_t>(row)];
    cross_row(c, row, first, starts[static_cast<size_t>(row) + 1] - first);
  }
  return ok_status();
}

Status ragged_cross_shape(ShapeContext& c) {
  const auto ragged = static_cast<int>(c.attrs().types("ragged_values_types").size());
  const auto sparse = static_cast<int>(c.attrs().integer("Nsparse"));
  const auto dense = static_cast<int>(c.attrs().types("dense_types").size());
  const auto all_of_rank = [&](int first, int count, int rank) -> Status {
    for (int i = first; i < first + count; ++i) RETURN_IF_ERROR(c.with_rank(i, rank).take_status());
    return ok_status();
  };
  int64_t batch = -1;
  RETURN_IF_ERROR(all_of_rank(0, 2 * ragged, 1));
  RETURN_IF_ERROR(all_of_rank(2 * ragged, sparse, 2));
  RETURN_IF_ERROR(all_of_rank(2 * ragged + sparse, 2 * sparse, 1));
  RETURN_IF_ERROR(all_of_rank(2 * ragged + 3 * sparse, dense, 2));
  for (int i = 0; i < ragged && batch < 0; ++i) {
    const int64_t splits = dim_or_unknown(c.input(ragged + i), 0);
    if (splits >= 0) batch = splits;
  }
  for (int i = 0; i < dense && batch < 0; ++i) {
    const int64_t rows = dim_or_unknown(c.input(2 * ragged + 3 * sparse + i), 0);
    if (rows >= 0) batch = rows + 1;
  }
  c.set_output(0, Shape{-1});
  c.set_output(1, Shape{batch});
  return ok_status();
}

}  // namespace

OpDef ragged_cross_op() {
  return OpDef("RaggedCross")
      .doc(
          "Every combination of one feature of each column of a row, as ragged texts, or as numbers that they are "
          "hashed to.")
      .shape(ragged_cross_shape)
      .kernel_attr("out_row_splits_type")
      .cpu<int32_t>(RaggedCross::make_kernel)
      .cpu<int64_t>(RaggedCross::make_kernel)
      .provides_outputs();
}

}  // namespace emplace
