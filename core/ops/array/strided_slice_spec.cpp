#include "core/ops/array/strided_slice_spec.h"

#include <algorithm>
#include <bit>

#include "core/base/cat.h"
#include "core/base/scratch_vector.h"

namespace emplace {
namespace {

constexpr int kMaxEntries = 31;  // bits of a mask

// One entry per dimension of the input, the ellipsis spelled out.
struct Dense {
  int64_t begin = 0, end = 0, stride = 1;
  bool begin_masked = false, end_masked = false, shrink = false;
};

constexpr int kNewAxis = -1;

struct Plan {
  ScratchVector<Dense> dims;
  ScratchVector<int> result;  // which dimension each one of the result is, or kNewAxis
};

bool bit(int64_t mask, int i) { return (mask >> i) & 1; }

Result<Plan> spell_out(int rank, const Tensor* begin, const Tensor* end, const Tensor& strides, const SliceMasks& m) {
  int entries = static_cast<int>(strides.num_elements());
  int new_axes_after_ellipsis = 0, ellipsis_at = entries;  // none given: at the end
  for (int i = 0; i < entries; ++i) {
    if (ellipsis_at < i && bit(m.new_axis, i)) ++new_axes_after_ellipsis;
    if (bit(m.ellipsis, i)) ellipsis_at = i;
  }
  int total = std::max(entries, ellipsis_at + 1);
  Plan plan;
  for (int i = 0; i < total; ++i) {
    int at = static_cast<int>(plan.dims.size());
    if (i == ellipsis_at) {
      int next = std::min(rank - (total - i) + 1 + new_axes_after_ellipsis, rank);
      for (; at < next; ++at) {
        plan.dims.push_back({0, 0, 1, true, true, false});
        plan.result.push_back(at);
      }
    } else if (bit(m.new_axis, i)) {
      plan.result.push_back(kNewAxis);
    } else {
      if (at == rank) {
        return invalid_argument(
            rank == 0 ? "Attempting to slice scalar input."
                      : cat("Index out of range using input dim ", at, "; input has only ", rank, " dims"));
      }
      bool shrink = bit(m.shrink_axis, i);
      plan.dims.push_back({begin ? int_at(*begin, i) : 0, end ? int_at(*end, i) : 0, int_at(strides, i),
                           bit(m.begin, i), bit(m.end, i), shrink});
      if (!shrink) plan.result.push_back(at);
    }
  }
  return plan;
}

// A begin or end that Python would accept, clamped to where a walk with that stride can start or stop.
int64_t clamped(int64_t x, bool masked, bool is_end, int64_t dim, int64_t stride) {
  int64_t low = stride > 0 ? 0 : -1, high = stride > 0 ? dim : dim - 1;
  if (masked) return (stride > 0) == is_end ? high : low;
  return std::clamp(x < 0 ? dim + x : x, low, high);
}

int64_t steps(int64_t length, int64_t stride) {
  if (length == 0 || (length < 0) != (stride < 0)) return 0;
  return length / stride + (length % stride != 0 ? 1 : 0);
}

Result<SliceSpec::Range> resolve_dim(int i, const Dense& d, int64_t dim, bool begin_known, bool end_known) {
  if (d.stride == 0) return invalid_argument(cat("strides[", i, "] must be non-zero"));
  SliceSpec::Range range{0, d.stride, -1};
  if (dim < 0) {
    if (d.shrink) range.size = 1;
    return range;
  }
  if (d.shrink && d.stride <= 0) return invalid_argument("only stride 1 allowed on non-range indexing.");
  if (begin_known && end_known) {
    if (d.shrink) {
      range.begin = d.begin < 0 ? dim + d.begin : d.begin;
      range.size = 1;
      if (range.begin < 0 || range.begin >= dim) {
        return invalid_argument(cat("slice index ", range.begin, " of dimension ", i, " out of bounds."));
      }
    } else {
      range.begin = clamped(d.begin, d.begin_masked, false, dim, d.stride);
      range.size = steps(clamped(d.end, d.end_masked, true, dim, d.stride) - range.begin, d.stride);
    }
  } else if (d.shrink) {
    range.size = 1;
  } else if (d.begin_masked && d.end_masked) {
    range.begin = d.stride > 0 ? 0 : dim - 1;
    range.size = steps(d.stride > 0 ? dim : -dim, d.stride);
  }
  return range;
}

}  // namespace

SliceMasks SliceMasks::of(const Attrs& attrs) {
  return {attrs.integer("begin_mask"), attrs.integer("end_mask"), attrs.integer("ellipsis_mask"),
          attrs.integer("new_axis_mask"), attrs.integer("shrink_axis_mask")};
}

Result<SliceSpec> resolve_slice(const Shape& in, const Tensor* begin, const Tensor* end, const Tensor& strides,
                                const SliceMasks& masks) {
  auto fits = [&](const Tensor* t) {
    return t == nullptr || (t->shape().rank() == 1 && t->num_elements() == strides.num_elements());
  };
  if (!fits(begin) || !fits(end) || !fits(&strides) || strides.num_elements() > kMaxEntries) {
    auto text = [](const Tensor* t) { return t ? t->shape().to_string() : std::string("unknown"); };
    return invalid_argument(cat("Expected begin, end, and strides to be 1D equal size tensors, but got shapes ",
                                text(begin), ", ", text(end), ", and ", strides.shape().to_string(), " instead."));
  }
  if (std::popcount(static_cast<uint64_t>(masks.ellipsis)) > 1) {
    return invalid_argument("Multiple ellipses in slice spec not allowed");
  }
  ASSIGN_OR_RETURN(Plan plan, spell_out(in.rank(), begin, end, strides, masks));
  SliceSpec spec;
  for (int i = 0; i < in.rank(); ++i) {
    ASSIGN_OR_RETURN(auto range,
                     resolve_dim(i, plan.dims[static_cast<size_t>(i)], in.dim(i), begin != nullptr, end != nullptr));
    spec.ranges.push_back(range);
    spec.processing.add_dim(range.size);
  }
  if (plan.result.size() > kMaxRank) return invalid_argument(cat("more than ", kMaxRank, " dimensions"));
  for (int d : plan.result) spec.result.add_dim(d == kNewAxis ? 1 : spec.processing.dim(d));
  return spec;
}

}  // namespace emplace
