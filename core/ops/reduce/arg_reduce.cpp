// ArgMax and ArgMin: where along one axis the largest or smallest element is; the first of equals. NaN is passed over.
#include "core/base/cat.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/finite.h"
#include "core/ops/kit/numeric.h"

namespace emplace {
namespace {

Status arg_shape(ShapeContext& c) {
  const Shape& input = c.input(0);
  const Tensor* axis = c.input_value(1);
  const Shape& axis_shape = c.input(1);
  if (axis_shape.rank_known() && axis_shape.rank() != 0) {
    return invalid_argument(cat("Shape must be rank 0 but is rank ", axis_shape.rank()));
  }
  if (!input.rank_known()) return shape_unknown(c);
  if (input.rank() <= 1) return shape_scalar(c);
  if (!axis) {
    c.set_output(0, Shape::unknown_dims(input.rank() - 1));
    return ok_status();
  }
  const int64_t at = int_at(*axis, 0), wrapped = at < 0 ? at + input.rank() : at;
  if (wrapped < 0 || wrapped >= input.rank()) {
    return invalid_argument(cat("Dimension (", at, ") must be in the range [", -input.rank(), ", ", input.rank(),
                                "), where ", input.rank(), " is the number of dimensions in the input."));
  }
  Shape out;
  for (int d = 0; d < input.rank(); ++d) {
    if (d != wrapped) out.add_dim(input.dim(d));
  }
  c.set_output(0, std::move(out));
  return ok_status();
}

template <class T, bool kMax>
bool beyond(T a, T b) {
  if constexpr (kIsHalf<T>)
    return beyond<float, kMax>(static_cast<float>(a), static_cast<float>(b));
  else
    return kMax ? a > b : a < b;
}

/// Of `size` elements that lie `step` apart. As in TensorFlow, only what is beyond the last finite number on the other
/// side is ever found: of -inf and the lowest number ArgMax takes the first place, whatever stands there.
template <class T, bool kMax>
int64_t index_of_best(const T* line, int64_t size, int64_t step) {
  int64_t best = 0;
  T best_value = kMax ? Finite<T>::lowest() : Finite<T>::highest();
  for (int64_t j = 0; j < size; ++j) {
    const T value = line[j * step];
    if (!beyond<T, kMax>(value, best_value)) continue;  // nor is NaN beyond anything
    best = j;
    best_value = value;
  }
  return best;
}

void store_index(Tensor& to, int64_t i, int64_t index) {
  switch (to.dtype()) {
    case DType::kInt32:
      to.data<int32_t>()[i] = static_cast<int32_t>(index);
      break;
    case DType::kInt16:
      to.data<int16_t>()[i] = static_cast<int16_t>(index);
      break;
    case DType::kUInt16:
      to.data<uint16_t>()[i] = static_cast<uint16_t>(index);
      break;
    default:
      to.data<int64_t>()[i] = index;
      break;
  }
}

template <class T, bool kMax>
class ArgReduce final : public Kernel {
 public:
  explicit ArgReduce(const KernelInit&) {}

  Status prepare(KernelContext& c) override {
    const Shape& shape = c.input(0).shape();
    const int64_t axis = int_at(c.input(1), 0), wrapped = axis < 0 ? axis + shape.rank() : axis;
    if (wrapped < 0 || wrapped >= shape.rank()) {
      return invalid_argument(
          cat("Expected dimension in the range [", -shape.rank(), ", ", shape.rank(), "), but got ", axis));
    }
    size_ = shape.dim(static_cast<int>(wrapped));
    if (size_ == 0) return invalid_argument(cat("Reduction axis ", axis, " is empty in shape ", shape.to_string()));
    inner_ = 1;
    for (int d = static_cast<int>(wrapped) + 1; d < shape.rank(); ++d) inner_ *= shape.dim(d);
    return ok_status();
  }

  Status run(KernelContext& c) override {
    const T* x = c.in<T>(0);
    Tensor& y = c.output(0);
    // The middle one of three dimensions.
    c.parallel_for(y.num_elements(), static_cast<double>(size_) + 5, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        store_index(y, i, index_of_best<T, kMax>(x + i / inner_ * size_ * inner_ + i % inner_, size_, inner_));
      }
    });
    return ok_status();
  }

 private:
  int64_t size_ = 0, inner_ = 1;
};

template <bool kMax>
OpDef arg_op(std::string_view name, std::string_view doc) {
  return OpDef(name)
      .doc(doc)
      .shape(arg_shape)
      .value_inputs({1})
      .template cpu<float>(make<ArgReduce<float, kMax>>)
      .template cpu<double>(make<ArgReduce<double, kMax>>)
      .template cpu<half>(make<ArgReduce<half, kMax>>)
      .template cpu<bfloat16>(make<ArgReduce<bfloat16, kMax>>)
      .template cpu<int8_t>(make<ArgReduce<int8_t, kMax>>)
      .template cpu<int16_t>(make<ArgReduce<int16_t, kMax>>)
      .template cpu<int32_t>(make<ArgReduce<int32_t, kMax>>)
      .template cpu<int64_t>(make<ArgReduce<int64_t, kMax>>)
      .template cpu<uint8_t>(make<ArgReduce<uint8_t, kMax>>)
      .template cpu<uint16_t>(make<ArgReduce<uint16_t, kMax>>)
      .template cpu<uint32_t>(make<ArgReduce<uint32_t, kMax>>)
      .template cpu<uint64_t>(make<ArgReduce<uint64_t, kMax>>)
      .template cpu<bool>(make<ArgReduce<bool, kMax>>)
      .sample("input=f32[3,4] uniform(-2,2); dimension=1")
      .sample("input=f32[3,4] uniform(-2,2); dimension=0");
}

}  // namespace

OpDef arg_max_op() {
  return arg_op<true>("ArgMax", "The index of the largest element along an axis.").not_differentiable();
}
OpDef arg_min_op() {
  return arg_op<false>("ArgMin", "The index of the smallest element along an axis.").not_differentiable();
}

}  // namespace emplace
