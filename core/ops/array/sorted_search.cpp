// Bucketize, LowerBound, UpperBound: where values belong among sorted ones.
#include <algorithm>

#include "core/op/op_def.h"
#include "core/ops/array/search_arguments.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/numeric.h"
#include "core/ops/kit/shape_math.h"

namespace emplace {
namespace {

template <class T>
class Bucketize final : public Kernel {
 public:
  explicit Bucketize(std::vector<float> boundaries) : boundaries_(std::move(boundaries)) {}
  Status run(KernelContext& c) override {
    const T* in = c.in<T>(0);
    auto* out = c.out<int32_t>(0);
    c.parallel_for(c.output(0).num_elements(), 20, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const auto above = [](T value, float boundary) {
          return static_cast<Wide>(value) < static_cast<Wide>(boundary);
        };
        const auto at = std::upper_bound(boundaries_.begin(), boundaries_.end(), in[i], above);
        out[i] = static_cast<int32_t>(at - boundaries_.begin());
      }
    });
    return ok_status();
  }

 private:
  // As C++ compares such a value with a float.
  using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;
  const std::vector<float> boundaries_;
};

Result<std::unique_ptr<Kernel>> bucketize_kernel(const KernelInit& init) {
  ASSIGN_OR_RETURN(std::vector<float> boundaries, bucket_boundaries(init));
  switch (init.attrs.type("T")) {
    case DType::kInt32:
      return owned_kernel(new Bucketize<int32_t>(std::move(boundaries)));
    case DType::kInt64:
      return owned_kernel(new Bucketize<int64_t>(std::move(boundaries)));
    case DType::kFloat:
      return owned_kernel(new Bucketize<float>(std::move(boundaries)));
    default:
      return owned_kernel(new Bucketize<double>(std::move(boundaries)));
  }
}

Status bound_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Shape values, c.with_rank(1, 2));
  RETURN_IF_ERROR(c.with_rank(0, 2).take_status());
  c.set_output(0, values);
  return ok_status();
}

template <class T>
bool is_less(T a, T b) {
  using Wide = std::conditional_t<std::is_same_v<T, half> || std::is_same_v<T, bfloat16>, float, T>;
  return static_cast<Wide>(a) < static_cast<Wide>(b);
}

template <class T, bool kLower>
Status bound_cpu(KernelContext& c) {
  RETURN_IF_ERROR(check_search_rows(c));
  const int64_t length = c.input(0).shape().dim(1), per_row = c.input(1).shape().dim(1);
  const T *sorted = c.in<T>(0), *values = c.in<T>(1);
  const auto search = [&](auto* out) {
    c.parallel_for(c.output(0).num_elements(), 30, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T *first = sorted + i / per_row * length, *last = first + length;
        const T* at = kLower ? std::lower_bound(first, last, values[i], is_less<T>)
                             : std::upper_bound(first, last, values[i], is_less<T>);
        out[i] = static_cast<std::remove_pointer_t<decltype(out)>>(at - first);
      }
    });
  };
  c.output(0).dtype() == DType::kInt64 ? search(c.out<int64_t>(0)) : search(c.out<int32_t>(0));
  return ok_status();
}

template <bool kLower>
OpDef bound_op(std::string_view name, std::string_view doc) {
  return OpDef(name)
      .doc(doc)
      .shape(bound_shape)
      .kernel_attr("T")
      .cpu<float>(stateless<bound_cpu<float, kLower>>)
      .template cpu<half>(stateless<bound_cpu<half, kLower>>)
      .template cpu<bfloat16>(stateless<bound_cpu<bfloat16, kLower>>)
      .template cpu<double>(stateless<bound_cpu<double, kLower>>)
      .template cpu<int8_t>(stateless<bound_cpu<int8_t, kLower>>)
      .template cpu<int16_t>(stateless<bound_cpu<int16_t, kLower>>)
      .template cpu<uint8_t>(stateless<bound_cpu<uint8_t, kLower>>)
      .template cpu<uint16_t>(stateless<bound_cpu<uint16_t, kLower>>)
      .template cpu<uint32_t>(stateless<bound_cpu<uint32_t, kLower>>)
      .template cpu<uint64_t>(stateless<bound_cpu<uint64_t, kLower>>)
      .template cpu<int32_t>(stateless<bound_cpu<int32_t, kLower>>)
      .template cpu<int64_t>(stateless<bound_cpu<int64_t, kLower>>)
      .not_differentiable();
}

}  // namespace

OpDef bucketize_op() {
  return OpDef("Bucketize")
      .doc("How many of the boundaries are at or below each value.")
      .shape(shape_unchanged)
      .kernel_attr("T")
      .cpu(DTypeSet{DType::kInt32, DType::kInt64, DType::kFloat, DType::kDouble}, bucketize_kernel)
      .not_differentiable();
}
OpDef lower_bound_op() {
  return bound_op<true>("LowerBound", "The first place in a sorted row at which a value fits.");
}
OpDef upper_bound_op() {
  return bound_op<false>("UpperBound", "The last place in a sorted row at which a value fits.");
}

}  // namespace emplace
