// FFT2D, FFT3D, IFFT2D, IFFT3D, RFFT2D, RFFT3D, IRFFT2D, IRFFT3D: discrete Fourier transforms of the two or three last
// dimensions, one dimension after the other.
#include "core/base/cat.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/math/fourier_line.h"

namespace emplace {
namespace {

/// The numbers of one transform, row after row, in a block of `sizes`.
struct Block {
  ScratchVector<int64_t> sizes;
  Wave numbers;

  explicit Block(ScratchVector<int64_t> of) : sizes(std::move(of)) {
    size_t n = 1;
    for (int64_t size : sizes) n *= static_cast<size_t>(size);
    numbers.resize(n);
  }

  /// Transforms every line along dimension `d`.
  void transform(size_t d, const Fourier& fourier, double scale) {
    size_t stride = 1;
    for (size_t k = d + 1; k < sizes.size(); ++k) stride *= static_cast<size_t>(sizes[k]);
    const auto n = static_cast<size_t>(sizes[d]);
    Wave line(n);
    for (size_t first = 0; first < numbers.size(); first += n * stride) {
      for (size_t at = first; at < first + stride; ++at) {
        for (size_t i = 0; i < n; ++i) line[i] = numbers[at + i * stride];
        fourier.run(line);
        for (size_t i = 0; i < n; ++i) numbers[at + i * stride] = line[i] / scale;
      }
    }
  }

  /// Calls f(number here, number there) for all rows of the last dimension: where they lie in a block of `others`,
  /// which has at least as many along all dimensions but the last.
  template <class F>
  void each_row(const ScratchVector<int64_t>& others, const F& f) const {
    const size_t rank = sizes.size();
    const int64_t width = sizes[rank - 1], rows = width == 0 ? 0 : static_cast<int64_t>(numbers.size()) / width;
    for (int64_t row = 0; row < rows; ++row) {
      int64_t rest = row, there = 0, stride = others[rank - 1];
      for (size_t d = rank - 1; d-- > 0;) {
        there += rest % sizes[d] * stride;
        rest /= sizes[d];
        stride *= others[d];
      }
      f(row * width, there);
    }
  }
};

int64_t product_of(const ScratchVector<int64_t>& sizes) {
  int64_t n = 1;
  for (int64_t size : sizes) n *= size;
  return n;
}

ScratchVector<int64_t> last_sizes(const Shape& s, int rank) {
  ScratchVector<int64_t> sizes;
  for (int d = rank; d > 0; --d) sizes.push_back(s.dim_from_end(d));
  return sizes;
}

/// Calls f(number of the block) for `count` blocks of so many numbers, beside each other.
template <class F>
void each_block(KernelContext& c, int64_t count, int64_t numbers, const F& f) {
  c.parallel_for(count, 60.0 * static_cast<double>(numbers) + 200, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) f(i);
  });
}

/// A Fourier of each size.
ScratchVector<Fourier> transforms_of(const ScratchVector<int64_t>& sizes, int sign) {
  ScratchVector<Fourier> all;
  for (int64_t size : sizes) all.emplace_back(size, sign);
  return all;
}

template <int kRank, int kSign, class T>
Status block_cpu(KernelContext& c) {
  const ScratchVector<int64_t> sizes = last_sizes(c.input(0).shape(), kRank);
  const int64_t all = c.output(0).num_elements(), n = product_of(sizes);
  if (all == 0) return ok_status();
  const ScratchVector<Fourier> fouriers = transforms_of(sizes, kSign);
  each_block(c, all / n, n, [&](int64_t number) {
    Block block(sizes);
    std::copy_n(c.in<T>(0) + number * n, n, block.numbers.begin());
    for (size_t d = kRank; d-- > 0;) block.transform(d, fouriers[d], kSign > 0 ? static_cast<double>(sizes[d]) : 1);
    for (int64_t i = 0; i < n; ++i) c.out<T>(0)[number * n + i] = static_cast<T>(block.numbers[static_cast<size_t>(i)]);
  });
  return ok_status();
}

template <int kRank>
Status block_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Shape s, c.with_rank_at_least(0, kRank));
  c.set_output(0, s);
  return ok_status();
}

/// The last dimensions become fft_length, of the last one as many as `kept` says.
template <int kRank>
Status real_block_shape(ShapeContext& c, int64_t (*kept)(int64_t)) {
  ASSIGN_OR_RETURN(Shape s, c.with_rank_at_least(0, kRank));
  ASSIGN_OR_RETURN(const Shape length, c.with_rank(1, 1));
  RETURN_IF_ERROR(require_dim(dim_or_unknown(length, 0), kRank).take_status());
  if (!s.rank_known()) return ok_status();
  const Tensor* asked = c.input_value(1);
  for (int d = 0; d < kRank; ++d) {
    const int64_t size = asked ? int_at(*asked, d) : -1;
    if (asked && size < 0) return invalid_argument("fft_length must be nonnegative");
    s.dim(s.rank() - kRank + d) = d + 1 == kRank && asked ? kept(size) : size;
  }
  c.set_output(0, s);
  return ok_status();
}
template <int kRank>
Status real_shape(ShapeContext& c) {
  return real_block_shape<kRank>(c, [](int64_t n) -> int64_t { return n == 0 ? 0 : n / 2 + 1; });
}
template <int kRank>
Status back_shape(ShapeContext& c) {
  return real_block_shape<kRank>(c, [](int64_t n) { return n; });
}

/// fft_length; an error if the input has fewer numbers along a dimension, of the last one than `last`.
Result<ScratchVector<int64_t>> asked_sizes(const KernelContext& c, int rank, bool halved) {
  ScratchVector<int64_t> sizes;
  for (int d = 0; d < rank; ++d) {
    const int64_t size = int_at(c.input(1), d), given = c.input(0).shape().dim_from_end(rank - d);
    const int64_t wanted = halved && d + 1 == rank ? size / 2 + 1 : size;
    sizes.push_back(size);
    if (size > 0 && given < wanted && c.input(0).num_elements() > 0)
      return invalid_argument(cat("Input dimension ", c.input(0).shape().rank() - rank + d,
                                  " must have length of at least ", wanted, " but got: ", given));
  }
  return sizes;
}

/// TensorFlow leaves its output as memory was.
Status of_nothing(KernelContext& c) {
  fill_zeros(*c.parallel_, c.output(0));
  return ok_status();
}

template <int kRank, class R, class T>
Status real_cpu(KernelContext& c) {
  ASSIGN_OR_RETURN(const ScratchVector<int64_t> sizes, asked_sizes(c, kRank, false));
  if (c.output(0).num_elements() == 0) return ok_status();
  if (c.input(0).num_elements() == 0) return of_nothing(c);
  const ScratchVector<int64_t> given = last_sizes(c.input(0).shape(), kRank);
  ScratchVector<int64_t> kept = sizes;
  kept.back() = sizes.back() / 2 + 1;
  const int64_t in_block = product_of(given), out_block = product_of(kept), width = sizes.back();
  const ScratchVector<Fourier> fouriers = transforms_of(sizes, -1);
  each_block(c, c.output(0).num_elements() / out_block, product_of(sizes), [&](int64_t number) {
    Block block(kept);
    Wave row(static_cast<size_t>(width));
    block.each_row(given, [&](int64_t here, int64_t there) {
      const R* from = c.in<R>(0) + number * in_block + there;
      std::copy_n(from, width, row.begin());
      fouriers.back().run(row);
      std::copy_n(row.begin(), kept.back(), block.numbers.begin() + here);
    });
    for (size_t d = kRank - 1; d-- > 0;) block.transform(d, fouriers[d], 1);
    for (int64_t i = 0; i < out_block; ++i)
      c.out<T>(0)[number * out_block + i] = static_cast<T>(block.numbers[static_cast<size_t>(i)]);
  });
  return ok_status();
}

template <int kRank, class R, class T>
Status back_cpu(KernelContext& c) {
  ASSIGN_OR_RETURN(const ScratchVector<int64_t> sizes, asked_sizes(c, kRank, true));
  if (c.output(0).num_elements() == 0) return ok_status();
  if (c.input(0).num_elements() == 0) return of_nothing(c);
  const ScratchVector<int64_t> given = last_sizes(c.input(0).shape(), kRank);
  ScratchVector<int64_t> used = sizes;
  used.back() = sizes.back() / 2 + 1;
  const int64_t in_block = product_of(given), out_block = product_of(sizes), width = sizes.back();
  const ScratchVector<Fourier> fouriers = transforms_of(sizes, 1);
  each_block(c, c.output(0).num_elements() / out_block, out_block, [&](int64_t number) {
    Block block(used);
    block.each_row(given, [&](int64_t here, int64_t there) {
      std::copy_n(c.in<T>(0) + number * in_block + there, used.back(), block.numbers.begin() + here);
    });
    for (size_t d = kRank - 1; d-- > 0;) block.transform(d, fouriers[d], static_cast<double>(sizes[d]));
    Wave row(static_cast<size_t>(width));
    R* out = c.out<R>(0) + number * out_block;
    block.each_row(sizes, [&](int64_t here, int64_t there) {
      const complex128* from = block.numbers.data() + here;
      for (int64_t k = 0; k < width; ++k)
        row[static_cast<size_t>(k)] = k < used.back() ? from[k] : std::conj(from[width - k]);
      fouriers.back().run(row);
      for (int64_t k = 0; k < width; ++k)
        out[there + k] = static_cast<R>(row[static_cast<size_t>(k)].real() / static_cast<double>(width));
    });
  });
  return ok_status();
}

/// How many numbers a transform has, in the type of v or of its parts.
Value size_of_block(GradientContext& g, Value v, int rank, DType type) {
  const Shape& s = g.shape(v);
  double n = 1;
  for (int d = 1; d <= rank && n >= 0; ++d) {
    const int64_t size = s.rank_known() ? s.dim_from_end(d) : -1;
    n = size < 0 ? -1 : n * static_cast<double>(size);
  }
  if (n >= 0) return g.scalar(type, n);
  return g.cast(g.add("Prod", {g.slice(g.shape_of(v), -rank), g.ints({0})}), type);
}

template <int kRank, int kSign>
Status block_gradient(GradientContext& g) {
  const Value dy = g.grad(0), size = size_of_block(g, dy, kRank, g.type(dy));
  const std::string there = cat("FFT", kRank, "D"), back = cat("IFFT", kRank, "D");
  g.set(0, kSign < 0 ? g.mul(g.add(back, {dy}), size) : g.add("RealDiv", {g.add(there, {dy}), size}));
  return g.status();
}

/// `v` with zeros behind it, up to the sizes of `shape`.
Value filled_up(GradientContext& g, Value v, Value shape) {
  const Value have = g.shape_of(v), more = g.add("Sub", {shape, have}, {}, "sub");
  const Value paddings = g.pack({g.zeros_like(have), more}, 1);
  return g.add("Pad", {v, paddings});
}

/// The adjoint of what was computed: the half that was dropped counts as zeros, and so does what was not taken.
Status real_plane_gradient(GradientContext& g) {
  const Value dy = g.grad(0), length = g.input(1);
  const DType type = g.type(g.input(0)), wide = g.type(dy);
  const Value full = g.concat({g.slice(g.shape_of(dy), 0, -1), g.slice(length, 1, 2)});
  const Value back = g.add("IFFT2D", {filled_up(g, dy, full)});
  const Value parts = g.add("Real", {back}, {{"T", AttrValue::of(wide)}, {"Tout", AttrValue::of(type)}});
  const Value scaled = g.mul(parts, g.cast(g.add("Prod", {length, g.ints({0})}), type));
  g.set(0, filled_up(g, scaled, g.shape_of(g.input(0))));
  return g.status();
}

/// As IRFFT's: terms that stand for two count twice.
Status back_plane_gradient(GradientContext& g) {
  const Value dy = g.grad(0), last = g.element(g.input(1), 1);
  const DType type = g.type(dy), wide = g.type(g.input(0));
  const Value there =
      g.add("RFFT2D", {dy, g.input(1)}, {{"Treal", AttrValue::of(type)}, {"Tcomplex", AttrValue::of(wide)}});
  const Value kept = g.add("AddV2", {g.add("FloorDiv", {last, g.index(2)}, {}, "floordiv"), g.index(1)}, {}, "add");
  const Value range = g.range(g.index(0), kept, g.index(1));
  const Value doubled = g.add("Sub", {last, g.mul(g.index(2), range)}, {}, "sub");  // 0 at the end of an even length
  const Value once = g.add("LogicalOr", {g.add("Equal", {range, g.index(0)}), g.add("Equal", {doubled, g.index(0)})});
  const Value times = g.add("Sub", {g.index(2), g.cast(once, DType::kInt32)}, {}, "sub");
  const Value size = g.cast(g.add("Prod", {g.input(1), g.ints({0})}), type);
  g.set(0, g.mul(there, g.cast(g.add("RealDiv", {g.cast(times, type), size}, {}, "truediv"), wide)));
  return g.status();
}

template <int kRank, int kSign>
OpDef block_op(std::string_view name, std::string_view doc) {
  return OpDef(name)
      .doc(doc)
      .shape(block_shape<kRank>)
      .cpu(DTypeSet{DType::kComplex64}, stateless<block_cpu<kRank, kSign, complex64>>)
      .cpu(DTypeSet{DType::kComplex128}, stateless<block_cpu<kRank, kSign, complex128>>)
      .gradient(block_gradient<kRank, kSign>);
}
template <int kRank>
OpDef real_block_op(std::string_view name, std::string_view doc) {
  return OpDef(name)
      .doc(doc)
      .shape(real_shape<kRank>)
      .kernel_attr("Treal")
      .value_inputs({1})
      .cpu(DTypeSet{DType::kFloat}, stateless<real_cpu<kRank, float, complex64>>)
      .cpu(DTypeSet{DType::kDouble}, stateless<real_cpu<kRank, double, complex128>>);
}
template <int kRank>
OpDef back_block_op(std::string_view name, std::string_view doc) {
  return OpDef(name)
      .doc(doc)
      .shape(back_shape<kRank>)
      .kernel_attr("Treal")
      .value_inputs({1})
      .cpu(DTypeSet{DType::kFloat}, stateless<back_cpu<kRank, float, complex64>>)
      .cpu(DTypeSet{DType::kDouble}, stateless<back_cpu<kRank, double, complex128>>);
}

}  // namespace

OpDef fft_2d_op() { return block_op<2, -1>("FFT2D", "The discrete Fourier transform of the last two dimensions."); }
OpDef fft_3d_op() { return block_op<3, -1>("FFT3D", "The discrete Fourier transform of the last three dimensions."); }
OpDef ifft_2d_op() { return block_op<2, 1>("IFFT2D", "The inverse of FFT2D."); }
OpDef ifft_3d_op() { return block_op<3, 1>("IFFT3D", "The inverse of FFT3D."); }
OpDef rfft_2d_op() {
  return real_block_op<2>("RFFT2D", "FFT2D of real numbers, of which fft_length are taken: its first half.")
      .gradient(real_plane_gradient);
}
OpDef rfft_3d_op() {
  return real_block_op<3>("RFFT3D", "FFT3D of real numbers, of which fft_length are taken: its first half.");
}
OpDef irfft_2d_op() {
  return back_block_op<2>("IRFFT2D", "The fft_length real numbers of which RFFT2D is given.")
      .gradient(back_plane_gradient);
}
OpDef irfft_3d_op() { return back_block_op<3>("IRFFT3D", "The fft_length real numbers of which RFFT3D is given."); }

}  // namespace emplace
