// StochasticCastToInt: numbers rounded up or down at random, the likelier the nearer.
#include <cmath>
#include <limits>

#include "core/base/cat.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/random/random_state.h"

namespace emplace {
namespace {

Status stochastic_cast_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Shape key, c.with_rank(1, 1));
  ASSIGN_OR_RETURN(const Shape counter, c.with_rank(2, 1));
  RETURN_IF_ERROR(c.with_rank(3, 0).take_status());
  RETURN_IF_ERROR(require_dim(dim_or_unknown(key, 0), 1).take_status());
  c.set_output(0, c.input(0));
  return ok_status();
}

/// How TensorFlow goes through the elements: `packet` of them draw together, where a whole chunk of packets is left.
template <class T, class Out>
constexpr int kPacket = std::is_same_v<Out, int32_t>&& std::is_same_v<T, float>    ? 8
                        : std::is_same_v<Out, int32_t>&& std::is_same_v<T, double> ? 4
                                                                                   : 0;
constexpr int64_t kChunk = 8;

template <class T, class Out>
class StochasticRounding {
  using W = PhiloxWide<T>;
  static constexpr int kGroup = kPhiloxGroup<T>;
  static W rounded(W x) { return static_cast<W>(static_cast<T>(x)); }

 public:
  explicit StochasticRounding(const PhiloxStream& stream)
      : stream_(stream),
        low_(rounded(static_cast<W>(std::numeric_limits<Out>::min()))),
        high_(rounded(static_cast<W>(std::numeric_limits<Out>::max()))) {}

  void run(const T* in, Out* out, int64_t n) {
    int64_t i = 0;
    if constexpr (kPacket < T, Out >> 0) {
      for (; i < n / kChunk * kChunk; i += kPacket<T, Out>) {
        draw();
        for (int k = 0; k < kPacket<T, Out>; ++k) {
          const auto x = static_cast<W>(in[i + k]);
          const W drawn = drawn_[k % kGroup];
          out[i + k] = as_integer(plain(x) ? limited(x) : std::floor(x < 0 ? x + drawn : x + (W(1) - drawn)));
        }
      }
    }
    for (; i < n; ++i) {
      const auto x = static_cast<W>(in[i]);
      if (plain(x)) {
        out[i] = as_integer(limited(x));
        continue;
      }
      draw();
      out[i] = as_integer(std::floor(x < 0 ? rounded(x + drawn_[0]) : rounded(rounded(x + W(1)) - drawn_[0])));
    }
  }

 private:
  /// Nothing is rounded: no number, beyond the limits, or an integer.
  bool plain(W x) const { return !(x > low_ && x < high_) || std::floor(x) == x; }
  W limited(W x) const { return std::isnan(x) ? W(0) : x >= high_ ? high_ : x <= low_ ? low_ : x; }
  /// What no int32 has becomes the least one, as the processor has it.
  static Out as_integer(W x) {
    constexpr double kEnd = 0x1p31;
    const auto wide = static_cast<double>(x);
    return static_cast<Out>(wide >= kEnd || wide < -kEnd ? std::numeric_limits<int32_t>::min()
                                                         : static_cast<int32_t>(wide));
  }
  void draw() { uniform_group<T>(stream_, block_++, drawn_); }

  const PhiloxStream stream_;
  uint64_t block_ = 0;
  W drawn_[kGroup]{};
  const W low_, high_;
};

template <class T>
Status stochastic_cast(KernelContext& c) {
  const int64_t algorithm = int_at(c.input(3), 0);
  if (algorithm != kPhilox && algorithm != kAutomatic)
    return invalid_argument(cat("Unsupported algorithm id: ", algorithm));
  if (c.input(1).num_elements() != 1 || c.input(2).num_elements() < 1)
    return invalid_argument(cat("key must have one element and counter at least one; got shapes: ",
                                c.input(1).shape().to_string(), " and ", c.input(2).shape().to_string()));
  // TensorFlow takes the counter for the key and the key for the upper half of the counter.
  const PhiloxStream stream(c.in<uint64_t>(2)[0], 0, c.in<uint64_t>(1)[0]);
  RETURN_IF_ERROR(ensure_output(c, 0, c.input(0).shape()));
  const auto run = [&]<class Out>(Out) {
    StochasticRounding<T, Out>(stream).run(c.in<T>(0), c.out<Out>(0), c.input(0).num_elements());
  };
  const DType to = c.output(0).dtype();
  if (to == DType::kInt8) {
    run(int8_t{});
  } else if (to == DType::kInt16) {
    run(int16_t{});
  } else {
    run(int32_t{});
  }
  return ok_status();
}

}  // namespace

OpDef stochastic_cast_to_int_op() {
  return OpDef("StochasticCastToInt")
      .doc("Integers beside floating numbers, the one above or below, drawn from the stream of a key and a counter.")
      .shape(stochastic_cast_shape)
      .kernel_attr("Tin")
      .cpu<float>(stateless<stochastic_cast<float>>)
      .cpu<double>(stateless<stochastic_cast<double>>)
      .cpu<half>(stateless<stochastic_cast<half>>)
      .cpu<bfloat16>(stateless<stochastic_cast<bfloat16>>);
}

}  // namespace emplace
