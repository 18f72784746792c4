// BiasAdd: one number a channel added; BiasAddGrad: the sums over everything else.
#include <algorithm>
#include <cstring>
#include <vector>

#include "core/base/cat.h"
#include "core/base/scratch_vector.h"
#include "core/op/gradient_context.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/elementwise.h"
#include "core/ops/kit/isa.h"
#include "core/ops/kit/numeric.h"
#include "core/ops/kit/shape_math.h"

namespace emplace {
namespace {

bool channels_first(const Attrs& attrs) {
  const AttrValue* format = attrs.find("data_format");
  return format != nullptr && format->get<std::string>() == "NCHW";
}

Status bias_add_shape(ShapeContext& c) {
  bool first = channels_first(c.attrs());
  ASSIGN_OR_RETURN(Shape in, c.with_rank_at_least(0, first ? 3 : 2));
  ASSIGN_OR_RETURN(Shape bias, c.with_rank(1, 1));
  if (!in.rank_known()) return ok_status();
  int64_t& channels = in.dim(first ? 1 : in.rank() - 1);
  ASSIGN_OR_RETURN(channels, ShapeContext::merge_dim(channels, bias.dim(0)));
  c.set_output(0, in);
  return ok_status();
}

Status bias_add_grad_shape(ShapeContext& c) {
  bool first = channels_first(c.attrs());
  ASSIGN_OR_RETURN(Shape in, c.with_rank_at_least(0, first ? 3 : 2));
  c.set_output(0, Shape{dim_or_unknown(in, first ? 1 : -1)});
  return ok_status();
}

// A tensor as [outer, channels, inner].
struct Channels {
  int64_t outer = 1, channels = 0, inner = 1;
};

Result<Channels> channels_of(const Tensor& t, bool first) {
  const Shape& s = t.shape();
  if (s.rank() < 2) return invalid_argument("Input tensor must be at least 2D: " + s.to_string());
  if (first && s.rank() < 3) return invalid_argument("Input tensor must be at least 3D for NCHW: " + s.to_string());
  int at = first ? 1 : s.rank() - 1;
  Channels ch{1, s.dim(at), 1};
  if (t.num_elements() == 0) return Channels{0, s.dim(at), 0};
  for (int i = 0; i < at; ++i) ch.outer *= s.dim(i);
  for (int i = at + 1; i < s.rank(); ++i) ch.inner *= s.dim(i);
  return ch;
}

// Sums are kept in a wider type where there is one.
template <class T>
struct SumType {
  using type = T;
};
template <>
struct SumType<float> {
  using type = double;
};
template <>
struct SumType<half> {
  using type = float;
};
template <>
struct SumType<bfloat16> {
  using type = float;
};
template <>
struct SumType<complex64> {
  using type = complex128;
};

// sums[k] += every pitch-th element from in[k] on, for `kVectors` vectors of k, whose sums stay in registers.
template <int kVectors, int kBytes, class T, class S>
EMPLACE_INLINE void add_vectors(const T* in, int64_t rows, int64_t pitch, S* sums) {
  constexpr int kLanes = kBytes / sizeof(S);
  typedef S Sum __attribute__((vector_size(kBytes)));
  typedef T Value __attribute__((vector_size(kLanes * sizeof(T))));
  Sum sum[kVectors];
#pragma GCC unroll 8
  for (int j = 0; j < kVectors; ++j) std::memcpy(&sum[j], sums + j * kLanes, sizeof(Sum));
  for (int64_t r = 0; r < rows; ++r, in += pitch) {
#pragma GCC unroll 8
    for (int j = 0; j < kVectors; ++j) {
      Value value;
      std::memcpy(&value, in + j * kLanes, sizeof(Value));
      sum[j] += __builtin_convertvector(value, Sum);
    }
  }
#pragma GCC unroll 8
  for (int j = 0; j < kVectors; ++j) std::memcpy(sums + j * kLanes, &sum[j], sizeof(Sum));
}

// The same for any number of k. `kBytes`: of a register, which g++ 12 needs to know to keep a vector there.
template <int kBytes, class T, class S>
EMPLACE_INLINE void add_rows_body(const T* in, int64_t rows, int64_t pitch, S* sums, int64_t n) {
  int64_t first = 0;
  if constexpr (std::is_floating_point_v<T>) {
    constexpr int64_t kLanes = kBytes / sizeof(S);
    for (; first + 8 * kLanes <= n; first += 8 * kLanes) add_vectors<8, kBytes>(in + first, rows, pitch, sums + first);
    for (; first + kLanes <= n; first += kLanes) add_vectors<1, kBytes>(in + first, rows, pitch, sums + first);
  }
  if (first == n) return;
  for (int64_t r = 0; r < rows; ++r, in += pitch) {
#pragma GCC ivdep
    for (int64_t k = first; k < n; ++k) sums[k] = add(sums[k], static_cast<S>(in[k]));
  }
}
template <class T, class S>
void add_rows_base(const T* in, int64_t rows, int64_t pitch, S* sums, int64_t n) {
  add_rows_body<16>(in, rows, pitch, sums, n);
}
template <class T, class S>
EMPLACE_TARGET_V3 void add_rows_v3(const T* in, int64_t rows, int64_t pitch, S* sums, int64_t n) {
  add_rows_body<32>(in, rows, pitch, sums, n);
}
template <class T, class S>
EMPLACE_TARGET_V4 void add_rows_v4(const T* in, int64_t rows, int64_t pitch, S* sums, int64_t n) {
  add_rows_body<64>(in, rows, pitch, sums, n);
}
template <class T, class S>
void add_rows(const T* in, int64_t rows, int64_t pitch, S* sums, int64_t n) {
  if constexpr (std::is_floating_point_v<T>) {
    for_isa(add_rows_base<T, S>, add_rows_v3<T, S>, add_rows_v4<T, S>)(in, rows, pitch, sums, n);
  } else {
    add_rows_base<T, S>(in, rows, pitch, sums, n);
  }
}

// Channels innermost: whole rows are added, in blocks of rows that workers share; then the blocks' sums in their order.
template <class T>
void sum_rows(KernelContext& c, const Channels& ch) {
  using S = typename SumType<T>::type;
  constexpr int64_t kRows = 512;
  const T* in = c.in<T>(0);
  T* out = c.out<T>(0);
  const int64_t blocks = std::max<int64_t>(1, (ch.outer + kRows - 1) / kRows);
  ScratchVector<S> sums(static_cast<size_t>(blocks * ch.channels));
  c.parallel_for(blocks, 0.1 * static_cast<double>(kRows * ch.channels), [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      const int64_t rows = std::min(kRows, ch.outer - b * kRows);
      add_rows(in + b * kRows * ch.channels, rows, ch.channels, sums.data() + b * ch.channels, ch.channels);
    }
  });
  if (blocks > 1) add_rows(sums.data() + ch.channels, blocks - 1, ch.channels, sums.data(), ch.channels);
  for (int64_t k = 0; k < ch.channels; ++k) out[k] = static_cast<T>(sums[static_cast<size_t>(k)]);
}

template <class T>
void sum_channels(KernelContext& c, const Channels& ch) {
  using S = typename SumType<T>::type;
  if (ch.inner == 1) return sum_rows<T>(c, ch);
  const T* in = c.in<T>(0);
  T* out = c.out<T>(0);
  double cost = 0.2 * static_cast<double>(ch.outer) * static_cast<double>(ch.inner);
  c.parallel_for(ch.channels, cost, [&](int64_t begin, int64_t end) {
    ScratchVector<S> sums(static_cast<size_t>(end - begin));
    for (int64_t r = 0; r < ch.outer; ++r) {
      const T* from = in + (r * ch.channels + begin) * ch.inner;
      for (size_t k = 0; k < sums.size(); ++k) {
        S sum = sums[k];
        for (int64_t i = 0; i < ch.inner; ++i) sum = add(sum, static_cast<S>(*from++));
        sums[k] = sum;
      }
    }
    for (size_t k = 0; k < sums.size(); ++k) out[begin + static_cast<int64_t>(k)] = static_cast<T>(sums[k]);
  });
}

template <class T>
class BiasAddGrad final : public Kernel {
 public:
  explicit BiasAddGrad(const KernelInit& init) : first_(channels_first(init.attrs)) {}
  Status run(KernelContext& c) override {
    ASSIGN_OR_RETURN(Channels ch, channels_of(c.input(0), first_));
    RETURN_IF_ERROR(ensure_output(c, 0, Shape{ch.channels}));
    sum_channels<T>(c, ch);
    return ok_status();
  }

 private:
  bool first_;
};

/// BiasAdd is an addition with broadcasting, in which the bias may stand in another dimension than the last.
struct AddBias {
  static constexpr ElementStep kStep = ElementStep::kAdd;
  template <class T>
  EMPLACE_INLINE static T apply(T a, T b) {
    return add(a, b);
  }
};

template <bool kFirst>
Status place_bias(const KernelContext& c, std::span<Shape> inputs) {
  ASSIGN_OR_RETURN(Channels ch, channels_of(c.input(0), kFirst));
  const Shape& bias = c.input(1).shape();
  if (bias.rank() != 1) return invalid_argument("Biases must be 1D: " + bias.to_string());
  if (bias.dim(0) != ch.channels) {
    return invalid_argument(cat("Must provide as many biases as the ", kFirst ? "channel" : "last",
                                " dimension of the input tensor: ", bias.to_string(), " vs. ",
                                c.input(0).shape().to_string()));
  }
  for (int d = 2; kFirst && d < inputs[0].rank(); ++d) inputs[1].add_dim(1);
  return ok_status();
}

Result<std::unique_ptr<Kernel>> make_bias_add(const KernelInit& init) {
  ElementwiseCode code =
      elementwise_code<AddBias, float, double, int32_t, int64_t, uint64_t, complex64, complex128>(init.input_types[0]);
  code.adapt_shapes = channels_first(init.attrs) ? place_bias<true> : place_bias<false>;
  return make_elementwise(init, std::move(code));
}

OpDef bias_add(std::string_view name) {
  return OpDef(name)
      .doc("Adds one bias to each channel.")
      .shape(bias_add_shape)
      .may_overwrite_input()
      .cpu(kNumbers, make_bias_add)
      .sample("value=f32[2,3,4] uniform(-2,2); bias=f32[4] uniform(-2,2)");
}

Status bias_add_gradient(GradientContext& g) {
  g.set(0, g.grad(0));
  g.set(1, g.add("BiasAddGrad", {g.grad(0)}, g.copy_attrs({"data_format"})));
  return g.status();
}

// Each channel's gradient is that of every element of it.
Status bias_add_grad_gradient(GradientContext& g) {
  const bool first = channels_first(g.attrs());
  Value shape = g.shape_of(g.input(0)), channels = g.shape_of(g.grad(0)), one = g.ints({1}, "concat/one");
  auto ones_for = [&](Value part) { return g.ones(g.shape_of(part), DType::kInt32); };
  Value before = first ? g.slice(shape, 0, 1) : g.slice(shape, 0, -1), after = first ? g.slice(shape, 2) : Value{};
  std::vector<Value> form = {ones_for(before), channels}, counts = {before, one};
  if (first) form.push_back(ones_for(after)), counts.push_back(after);
  g.set(0, g.add("Tile", {g.reshape(g.grad(0), g.concat(form)), g.concat(counts)}));
  return g.status();
}

}  // namespace

OpDef bias_add_op() { return bias_add("BiasAdd").gradient(bias_add_gradient); }
OpDef bias_add_v1_op() { return bias_add("BiasAddV1").gradient(bias_add_gradient); }
OpDef bias_add_grad_op() {
  // Signed integers wrap as unsigned ones do, so one kernel serves both.
  return OpDef("BiasAddGrad")
      .doc("The sum of each channel.")
      .shape(bias_add_grad_shape)
      .cpu<float>(make<BiasAddGrad<float>>)
      .cpu<double>(make<BiasAddGrad<double>>)
      .cpu<half>(make<BiasAddGrad<half>>)
      .cpu<bfloat16>(make<BiasAddGrad<bfloat16>>)
      .cpu<complex64>(make<BiasAddGrad<complex64>>)
      .cpu<complex128>(make<BiasAddGrad<complex128>>)
      .cpu(DTypeSet{DType::kInt8, DType::kUInt8}, make<BiasAddGrad<uint8_t>>)
      .cpu(DTypeSet{DType::kInt16, DType::kUInt16}, make<BiasAddGrad<uint16_t>>)
      .cpu(DTypeSet{DType::kInt32, DType::kUInt32}, make<BiasAddGrad<uint32_t>>)
      .cpu(DTypeSet{DType::kInt64, DType::kUInt64}, make<BiasAddGrad<uint64_t>>)
      .gradient(bias_add_grad_gradient);
}

}  // namespace emplace
