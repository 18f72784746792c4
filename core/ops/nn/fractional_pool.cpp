// FractionalAvgPool, FractionalMaxPool and their gradients: windows of one of two sizes, in an order that is drawn.
#include <algorithm>
#include <atomic>
#include <cmath>

#include "core/base/cat.h"
#include "core/base/scratch_vector.h"
#include "core/op/gradient_context.h"
#include "core/op/of_run.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/finite.h"
#include "core/ops/kit/numeric.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/random/random_state.h"

namespace emplace {
namespace {

constexpr DTypeSet kPooled = kFloatDouble | DTypeSet{DType::kInt32, DType::kInt64};

template <class F>
auto with_pooled(DType t, const F& f) {
  if (t == DType::kDouble) return f(double{});
  if (t == DType::kInt32) return f(int32_t{});
  if (t == DType::kInt64) return f(int64_t{});
  return f(float{});
}

/// Windows along an axis of so many cells: INT64_MIN for what is no number of windows.
int64_t windows_of(int64_t cells, float ratio) {
  const float n = std::floor(static_cast<float>(cells) / ratio);
  return std::fabs(n) < 0x1p62f ? static_cast<int64_t>(n) : INT64_MIN;
}

Status check_ratios(const std::vector<float>& ratios) {
  if (ratios.size() != 4) return invalid_argument("pooling_ratio field must specify 4 dimensions");
  for (const float r : ratios) {
    if (r < 1) return invalid_argument(cat("pooling_ratio cannot be smaller than 1, got: ", r));
  }
  return ok_status();
}

Status pool_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Shape image, c.with_rank(0, 4));
  const std::vector<float>& ratios = c.attrs().numbers("pooling_ratio");
  Shape out{-1, -1, -1, -1};
  for (int i = 0; i < 4 && ratios.size() == 4; ++i) {
    if (image.dim(i) < 0) continue;
    const int64_t n = windows_of(image.dim(i), ratios[static_cast<size_t>(i)]);
    if (n < 0) return invalid_argument(cat("Size computed for dim ", i, " is negative: ", n));
    out.dim(i) = n;
  }
  RETURN_IF_ERROR(check_ratios(ratios));
  c.set_output(0, out);
  // TensorFlow's rule forgets where the last window ends; its kernel does not.
  for (const int i : {1, 2}) c.set_output(i, Shape{is_of_run(c) && out.dim(i) >= 0 ? out.dim(i) + 1 : out.dim(i)});
  return ok_status();
}

Status max_gradient_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Shape image, c.with_rank(0, 4));
  c.set_output(0, image);
  return ok_status();
}

Status average_gradient_shape(ShapeContext& c) {
  Shape out{-1, -1, -1, -1};
  if (c.input_value(0)) {
    ASSIGN_OR_RETURN(out, shape_from_input(c, 0));
  }
  c.set_output(0, out);
  return ok_status();
}

/// Sizes of windows that follow from one number that is drawn.
void draw_sizes_by_one(int64_t cells, const PhiloxStream& stream, ScratchVector<int64_t>& sizes) {
  const auto windows = static_cast<int64_t>(sizes.size());
  const double alpha = static_cast<double>(cells) / static_cast<double>(windows);
  const int64_t least = cells / windows;
  const double first = static_cast<double>(least + 2) / alpha - 1;
  const double last = static_cast<double>(cells + 1 - least) / alpha - static_cast<double>(windows - 1);
  PhiloxWords words(stream, 0);
  const double u = words.next_double() * std::min(first, last);
  int64_t begin = 1;
  for (int64_t i = 1; i <= windows; ++i) {
    const int64_t end =
        i == windows ? cells + 1 : static_cast<int64_t>(std::ceil(alpha * (static_cast<double>(i) + u)));
    sizes[static_cast<size_t>(i - 1)] = end - begin;
    begin = end;
  }
}

/// Sizes of windows in an order that is drawn.
void draw_order(int64_t cells, const PhiloxStream& stream, ScratchVector<int64_t>& sizes) {
  const auto windows = static_cast<int64_t>(sizes.size());
  for (int64_t i = 0; i < windows; ++i) sizes[static_cast<size_t>(i)] = cells / windows + (i < cells % windows ? 1 : 0);
  PhiloxWords words(stream, 0);
  for (size_t i = 0; i + 1 < sizes.size(); ++i)
    std::swap(sizes[i], sizes[i + words.next() % static_cast<uint32_t>(sizes.size() - i)]);
}

/// The cells [begin, end] of a window of a sequence that nobody vouches for.
struct Window {
  int64_t begin, end;
  int64_t size() const { return end - begin + 1; }
};
Window window_at(const int64_t* sequence, int64_t i, int64_t cells, bool overlapping) {
  const int64_t next = sequence[i + 1];
  return {sequence[i], std::min(overlapping || next == INT64_MIN ? next : next - 1, cells - 1)};
}

/// What the four kernels walk over.
struct FractionalPool {
  int64_t batch, rows, columns, depth;  // of images
  int64_t out_rows, out_columns;
  const int64_t *row_sequence, *column_sequence;
  bool overlapping;
  Window row(int64_t i) const { return window_at(row_sequence, i, rows, overlapping); }
  Window column(int64_t i) const { return window_at(column_sequence, i, columns, overlapping); }
};

/// Calls f(number of the cell in its image, counted in pixels) for the cells of a window.
template <class F>
void for_cells(const FractionalPool& p, const Window& row, const Window& column, const F& f) {
  for (int64_t y = row.begin; y <= row.end; ++y) {
    for (int64_t x = column.begin; x <= column.end; ++x) f(y * p.columns + x);
  }
}

template <class T>
void average_row(const FractionalPool& p, const void* images, void* pooled, int64_t at) {
  const T* image = static_cast<const T*>(images) + at / p.out_rows * p.rows * p.columns * p.depth;
  T* out = static_cast<T*>(pooled) + at * p.out_columns * p.depth;
  const Window row = p.row(at % p.out_rows);
  for (int64_t i = 0; i < p.out_columns; ++i, out += p.depth) {
    const Window column = p.column(i);
    std::fill_n(out, p.depth, T{});
    for_cells(p, row, column, [&](int64_t cell) {
      for (int64_t k = 0; k < p.depth; ++k) out[k] = add(out[k], image[cell * p.depth + k]);
    });
    const auto count = static_cast<T>(row.size() * column.size());
    if (std::is_integral_v<T> && count == 0) continue;
    for (int64_t k = 0; k < p.depth; ++k) out[k] = out[k] / count;
  }
}

/// NaN is never the largest.
template <class T>
void largest_row(const FractionalPool& p, const void* images, void* pooled, int64_t at) {
  const T* image = static_cast<const T*>(images) + at / p.out_rows * p.rows * p.columns * p.depth;
  T* out = static_cast<T*>(pooled) + at * p.out_columns * p.depth;
  const Window row = p.row(at % p.out_rows);
  for (int64_t i = 0; i < p.out_columns; ++i, out += p.depth) {
    std::fill_n(out, p.depth, Finite<T>::lowest());
    for_cells(p, row, p.column(i), [&](int64_t cell) {
      for (int64_t k = 0; k < p.depth; ++k)
        out[k] = image[cell * p.depth + k] > out[k] ? image[cell * p.depth + k] : out[k];
    });
  }
}

class FractionalPooling final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> create(const KernelInit& init) {
    const std::vector<float>& ratios = init.attrs.numbers("pooling_ratio");
    RETURN_IF_ERROR(check_ratios(ratios));
    const bool largest = init.op == "FractionalMaxPool";
    if (ratios[0] != 1 || ratios[3] != 1) {
      return unimplemented(cat("Fractional ", largest ? "max" : "average",
                               " pooling is not yet supported on the batch nor channel dimension."));
    }
    if (!init.attrs.flag("deterministic") && (init.attrs.integer("seed") != 0 || init.attrs.integer("seed2") != 0))
      return invalid_argument("Both seed and seed2 should be 0 if deterministic is false.");
    return owned_kernel(new FractionalPooling(init, largest));
  }

  Status run(KernelContext& c) override {
    const Shape& image = c.input(0).shape();
    if (image.rank() != 4) return invalid_argument(cat("tensor_in must be 4-dimensional, got ", image.to_string()));
    Shape out = image;
    for (int i = 0; i < 4; ++i) {
      const float ratio = ratios_[static_cast<size_t>(i)];
      if (!(static_cast<float>(image.dim(i)) >= ratio)) {
        return invalid_argument(cat("Pooling ratio is higher than input dimension size for dimension ", i,
                                    ". Input dim size: ", image.dim(i), " pooling ratio: ", ratio));
      }
      out.dim(i) = windows_of(image.dim(i), ratio);
    }
    RETURN_IF_ERROR(ensure_output(c, 0, out));
    PhiloxStream stream = state_.reserve(0);
    for (const int i : {1, 2}) RETURN_IF_ERROR(draw_sequence(c, i, image.dim(i), out.dim(i), stream));
    const FractionalPool p{image.dim(0), image.dim(1),      image.dim(2),      image.dim(3), out.dim(1),
                           out.dim(2),   c.out<int64_t>(1), c.out<int64_t>(2), overlapping_};
    const double cost = static_cast<double>(p.rows * p.columns * p.depth) / static_cast<double>(p.out_rows) + 1;
    c.parallel_for(p.batch * p.out_rows, cost, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) code_(p, c.input(0).raw(), c.output(0).raw(), r);
    });
    return ok_status();
  }

 private:
  using Code = void (*)(const FractionalPool& p, const void* images, void* pooled, int64_t row);
  FractionalPooling(const KernelInit& init, bool largest)
      : ratios_(init.attrs.numbers("pooling_ratio")),
        pseudo_random_(init.attrs.flag("pseudo_random")),
        overlapping_(init.attrs.flag("overlapping")),
        deterministic_(init.attrs.flag("deterministic")),
        state_(init),
        code_(with_pooled(init.input_types[0], [&](auto zero) -> Code {
          using T = decltype(zero);
          return largest ? largest_row<T> : average_row<T>;
        })) {}

  /// Output `i`: where each window begins, and where the last one ends. What is drawn comes after what was drawn for
  /// the axis before; each step draws the same where that is asked for.
  Status draw_sequence(KernelContext& c, int i, int64_t cells, int64_t windows, PhiloxStream& stream) {
    RETURN_IF_ERROR(ensure_output(c, i, Shape{windows + 1}));
    ScratchVector<int64_t> sizes(static_cast<size_t>(windows));
    const uint64_t blocks = pseudo_random_ ? 1 : static_cast<uint64_t>((windows + 3) / 4);
    const PhiloxStream now = deterministic_ ? stream : state_.reserve(blocks);
    stream.skip(blocks);
    if (pseudo_random_)
      draw_sizes_by_one(cells, now, sizes);
    else
      draw_order(cells, now, sizes);
    int64_t* sequence = c.out<int64_t>(i);
    sequence[0] = 0;
    for (int64_t w = 0; w < windows; ++w) sequence[w + 1] = sequence[w] + sizes[static_cast<size_t>(w)];
    return ok_status();
  }

  const std::vector<float> ratios_;
  const bool pseudo_random_, overlapping_, deterministic_;
  RandomState state_;
  const Code code_;
};

/// Each window's gradient, in equal parts, to its cells of image `b`: added up as double.
template <class T>
void spread_gradients(const FractionalPool& p, const T* gradient, int64_t depth, double* image) {
  for (int64_t r = 0; r < p.out_rows; ++r) {
    for (int64_t q = 0; q < p.out_columns; ++q, gradient += depth) {
      const Window row = p.row(r), column = p.column(q);
      const double count = static_cast<double>(row.size()) * static_cast<double>(column.size());
      for_cells(p, row, column, [&](int64_t cell) {
        for (int64_t k = 0; k < depth; ++k) image[cell * p.depth + k] += static_cast<double>(gradient[k]) / count;
      });
    }
  }
}

/// As x86 converts: what the type has no room for becomes its least number.
template <class T>
T narrowed(double v) {
  if constexpr (std::is_integral_v<T>) {
    constexpr auto kEnd = -static_cast<double>(std::numeric_limits<T>::min());
    return v > -kEnd - 1 && v < kEnd ? static_cast<T>(v) : std::numeric_limits<T>::min();
  } else {
    return static_cast<T>(v);
  }
}

class FractionalAverageGradient final : public Kernel {
 public:
  explicit FractionalAverageGradient(const KernelInit& init) : overlapping_(init.attrs.flag("overlapping")) {}
  Status run(KernelContext& c) override {
    ASSIGN_OR_RETURN(const Shape image, image_shape(c.input(0)));
    RETURN_IF_ERROR(ensure_output(c, 0, image));
    const Shape& out = c.input(1).shape();
    if (out.rank() != 4) return invalid_argument(cat("out_backprop must be 4-dimensional, got ", out.to_string()));
    for (int i = 0; i < 4; ++i) {
      if (out.dim(i) == 0)
        return invalid_argument(cat("out_backprop must be positive for all dimension, got:", out.dim(i)));
    }
    const FractionalPool p{image.dim(0), image.dim(1),     image.dim(2),     image.dim(3), out.dim(1),
                           out.dim(2),   c.in<int64_t>(2), c.in<int64_t>(3), overlapping_};
    RETURN_IF_ERROR(check(c, p, out));
    ASSIGN_OR_RETURN(Tensor sums, c.allocate_scratch(DType::kDouble, image));
    const int64_t cells = p.rows * p.columns * p.depth, gradients = p.out_rows * p.out_columns * out.dim(3);
    with_pooled(c.output(0).dtype(), [&](auto zero) {
      using T = decltype(zero);
      c.parallel_for(p.batch, 4.0 * static_cast<double>(cells) + 1, [&](int64_t begin, int64_t end) {
        double* all = sums.data<double>();
        std::fill(all + begin * cells, all + end * cells, 0.0);
        for (int64_t b = begin; b < std::min(end, out.dim(0)); ++b)
          spread_gradients(p, c.in<T>(1) + b * gradients, out.dim(3), all + b * cells);
        std::transform(all + begin * cells, all + end * cells, c.out<T>(0) + begin * cells, narrowed<T>);
      });
    });
    return ok_status();
  }

 private:
  static Result<Shape> image_shape(const Tensor& sizes) {
    if (sizes.shape().rank() != 1 || sizes.num_elements() != 4) {
      return invalid_argument(cat("original input tensor shape must be 1-dimensional and 4 elements, got shape ",
                                  sizes.shape().to_string()));
    }
    return shape_of_values(sizes);
  }
  static Status check(const KernelContext& c, const FractionalPool& p, const Shape& out) {
    static constexpr std::string_view kNames[] = {"row", "col"}, kAxes[] = {"Rows", "Columns"};
    for (const int i : {0, 1}) {
      if (const int64_t n = c.input(2 + i).num_elements(); n <= out.dim(1 + i)) {
        return invalid_argument(cat("Given out_backprop shape ", out.to_string(), ", ", kNames[i],
                                    "_seq_tensor must have at least ", out.dim(1 + i) + 1, " elements, but got ", n));
      }
      if ((i == 0 ? p.rows : p.columns) == 0)
        return invalid_argument(cat(kAxes[i], " dimension of input must not be 0"));
    }
    for (int64_t r = 0; r < p.out_rows; ++r) RETURN_IF_ERROR(check_window(p.row(r), "Row"));
    for (int64_t q = 0; q < p.out_columns; ++q) RETURN_IF_ERROR(check_window(p.column(q), "Column"));
    if (out.dim(0) <= p.batch && out.dim(3) <= p.depth) return ok_status();
    return invalid_argument(cat("out_backprop of shape ", out.to_string(), " has more images or channels than [",
                                p.batch, ",", p.rows, ",", p.columns, ",", p.depth, "]"));
  }
  static Status check_window(const Window& w, std::string_view name) {
    if (w.begin >= 0 && w.end >= 0) return ok_status();
    return invalid_argument(
        cat(name, " sequence tensor values must not be negative, nor be followed by 0, got a window from ", w.begin,
            " to ", w.end));
  }

  const bool overlapping_;
};

/// Of image `b`: adds each window's gradient to the first of its largest cells. `known`: gradients that there are, of
/// all windows and channels in order.
enum class Misfit : uint8_t { kNone, kOtherCells, kNoCell };
template <class T>
Misfit gradients_to_largest(const FractionalPool& p, const KernelContext& c, int64_t b, int64_t known, T* to) {
  const int64_t cells = p.rows * p.columns * p.depth, windows = p.out_rows * p.out_columns * p.depth;
  const T *image = c.in<T>(0) + b * cells, *largest = c.in<T>(1) + b * windows, *gradient = c.in<T>(2);
  std::fill_n(to, cells, T{});
  ScratchVector<T> best(static_cast<size_t>(p.depth));
  ScratchVector<int64_t> places(static_cast<size_t>(p.depth));
  for (int64_t w = 0; w < p.out_rows * p.out_columns; ++w) {
    std::fill(best.begin(), best.end(), Finite<T>::lowest());
    std::fill(places.begin(), places.end(), -1);
    const int64_t row = w / p.out_columns, column = w % p.out_columns;
    const bool there = row + 1 < c.input(3).num_elements() && column + 1 < c.input(4).num_elements();
    const auto look = [&](int64_t cell) {
      for (int64_t k = 0; k < p.depth; ++k) {
        const T value = image[cell * p.depth + k];
        const auto at = static_cast<size_t>(k);
        if (!(best[at] < value || places[at] < 0)) continue;
        best[at] = value;
        places[at] = cell * p.depth + k;
      }
    };
    if (there) for_cells(p, p.row(row), p.column(column), look);
    for (int64_t k = 0; k < p.depth; ++k) {
      const auto at = static_cast<size_t>(k);
      const int64_t i = w * p.depth + k;
      if (!(best[at] == largest[i])) return Misfit::kOtherCells;
      if (b * windows + i >= known) continue;
      if (places[at] < 0) return Misfit::kNoCell;
      to[places[at]] = add(to[places[at]], gradient[b * windows + i]);
    }
  }
  return Misfit::kNone;
}

class FractionalMaxGradient final : public Kernel {
 public:
  explicit FractionalMaxGradient(const KernelInit& init) : overlapping_(init.attrs.flag("overlapping")) {}
  Status run(KernelContext& c) override {
    const Shape &image = c.input(0).shape(), &out = c.input(1).shape();
    RETURN_IF_ERROR(check_image(image, "orig_input"));
    RETURN_IF_ERROR(check_image(out, "orig_output"));
    RETURN_IF_ERROR(ensure_output(c, 0, image));
    const FractionalPool p{image.dim(0), image.dim(1),     image.dim(2),     image.dim(3), out.dim(1),
                           out.dim(2),   c.in<int64_t>(3), c.in<int64_t>(4), overlapping_};
    RETURN_IF_ERROR(check_sequence(c.input(3), p.out_rows, p.rows, "row"));
    RETURN_IF_ERROR(check_sequence(c.input(4), p.out_columns, p.columns, "col"));
    const int64_t known = c.input(2).num_elements(), cells = p.rows * p.columns * p.depth;
    if (out.dim(0) != p.batch || out.dim(3) != p.depth || known > out.num_elements()) {
      return invalid_argument(cat("orig_input ", image.to_string(), ", orig_output ", out.to_string(),
                                  " and out_backprop ", c.input(2).shape().to_string(), " do not fit each other"));
    }
    std::atomic<bool> other_cells{false}, no_cell{false};
    with_pooled(c.output(0).dtype(), [&](auto zero) {
      using T = decltype(zero);
      c.parallel_for(p.batch, 4.0 * static_cast<double>(cells), [&](int64_t begin, int64_t end) {
        for (int64_t b = begin; b < end; ++b) {
          const Misfit misfit = gradients_to_largest<T>(p, c, b, known, c.out<T>(0) + b * cells);
          if (misfit != Misfit::kNone) (misfit == Misfit::kOtherCells ? other_cells : no_cell) = true;
        }
      });
    });
    if (other_cells) return invalid_argument("tensor_out_dup is not the same as tensor_out");
    if (no_cell) return invalid_argument("Invalid input backprop index: a window without cells has a gradient");
    return ok_status();
  }

 private:
  static Status check_image(const Shape& s, std::string_view name) {
    if (s.rank() != 4) return invalid_argument(cat(name, " should be a tensor of rank 4, got ", s.to_string()));
    if (s.num_elements() > 0) return ok_status();
    return invalid_argument(cat(name, " must not be empty, got ", s.to_string()));
  }
  /// TensorFlow reads what no window has.
  Status check_sequence(const Tensor& sequence, int64_t windows, int64_t cells, std::string_view name) const {
    if (sequence.shape().rank() != 1) {
      return invalid_argument(
          cat(name, "_pooling_sequence must be a vector, received shape ", sequence.shape().to_string()));
    }
    for (int64_t i = 0; i + 1 < sequence.num_elements(); ++i) {
      const Window w = window_at(sequence.data<int64_t>(), i, cells, overlapping_);
      if (w.begin > w.end || (w.begin >= 0 && i < windows)) continue;
      return invalid_argument(cat(name, "_pooling_sequence has window ", i, " from ", w.begin, " to ", w.end,
                                  ", where there are ", windows, " windows of ", cells, " cells"));
    }
    return ok_status();
  }

  const bool overlapping_;
};

Status max_pool_gradient(GradientContext& g) {
  g.set(0, g.add("FractionalMaxPoolGrad", {g.input(0), g.output(0), g.grad(0), g.output(1), g.output(2)},
                 g.copy_attrs({"overlapping"})));
  return g.status();
}
Status average_pool_gradient(GradientContext& g) {
  const Shape& image = g.shape(g.input(0));
  if (!image.fully_known()) {
    return invalid_argument(cat("Cannot convert a partially known TensorShape ", image.to_string(),
                                " to a Tensor: its gradient wants the shape of what FractionalAvgPool pools"));
  }
  std::vector<int64_t> sizes(image.dims().begin(), image.dims().end());
  const Value shape = g.ints(sizes, "FractionalAvgPoolGrad/orig_input_tensor_shape", DType::kInt64);
  g.set(0, g.add("FractionalAvgPoolGrad", {shape, g.grad(0), g.output(1), g.output(2)}, g.copy_attrs({"overlapping"})));
  return g.status();
}

}  // namespace

OpDef fractional_avg_pool_op() {
  return OpDef("FractionalAvgPool")
      .doc("The mean of each window, of windows of two sizes in an order that is drawn; and where the windows begin.")
      .shape(pool_shape)
      .cpu(kPooled, FractionalPooling::create)
      .gradient(average_pool_gradient);
}
OpDef fractional_max_pool_op() {
  return OpDef("FractionalMaxPool")
      .doc("The largest cell of each window, of windows of two sizes in an order that is drawn; and where they begin.")
      .shape(pool_shape)
      .cpu(kPooled, FractionalPooling::create)
      .gradient(max_pool_gradient);
}
OpDef fractional_avg_pool_grad_op() {
  return OpDef("FractionalAvgPoolGrad")
      .doc("Each window's gradient in equal parts to its cells.")
      .shape(average_gradient_shape)
      .value_inputs({0})
      .cpu(kPooled, make<FractionalAverageGradient>);
}
OpDef fractional_max_pool_grad_op() {
  return OpDef("FractionalMaxPoolGrad")
      .doc("Each window's gradient to the first of its largest cells.")
      .shape(max_gradient_shape)
      .cpu(kPooled, make<FractionalMaxGradient>);
}

}  // namespace emplace
