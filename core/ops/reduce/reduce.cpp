#include "core/ops/reduce/reduce.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "core/base/cat.h"
#include "core/base/scratch_vector.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/shape_math.h"

namespace emplace {
namespace {

constexpr int64_t kBlock = BlockReduction::kBlock;
constexpr int64_t kColumnsAtOnce = 256;  // accumulators that stay in the first-level cache

struct alignas(16) Accumulator {
  char bytes[BlockReduction::kMaxAccumulatorBytes];
};

/// Which dimensions the axes name. InvalidArgument if one is out of range.
Result<ScratchVector<bool>> reduced_dims(const Tensor& axes, int rank) {
  ScratchVector<bool> reduced(static_cast<size_t>(rank));
  for (int64_t i = 0; i < axes.num_elements(); ++i) {
    const int64_t axis = int_at(axes, i);
    if (axis < -rank || axis >= rank) {
      return invalid_argument(cat("Invalid reduction dimension ", axis, " for input with ", rank, " dimensions."));
    }
    reduced[static_cast<size_t>(axis < 0 ? axis + rank : axis)] = true;
  }
  return reduced;
}

/// The input as dimensions that are alternately kept and reduced.
struct Layout {
  struct Dim {
    int64_t size, stride;
    bool reduced;
  };
  ScratchVector<Dim> kept, reduced;  // outermost first, without the innermost
  Dim inner{1, 1, false};

  int64_t outputs() const { return product(kept) * (inner.reduced ? 1 : inner.size); }
  int64_t reduced_elements() const { return product(reduced) * (inner.reduced ? inner.size : 1); }
  static int64_t product(std::span<const Dim> dims) {
    int64_t n = 1;
    for (const Dim& d : dims) n *= d.size;
    return n;
  }
};

Layout make_layout(const Shape& shape, const ScratchVector<bool>& reduced) {
  ScratchVector<Layout::Dim> dims;  // innermost first
  int64_t stride = 1;
  for (int d = shape.rank() - 1; d >= 0; stride *= shape.dim(d--)) {
    if (shape.dim(d) == 1) continue;
    const bool r = reduced[static_cast<size_t>(d)];
    if (!dims.empty() && dims.back().reduced == r)
      dims.back().size *= shape.dim(d);
    else
      dims.push_back({shape.dim(d), stride, r});
  }
  Layout layout;
  if (dims.empty()) return layout;
  layout.inner = dims[0];
  for (size_t i = dims.size(); i-- > 1;) (dims[i].reduced ? layout.reduced : layout.kept).push_back(dims[i]);
  return layout;
}

/// The offset in the input of index `flat` of these dimensions.
int64_t offset_of(std::span<const Layout::Dim> dims, int64_t flat) {
  int64_t offset = 0;
  for (size_t i = dims.size(); i-- > 0; flat /= dims[i].size) offset += flat % dims[i].size * dims[i].stride;
  return offset;
}

class Reduction final : public Kernel {
 public:
  Reduction(const KernelInit& init, const ReduceCode& code, bool all_axes)
      : code_(code),
        all_axes_(all_axes),
        input_bytes_(element_stride(init.input_types[0])),
        output_bytes_(element_stride(init.output_types[0])) {}

  Status prepare(KernelContext& c) override {
    const Shape& shape = c.input(0).shape();
    ScratchVector<bool> reduced(static_cast<size_t>(shape.rank()), true);
    if (!all_axes_) {
      ASSIGN_OR_RETURN(reduced, reduced_dims(c.input(1), shape.rank()));
      RETURN_IF_ERROR(refuse_repeated(c.input(1), shape.rank()));
    }
    layout_ = make_layout(shape, reduced);
    elements_ = c.input(0).num_elements();
    whole_ = layout_.inner.reduced && layout_.kept.empty() && layout_.reduced.empty();
    one_each_ = code_.of_one_is_it && !all_axes_ && !layout_.inner.reduced && layout_.reduced.empty();
    return ok_status();
  }

  Status run(KernelContext& c) override {
    if (c.output(0).num_elements() == 0) return ok_status();
    if (whole_) return reduce_all(c);
    if (elements_ == 0)
      fill_with_empty(c);
    else if (one_each_)
      copy(c);
    else if (layout_.inner.reduced)
      reduce_runs(c);
    else
      reduce_columns(c);
    return ok_status();
  }

  BlockReduction block_reduction() const override {
    return whole_ ? BlockReduction{code_.partial, code_.finish, code_.accumulator_bytes, code_.cost_ns}
                  : BlockReduction{};
  }

 private:
  static Status refuse_repeated(const Tensor& axes, int rank) {
    ScratchVector<bool> seen(static_cast<size_t>(rank));
    for (int64_t i = 0; i < axes.num_elements(); ++i) {
      const int64_t axis = int_at(axes, i);
      const size_t at = static_cast<size_t>(axis < 0 ? axis + rank : axis);
      if (seen[at])
        return invalid_argument(cat("Invalid reduction arguments: Axes contains duplicate dimension: ", at));
      seen[at] = true;
    }
    return ok_status();
  }

  const char* in(const KernelContext& c, int64_t element) const {
    return static_cast<const char*>(c.input(0).raw()) + element * input_bytes_;
  }
  char* out(KernelContext& c, int64_t element) const {
    return static_cast<char*>(c.output(0).raw()) + element * output_bytes_;
  }

  /// What block_reduction() promises, block by block.
  Status reduce_all(KernelContext& c) const {
    const int64_t blocks = std::max<int64_t>(1, (elements_ + kBlock - 1) / kBlock);
    const int64_t step = static_cast<int64_t>(code_.accumulator_bytes);
    Accumulator few[16];
    Tensor many;
    char* accumulators = few[0].bytes;
    if (blocks > 16) {
      ASSIGN_OR_RETURN(many, c.allocate_scratch(DType::kInt8, Shape{blocks * step}));
      accumulators = many.data<char>();
    }
    c.parallel_for(blocks, code_.cost_ns * kBlock, [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        code_.partial(in(c, b * kBlock), std::min(kBlock, elements_ - b * kBlock), accumulators + b * step);
      }
    });
    code_.finish(accumulators, blocks, elements_, out(c, 0));
    return ok_status();
  }

  void fill_with_empty(KernelContext& c) const {
    Accumulator empty;
    code_.partial(nullptr, 0, empty.bytes);
    for (int64_t i = 0; i < c.output(0).num_elements(); ++i) code_.finish(empty.bytes, 1, 0, out(c, i));
  }

  /// Of a single element each: TensorFlow computes nothing, so that a denormal stays what it is.
  void copy(KernelContext& c) const {
    c.parallel_for(elements_, 0.1, [&](int64_t begin, int64_t end) {
      std::memcpy(out(c, begin), in(c, begin), static_cast<size_t>((end - begin) * input_bytes_));
    });
  }

  /// The innermost dimension is reduced: one output is a number of runs.
  void reduce_runs(KernelContext& c) const {
    const int64_t runs = Layout::product(layout_.reduced), length = layout_.inner.size;
    c.parallel_for(
        layout_.outputs(), code_.cost_ns * static_cast<double>(runs * length) + 10, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            const int64_t base = offset_of(layout_.kept, i);
            Accumulator all, block;
            bool first = true;
            for (int64_t r = 0; r < runs; ++r) {
              const int64_t start = base + (runs == 1 ? 0 : offset_of(layout_.reduced, r));
              for (int64_t at = 0; at < length; at += kBlock) {
                code_.partial(in(c, start + at), std::min(kBlock, length - at), first ? all.bytes : block.bytes);
                if (!first) code_.merge(all.bytes, block.bytes);
                first = false;
              }
            }
            code_.finish(all.bytes, 1, runs * length, out(c, i));
          }
        });
  }

  /// The innermost dimension is kept: outputs are columns of matrices that lie one after the other.
  void reduce_columns(KernelContext& c) const {
    const int64_t cols = layout_.inner.size, chunks = (cols + kColumnsAtOnce - 1) / kColumnsAtOnce;
    std::span<const Layout::Dim> matrices = layout_.reduced;
    Layout::Dim rows{1, cols, true};
    if (!matrices.empty() && matrices.back().stride == cols) {
      rows = matrices.back();
      matrices = matrices.first(matrices.size() - 1);
    }
    const int64_t count = Layout::product(matrices), n = layout_.reduced_elements();
    const double cost = code_.cost_ns * static_cast<double>(n * std::min(cols, kColumnsAtOnce)) + 20;
    c.parallel_for(Layout::product(layout_.kept) * chunks, cost, [&](int64_t begin, int64_t end) {
      alignas(64) char accumulators[kColumnsAtOnce * static_cast<int64_t>(BlockReduction::kMaxAccumulatorBytes)];
      const int64_t step = static_cast<int64_t>(code_.accumulator_bytes);
      for (int64_t item = begin; item < end; ++item) {
        const int64_t first = item % chunks * kColumnsAtOnce, width = std::min(kColumnsAtOnce, cols - first);
        const int64_t base = offset_of(layout_.kept, item / chunks) + first;
        for (int64_t j = 0; j < width; ++j) code_.partial(nullptr, 0, accumulators + j * step);
        for (int64_t m = 0; m < count; ++m) {
          code_.columns(in(c, base + offset_of(matrices, m)), rows.size, cols, width, accumulators);
        }
        for (int64_t j = 0; j < width; ++j) {
          code_.finish(accumulators + j * step, 1, n, out(c, item / chunks * cols + first + j));
        }
      }
    });
  }

  // Constant after construction.
  const ReduceCode& code_;
  bool all_axes_;
  int64_t input_bytes_, output_bytes_;
  // Set by prepare().
  Layout layout_;
  int64_t elements_ = 0;
  bool whole_ = false, one_each_ = false;
};

}  // namespace

Status reduction_shape(ShapeContext& c) {
  const Shape& input = c.input(0);
  const bool keep_dims = c.attrs().flag("keep_dims");
  RETURN_IF_ERROR(require_rank_at_most(c.input(1), 1).take_status());
  const Tensor* axes = c.input_value(1);
  if (!axes || !input.rank_known()) {
    c.set_output(0, keep_dims && input.rank_known() ? Shape::unknown_dims(input.rank()) : Shape::unknown());
    return ok_status();
  }
  ASSIGN_OR_RETURN(ScratchVector<bool> reduced, reduced_dims(*axes, input.rank()));
  Shape out;
  for (int d = 0; d < input.rank(); ++d) {
    if (!reduced[static_cast<size_t>(d)])
      out.add_dim(input.dim(d));
    else if (keep_dims)
      out.add_dim(1);
  }
  c.set_output(0, std::move(out));
  return ok_status();
}

std::unique_ptr<Kernel> make_reduction(const KernelInit& init, const ReduceCode& code, bool all_axes) {
  return std::make_unique<Reduction>(init, code, all_axes);
}

}  // namespace emplace
