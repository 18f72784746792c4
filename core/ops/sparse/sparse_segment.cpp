// SparseSegmentSum, SparseSegmentMean and SparseSegmentSqrtN: rows of data, chosen by indices, combined by sorted
// numbers of segments (embedding_lookup_sparse), with a given number of segments, and what their gradients are made of.
#include <algorithm>
#include <cmath>
#include <optional>

#include "core/base/cat.h"
#include "core/base/scratch_vector.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/numeric.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/sparse/sparse_tensor.h"

namespace emplace {
namespace {

enum class Share { kSum, kMean, kSqrtN };

/// What a row of a segment of `count` rows is divided by.
double divisor(Share share, int64_t count) {
  const auto n = static_cast<double>(count);
  return share == Share::kSum ? 1 : share == Share::kMean ? n : std::sqrt(n);
}

Status sparse_segment_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Shape data, c.with_rank_at_least(0, 1));
  ASSIGN_OR_RETURN(const Shape indices, c.with_rank(1, 1));
  ASSIGN_OR_RETURN(const Shape ids, c.with_rank(2, 1));
  RETURN_IF_ERROR(ShapeContext::merge(indices, ids).take_status());
  ASSIGN_OR_RETURN(const Shape row, subshape(data, 1));
  int64_t segments = -1;
  if (c.num_inputs() > 3) {
    RETURN_IF_ERROR(c.with_rank(3, 0).take_status());
    ASSIGN_OR_RETURN(segments, dim_from_scalar(c, 3));
  }
  c.set_output(0, concat_shapes(Shape{segments}, row));
  return ok_status();
}

Status check_rows(const Tensor& indices, const Tensor& ids) {
  if (indices.num_elements() == ids.num_elements()) return ok_status();
  return invalid_argument("segment_ids and indices should have same size.");
}

/// Sizes that a kernel works with. None of what finds and checks them hangs on the type of the data.
struct RowSizes {
  int64_t rows;  // of input 0
  int64_t row;   // elements of one
};

Result<int64_t> number_of_segments(const KernelContext& c) {
  const Tensor& ids = c.input(2);
  const int64_t n = ids.num_elements(), segments = n > 0 ? int_at(ids, n - 1) + 1 : 0;
  if (c.num_inputs() <= 3) return segments;
  const int64_t wanted = int_at(c.input(3), 0);
  if (segments > wanted) return invalid_argument("segment ids must be < num_segments");
  return wanted;
}

/// Allocates output 0, `rows` rows like those of input 0.
Status allocate_rows(KernelContext& c, int64_t rows) {
  Shape out = c.input(0).shape();
  out.dim(0) = rows;
  if (!out.checked_num_elements()) return invalid_argument("the result's size cannot be counted");
  return c.allocate_output(0, out);
}

/// Checks indices and numbers of segments, and allocates the output.
Result<RowSizes> begin_segments(KernelContext& c) {
  const Tensor &data = c.input(0), &indices = c.input(1), &ids = c.input(2);
  RETURN_IF_ERROR(check_rows(indices, ids));
  const int64_t n = ids.num_elements(), rows = data.shape().dim(0);
  ASSIGN_OR_RETURN(const int64_t segments, number_of_segments(c));
  for (int64_t i = 0; i < n; ++i) {
    const int64_t id = int_at(ids, i), at = int_at(indices, i);
    if (id < 0) return invalid_argument("segment ids must be >= 0");
    if (i > 0 && id < int_at(ids, i - 1)) return invalid_argument("segment ids are not increasing");
    if (id >= segments) return invalid_argument("segment ids are not increasing");
    if (at < 0 || at >= rows)
      return invalid_argument(cat("Bad: indices[", i, "] == ", at, " out of range [0, ", rows, ")"));
  }
  RETURN_IF_ERROR(allocate_rows(c, segments));
  return RowSizes{rows, rows > 0 ? data.num_elements() / rows : 0};
}

template <class T>
Status combine_segments(KernelContext& c, Share share) {
  ASSIGN_OR_RETURN(const RowSizes size, begin_segments(c));
  const Tensor &indices = c.input(1), &ids = c.input(2);
  const int64_t n = ids.num_elements(), row = size.row;
  T* to = c.out<T>(0);
  std::fill_n(to, c.output(0).num_elements(), T(0));
  c.parallel_for(row, 0.5 * static_cast<double>(n) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = 0, next = 0; i < n; i = next) {
      const int64_t id = int_at(ids, i);
      while (next < n && int_at(ids, next) == id) ++next;
      const auto by = static_cast<Summed<T>>(divisor(share, next - i));
      for (int64_t k = begin; k < end; ++k) {
        Summed<T> sum(0);
        for (int64_t j = i; j < next; ++j)
          sum = add(sum, static_cast<Summed<T>>(c.in<T>(0)[int_at(indices, j) * row + k]));
        if constexpr (!std::is_integral_v<T>) {
          if (share != Share::kSum) sum /= by;
        }
        to[id * row + k] = static_cast<T>(sum);
      }
    }
  });
  return ok_status();
}

template <Share kShare, class T>
Status sparse_segment_cpu(KernelContext& c) {
  return combine_segments<T>(c, kShare);
}

Status segment_gradient_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Shape grad, c.with_rank_at_least(0, 1));
  RETURN_IF_ERROR(c.with_rank(1, 1).take_status());
  RETURN_IF_ERROR(ShapeContext::merge(c.input(1), c.input(2)).take_status());
  RETURN_IF_ERROR(c.with_rank(3, 0).take_status());
  ASSIGN_OR_RETURN(const int64_t rows, dim_from_scalar(c, 3));
  ASSIGN_OR_RETURN(const Shape row, subshape(grad, 1));
  c.set_output(0, concat_shapes(Shape{rows}, row));
  return ok_status();
}

/// Checks indices and numbers of segments.
Result<RowSizes> check_segment_gradient(const KernelContext& c) {
  const Tensor &grad = c.input(0), &indices = c.input(1), &ids = c.input(2);
  RETURN_IF_ERROR(check_rows(indices, ids));
  const int64_t segments = grad.shape().dim(0), rows = int_at(c.input(3), 0);
  if (rows < 0) return invalid_argument(cat("output_dim0 must not be negative: ", rows));
  for (int64_t i = 0; rows > 0 && i < ids.num_elements(); ++i) {
    const int64_t id = int_at(ids, i), at = int_at(indices, i);
    if (at < 0 || at >= rows) return invalid_argument(cat("Index ", at, " out of range [0, ", rows, ")."));
    if (id < 0 || id >= segments) return invalid_argument(cat("Segment id ", id, " out of range [0, ", segments, ")."));
  }
  return RowSizes{segments, segments > 0 ? grad.num_elements() / segments : 0};
}

/// How many rows each segment has.
Result<Tensor> count_rows(KernelContext& c, int64_t segments) {
  const Tensor& ids = c.input(2);
  ASSIGN_OR_RETURN(Tensor counts, c.allocate_scratch(DType::kInt64, Shape{segments}));
  auto* count = counts.data<int64_t>();
  std::fill_n(count, segments, 0);
  for (int64_t i = 0; i < ids.num_elements(); ++i) ++count[int_at(ids, i)];
  return counts;
}

/// Adds each segment's row to the rows `places` of output 0, which is there.
template <class T>
Status spread_segments(KernelContext& c, Share share, const RowSizes& size, const ScratchVector<int64_t>& places) {
  const Tensor& ids = c.input(2);
  const int64_t row = size.row, all = c.output(0).num_elements();
  ASSIGN_OR_RETURN(Tensor memory, c.allocate_scratch(dtype_of<Summed<T>>, Shape{kIsHalf<T> ? all : 0}));
  Summed<T>* to = nullptr;
  if constexpr (kIsHalf<T>)
    to = memory.template data<Summed<T>>();
  else
    to = c.out<T>(0);
  std::fill_n(to, all, Summed<T>(0));
  ASSIGN_OR_RETURN(const Tensor counts, count_rows(c, size.rows));
  for (int64_t i = 0; i < ids.num_elements(); ++i) {
    const int64_t id = int_at(ids, i), at = places[static_cast<size_t>(i)];
    const auto by = static_cast<Summed<T>>(divisor(share, counts.template data<int64_t>()[id]));
    for (int64_t k = 0; k < row; ++k) to[at * row + k] += static_cast<Summed<T>>(c.in<T>(0)[id * row + k]) / by;
  }
  if constexpr (kIsHalf<T>) {
    for (int64_t i = 0; i < all; ++i) c.out<T>(0)[i] = static_cast<T>(to[i]);
  }
  return ok_status();
}

ScratchVector<int64_t> values_of(const Tensor& indices) {
  ScratchVector<int64_t> values(static_cast<size_t>(indices.num_elements()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = int_at(indices, static_cast<int64_t>(i));
  return values;
}

template <Share kShare, class T>
Status segment_gradient_cpu(KernelContext& c) {
  ASSIGN_OR_RETURN(const RowSizes size, check_segment_gradient(c));
  const int64_t rows = int_at(c.input(3), 0);
  RETURN_IF_ERROR(allocate_rows(c, rows));
  if (rows == 0) return ok_status();
  return spread_segments<T>(c, kShare, size, values_of(c.input(1)));
}

// --- the gradient with respect to those rows of the data that were chosen, and which these are

Status sparse_segment_rows_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Shape grad, c.with_rank_at_least(0, 1));
  RETURN_IF_ERROR(c.with_rank(1, 1).take_status());
  RETURN_IF_ERROR(ShapeContext::merge(c.input(1), c.input(2)).take_status());
  RETURN_IF_ERROR(c.with_rank(3, 0).take_status());
  ASSIGN_OR_RETURN(const Shape row, subshape(grad, 1));
  c.set_output(0, concat_shapes(Shape{-1}, row));
  c.set_output(1, Shape{-1});
  return ok_status();
}

/// Of each chosen row its place among all of them, which are output 1: sorted, none twice.
Result<ScratchVector<int64_t>> begin_chosen_rows(KernelContext& c) {
  const ScratchVector<int64_t> chosen = int_at(c.input(3), 0) > 0 ? values_of(c.input(1)) : ScratchVector<int64_t>();
  ScratchVector<int64_t> rows = chosen, places(chosen.size());
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  const auto found = static_cast<int64_t>(rows.size());
  RETURN_IF_ERROR(allocate_rows(c, found));
  RETURN_IF_ERROR(c.allocate_output(1, Shape{found}));
  with_index(c.output(1).dtype(), [&]<class Index>(Index) {
    for (size_t i = 0; i < rows.size(); ++i) c.out<Index>(1)[i] = static_cast<Index>(rows[i]);
  });
  for (size_t i = 0; i < chosen.size(); ++i)
    places[i] = std::lower_bound(rows.begin(), rows.end(), chosen[i]) - rows.begin();
  return places;
}

template <Share kShare, class T>
Status gradient_of_chosen_rows_cpu(KernelContext& c) {
  if (c.input(3).shape().rank() != 0) return invalid_argument("dense_output_dim0 should be a scalar.");
  ASSIGN_OR_RETURN(const RowSizes size, check_segment_gradient(c));
  ASSIGN_OR_RETURN(const ScratchVector<int64_t> places, begin_chosen_rows(c));
  if (places.empty()) return ok_status();
  return spread_segments<T>(c, kShare, size, places);
}

template <Share kShare>
Status sparse_segment_gradient(GradientContext& g) {
  constexpr std::string_view kOp = kShare == Share::kSum    ? "SparseSegmentSumGrad"
                                   : kShare == Share::kMean ? "SparseSegmentMeanGrad"
                                                            : "SparseSegmentSqrtNGrad";
  constexpr std::string_view kOfChosen = kShare == Share::kSum    ? "SparseSegmentSumGradV2"
                                         : kShare == Share::kMean ? "SparseSegmentMeanGradV2"
                                                                  : "SparseSegmentSqrtNGradV2";
  Value shape = g.shape_of(g.input(0)), rows = g.element(shape, 0);
  if (g.attrs().flag("sparse_gradient")) {
    Value slices = g.add(kOfChosen, {g.grad(0), g.input(1), g.input(2), rows});
    g.set_slices(0, slices, slices.output(1), shape);
  } else {
    g.set(0, g.add(kOp, {g.grad(0), g.input(1), g.input(2), rows}));
  }
  return g.status();
}

template <Share kShare>
OpDef segments_of(std::string_view name, std::string_view doc) {
  return OpDef(name)
      .doc(doc)
      .shape(sparse_segment_shape)
      .kernel_attr("T")
      .provides_outputs()
      .template cpu<float>(stateless<sparse_segment_cpu<kShare, float>>)
      .template cpu<double>(stateless<sparse_segment_cpu<kShare, double>>)
      .template cpu<half>(stateless<sparse_segment_cpu<kShare, half>>)
      .template cpu<bfloat16>(stateless<sparse_segment_cpu<kShare, bfloat16>>)
      .gradient(sparse_segment_gradient<kShare>);
}
OpDef sums_of(std::string_view name) {
  return segments_of<Share::kSum>(name,
                                  "The sums of rows of data, chosen by indices, of which each belongs to a segment.")
      // Sums wrap: the same bits whether they are signed or not.
      .cpu(DTypeSet{DType::kInt8, DType::kUInt8}, stateless<sparse_segment_cpu<Share::kSum, uint8_t>>)
      .cpu(DTypeSet{DType::kInt16, DType::kUInt16}, stateless<sparse_segment_cpu<Share::kSum, uint16_t>>)
      .cpu(DTypeSet{DType::kInt32, DType::kUInt32}, stateless<sparse_segment_cpu<Share::kSum, uint32_t>>)
      .cpu(DTypeSet{DType::kInt64, DType::kUInt64}, stateless<sparse_segment_cpu<Share::kSum, uint64_t>>);
}
OpDef means_of(std::string_view name) {
  return segments_of<Share::kMean>(name,
                                   "The means of rows of data, chosen by indices, of which each belongs to a segment.");
}
OpDef roots_of(std::string_view name) {
  return segments_of<Share::kSqrtN>(name, "As SparseSegmentSum, each sum divided by the root of its number of rows.");
}

template <Share kShare>
OpDef segment_gradient(std::string_view name, std::string_view doc) {
  return OpDef(name)
      .doc(doc)
      .shape(segment_gradient_shape)
      .kernel_attr("T")
      .provides_outputs()
      .template cpu<float>(stateless<segment_gradient_cpu<kShare, float>>)
      .template cpu<double>(stateless<segment_gradient_cpu<kShare, double>>)
      .template cpu<half>(stateless<segment_gradient_cpu<kShare, half>>)
      .template cpu<bfloat16>(stateless<segment_gradient_cpu<kShare, bfloat16>>);
}

template <Share kShare>
OpDef gradient_of_chosen_rows(std::string_view name, std::string_view doc) {
  return OpDef(name)
      .doc(doc)
      .shape(sparse_segment_rows_shape)
      .kernel_attr("T")
      .provides_outputs()
      .template cpu<float>(stateless<gradient_of_chosen_rows_cpu<kShare, float>>)
      .template cpu<double>(stateless<gradient_of_chosen_rows_cpu<kShare, double>>)
      .template cpu<half>(stateless<gradient_of_chosen_rows_cpu<kShare, half>>)
      .template cpu<bfloat16>(stateless<gradient_of_chosen_rows_cpu<kShare, bfloat16>>);
}

}  // namespace

OpDef sparse_segment_sum_op() { return sums_of("SparseSegmentSum"); }
OpDef sparse_segment_sum_with_num_segments_op() { return sums_of("SparseSegmentSumWithNumSegments"); }
OpDef sparse_segment_mean_op() { return means_of("SparseSegmentMean"); }
OpDef sparse_segment_mean_with_num_segments_op() { return means_of("SparseSegmentMeanWithNumSegments"); }
OpDef sparse_segment_sqrt_n_op() { return roots_of("SparseSegmentSqrtN"); }
OpDef sparse_segment_sqrt_n_with_num_segments_op() { return roots_of("SparseSegmentSqrtNWithNumSegments"); }
OpDef sparse_segment_sum_grad_op() {
  return segment_gradient<Share::kSum>("SparseSegmentSumGrad",
                                       "The gradient of SparseSegmentSum with respect to the data.");
}
OpDef sparse_segment_mean_grad_op() {
  return segment_gradient<Share::kMean>("SparseSegmentMeanGrad",
                                        "The gradient of SparseSegmentMean with respect to the data.");
}
OpDef sparse_segment_sqrt_n_grad_op() {
  return segment_gradient<Share::kSqrtN>("SparseSegmentSqrtNGrad",
                                         "The gradient of SparseSegmentSqrtN with respect to the data.");
}

OpDef sparse_segment_sum_grad_v2_op() {
  return gradient_of_chosen_rows<Share::kSum>(
      "SparseSegmentSumGradV2",
      "The gradient of SparseSegmentSum with respect to the rows that it chose, and which these are.");
}
OpDef sparse_segment_mean_grad_v2_op() {
  return gradient_of_chosen_rows<Share::kMean>(
      "SparseSegmentMeanGradV2",
      "The gradient of SparseSegmentMean with respect to the rows that it chose, and which these are.");
}
OpDef sparse_segment_sqrt_n_grad_v2_op() {
  return gradient_of_chosen_rows<Share::kSqrtN>(
      "SparseSegmentSqrtNGradV2",
      "The gradient of SparseSegmentSqrtN with respect to the rows that it chose, and which these are.");
}
}  // namespace emplace
