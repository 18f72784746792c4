// FFT, IFFT, RFFT and IRFFT: discrete Fourier transforms of the last dimension, computed in double.
#include "core/base/cat.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/math/fourier_line.h"

namespace emplace {
namespace {

/// Calls f(number of the row) for all, beside each other.
template <class F>
void each_row(KernelContext& c, int64_t rows, int64_t n, const F& f) {
  c.parallel_for(rows, 20.0 * static_cast<double>(n) + 50, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) f(row);
  });
}

template <int kSign, class T>
Status fourier_cpu(KernelContext& c) {
  const int64_t n = c.input(0).shape().dim_from_end(1), all = c.output(0).num_elements();
  if (all == 0) return ok_status();
  const Fourier fourier(n, kSign);
  const double scale = kSign > 0 ? static_cast<double>(n) : 1;
  each_row(c, all / n, n, [&](int64_t row) {
    Wave x(c.in<T>(0) + row * n, c.in<T>(0) + (row + 1) * n);
    fourier.run(x);
    for (int64_t k = 0; k < n; ++k) c.out<T>(0)[row * n + k] = static_cast<T>(x[static_cast<size_t>(k)] / scale);
  });
  return ok_status();
}

Status fourier_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Shape s, c.with_rank_at_least(0, 1));
  c.set_output(0, s);
  return ok_status();
}

/// The last dimension becomes `of_length(fft_length)`.
template <class F>
Status real_fourier_shape(ShapeContext& c, const F& of_length) {
  ASSIGN_OR_RETURN(Shape s, c.with_rank_at_least(0, 1));
  ASSIGN_OR_RETURN(const Shape length, c.with_rank(1, 1));
  RETURN_IF_ERROR(require_dim(dim_or_unknown(length, 0), 1).take_status());
  if (!s.rank_known()) return ok_status();
  const Tensor* asked = c.input_value(1);
  if (asked && int_at(*asked, 0) < 0) return invalid_argument("fft_length must be nonnegative");
  s.dim(s.rank() - 1) = asked ? of_length(int_at(*asked, 0)) : -1;
  c.set_output(0, s);
  return ok_status();
}
Status rfft_shape(ShapeContext& c) {
  return real_fourier_shape(c, [](int64_t n) { return n == 0 ? 0 : n / 2 + 1; });
}
Status irfft_shape(ShapeContext& c) {
  return real_fourier_shape(c, [](int64_t n) { return n; });
}

Status too_short(const KernelContext& c, int64_t wanted) {
  return invalid_argument(cat("Input dimension ", c.input(0).shape().rank() - 1, " must have length of at least ",
                              wanted, " but got: ", c.input(0).shape().dim_from_end(1)));
}

template <class R, class T>
Status rfft_cpu(KernelContext& c) {
  const int64_t n = int_at(c.input(1), 0), given = c.input(0).shape().dim_from_end(1), kept = n / 2 + 1;
  if (n == 0 || c.output(0).num_elements() == 0) return ok_status();
  if (given < n) return too_short(c, n);
  const Fourier fourier(n, -1);
  each_row(c, c.output(0).num_elements() / kept, n, [&](int64_t row) {
    Wave x(c.in<R>(0) + row * given, c.in<R>(0) + row * given + n);
    fourier.run(x);
    for (int64_t k = 0; k < kept; ++k) c.out<T>(0)[row * kept + k] = static_cast<T>(x[static_cast<size_t>(k)]);
  });
  return ok_status();
}

template <class R, class T>
Status irfft_cpu(KernelContext& c) {
  const int64_t n = int_at(c.input(1), 0), given = c.input(0).shape().dim_from_end(1), used = n / 2 + 1;
  if (n == 0 || c.output(0).num_elements() == 0) return ok_status();
  if (given < used) return too_short(c, used);
  const Fourier fourier(n, 1);
  each_row(c, c.output(0).num_elements() / n, n, [&](int64_t row) {
    Wave x(static_cast<size_t>(n));
    const T* from = c.in<T>(0) + row * given;
    for (int64_t k = 0; k < n; ++k)
      x[static_cast<size_t>(k)] = k < used ? complex128(from[k]) : std::conj(complex128(from[n - k]));
    fourier.run(x);
    for (int64_t k = 0; k < n; ++k)
      c.out<R>(0)[row * n + k] = static_cast<R>(x[static_cast<size_t>(k)].real() / static_cast<double>(n));
  });
  return ok_status();
}

// The size of the last dimension, in the type of v or of its parts.
Value last_size(GradientContext& g, Value v, DType type) {
  const Shape& s = g.shape(v);
  if (s.rank_known() && s.dim_from_end(1) >= 0) return g.scalar(type, static_cast<double>(s.dim_from_end(1)));
  return g.cast(g.add("Prod", {g.slice(g.shape_of(v), -1), g.ints({0})}), type);
}

// A transform is its matrix, which is symmetric: the gradient goes through its conjugate.
template <int kSign>
Status fourier_gradient(GradientContext& g) {
  const Value dy = g.grad(0), size = last_size(g, dy, g.type(dy));
  g.set(0, kSign < 0 ? g.mul(g.add("IFFT", {dy}), size) : g.add("RealDiv", {g.add("FFT", {dy}), size}));
  return g.status();
}

// Of a gradient of `length` numbers that for those which the input has: RFFT drops numbers or adds zeros.
Value fitted(GradientContext& g, Value dx, Value input) {
  const Shape &have = g.shape(dx), &want = g.shape(input);
  if (!want.rank_known() || want.rank() == 0) return dx;
  if (have.rank_known() && have.dim_from_end(1) >= 0 && have.dim_from_end(1) == want.dim_from_end(1)) return dx;
  const int rank = want.rank();
  const Value size = g.slice(g.shape_of(input), rank - 1),
              none = g.ints(std::vector<int64_t>(static_cast<size_t>(2 * rank - 1), 0));
  const Value padded = g.add("Pad", {dx, g.reshape(g.concat({none, size}), std::vector<int64_t>{rank, 2})});
  const Value kept =
      rank == 1 ? size : g.concat({g.ints(std::vector<int64_t>(static_cast<size_t>(rank - 1), -1)), size});
  return g.add("Slice", {padded, g.ints(std::vector<int64_t>(static_cast<size_t>(rank), 0)), kept});
}

// The gradient of IRFFT's input for RFFT's output and the other way round; the terms that stand for themselves only,
// the first and, of an even length, the last, count half.
Status rfft_gradient(GradientContext& g) {
  const Value dy = g.grad(0), length = g.input(1);
  const DType type = g.type(g.input(0)), wide = g.type(dy);
  const Value back = g.add("IRFFT", {dy, length}, {{"Treal", AttrValue::of(type)}, {"Tcomplex", AttrValue::of(wide)}});
  const Value size = g.cast(g.element(length, 0), type), one = g.index(1);
  const Value range = g.range(g.index(0), g.element(length, 0), one);
  // 1, -1, 1, ...: what the last term is multiplied by; nothing of an odd length, which has none.
  const Value odd = g.add("FloorMod", {range, g.index(2)}, {}, "mod");
  const Value even_length =
      g.add("Sub", {one, g.add("FloorMod", {g.element(length, 0), g.index(2)}, {}, "mod")}, {}, "sub");
  const Value signs = g.mul(even_length, g.add("Sub", {one, g.mul(g.index(2), odd)}, {}, "sub"));
  const Value parts = g.add("Real", {dy}, {{"T", AttrValue::of(wide)}, {"Tout", AttrValue::of(type)}});
  const Value first = g.add("GatherV2", {parts, g.ints({0}), g.index(-1)}, {}, "GatherV2");
  const Value last_place = g.add("FloorDiv", {g.slice(length, 0), g.index(2)}, {}, "floordiv");
  const Value last = g.add("GatherV2", {parts, last_place, g.index(-1)}, {}, "GatherV2");
  const Value alone = g.add("AddV2", {first, g.mul(last, g.cast(signs, type))}, {}, "add");
  const Value whole = g.add("AddV2", {g.mul(back, size), alone}, {}, "add");
  g.set(0, fitted(g, g.mul(g.scalar(type, 0.5), whole), g.input(0)));
  return g.status();
}

Status irfft_gradient(GradientContext& g) {
  const Value dy = g.grad(0), length = g.element(g.input(1), 0);
  const DType type = g.type(dy), wide = g.type(g.input(0));
  const Value there =
      g.add("RFFT", {dy, g.input(1)}, {{"Treal", AttrValue::of(type)}, {"Tcomplex", AttrValue::of(wide)}});
  // 1, 2, ..., 2, and 1 at the end of an even length: how often a term stands in the whole transform.
  const Value kept = g.add("AddV2", {g.add("FloorDiv", {length, g.index(2)}, {}, "floordiv"), g.index(1)}, {}, "add");
  const Value range = g.range(g.index(0), kept, g.index(1));
  const Value doubled = g.add("Sub", {length, g.mul(g.index(2), range)}, {}, "sub");  // 0 at the end of an even length
  const Value once = g.add("LogicalOr", {g.add("Equal", {range, g.index(0)}), g.add("Equal", {doubled, g.index(0)})});
  const Value times = g.add("Sub", {g.index(2), g.cast(once, DType::kInt32)}, {}, "sub");
  const Value mask = g.add("RealDiv", {g.cast(times, type), g.cast(length, type)}, {}, "truediv");
  g.set(0, g.mul(there, g.cast(mask, wide)));
  return g.status();
}

template <int kSign>
OpDef fourier_op(std::string_view name, std::string_view doc) {
  return OpDef(name)
      .doc(doc)
      .shape(fourier_shape)
      .cpu(DTypeSet{DType::kComplex64}, stateless<fourier_cpu<kSign, complex64>>)
      .cpu(DTypeSet{DType::kComplex128}, stateless<fourier_cpu<kSign, complex128>>)
      .gradient(fourier_gradient<kSign>);
}

}  // namespace

OpDef fft_op() { return fourier_op<-1>("FFT", "The discrete Fourier transform of the last dimension."); }
OpDef ifft_op() { return fourier_op<1>("IFFT", "The inverse of FFT."); }
OpDef rfft_op() {
  return OpDef("RFFT")
      .doc("FFT of real numbers, of which fft_length are taken: its first half.")
      .shape(rfft_shape)
      .kernel_attr("Treal")
      .value_inputs({1})
      .cpu<float>(stateless<rfft_cpu<float, complex64>>)
      .cpu<double>(stateless<rfft_cpu<double, complex128>>)
      .gradient(rfft_gradient);
}
OpDef irfft_op() {
  return OpDef("IRFFT")
      .doc("The fft_length real numbers of which RFFT is given.")
      .shape(irfft_shape)
      .kernel_attr("Treal")
      .value_inputs({1})
      .cpu<float>(stateless<irfft_cpu<float, complex64>>)
      .cpu<double>(stateless<irfft_cpu<double, complex128>>)
      .gradient(irfft_gradient);
}

}  // namespace emplace
