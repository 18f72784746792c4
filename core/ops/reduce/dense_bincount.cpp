// Bincount, DenseBincount: how often each number occurs, or the sum of its weights, in a vector or in each row.
// HistogramFixedWidth: how many values lie in each of equally wide parts of a range.
#include <algorithm>
#include <type_traits>

#include "core/base/cat.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/reduce/bincount_layout.h"

namespace emplace {
namespace {

Status bincount_shape(ShapeContext& c) {
  const Shape& in = c.input(0);
  RETURN_IF_ERROR(require_rank_at_most(in, 2).take_status());
  ASSIGN_OR_RETURN(const std::optional<int64_t> known, scalar_value(c, 1));
  if (known && *known < 0) return invalid_argument(cat("size (", *known, ") must be non-negative"));
  const int64_t size = known.value_or(-1);
  if (!in.rank_known()) return ok_status();
  c.set_output(0, in.rank() == 2 ? Shape{in.dim(0), size} : Shape{size});
  return ok_status();
}

template <class T>
class DenseBincount final : public Kernel {
 public:
  explicit DenseBincount(const KernelInit& init)
      : of_all_(init.op == "Bincount"), binary_(!of_all_ && init.attrs.flag("binary_output")) {}

  Status run(KernelContext& c) override {
    ASSIGN_OR_RETURN(const BincountLayout layout, of_all_ ? BincountLayout::of_all(c) : BincountLayout::of(c, binary_));
    RETURN_IF_ERROR(ensure_output(c, 0, layout.out));
    fill_zeros(*c.parallel_, c.output(0));
    T* out = c.out<T>(0);
    for (int64_t i = 0; i < c.input(0).num_elements(); ++i) {
      const int64_t number = int_at(c.input(0), i);
      if (number < 0) return invalid_argument("Input arr must be non-negative!");
      if (number >= layout.size) continue;
      T& at = out[i / layout.row * layout.size + number];
      at = binary_ ? T(1) : static_cast<T>(at + (layout.weighted ? c.in<T>(2)[i] : T(1)));
    }
    return ok_status();
  }

 private:
  const bool of_all_, binary_;
};

Status bincount_of_all_shape(ShapeContext& c) {
  RETURN_IF_ERROR(c.with_rank(1, 0).take_status());
  ASSIGN_OR_RETURN(const std::optional<int64_t> size, scalar_value(c, 1));
  if (size && *size < 0) return invalid_argument(cat("size (", *size, ") must be non-negative"));
  c.set_output(0, Shape{size.value_or(-1)});
  return ok_status();
}

Status histogram_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Shape range, c.with_rank(1, 1));
  RETURN_IF_ERROR(ShapeContext::merge_dim(range.dim(0), 2).take_status());
  RETURN_IF_ERROR(c.with_rank(2, 0).take_status());
  ASSIGN_OR_RETURN(const std::optional<int64_t> bins, scalar_value(c, 2));
  if (bins && *bins <= 0) return invalid_argument(cat("Requires nbins > 0: ", *bins));
  c.set_output(0, Shape{bins.value_or(-1)});
  return ok_status();
}

/// How far x is above `low`, which is not above it: exact for integers, whose difference may not fit into their type.
template <class T>
double above(T x, T low) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<double>(static_cast<std::make_unsigned_t<T>>(x) - static_cast<std::make_unsigned_t<T>>(low));
  else
    return static_cast<double>(x - low);
}

template <class T>
Status histogram_cpu(KernelContext& c) {
  const int64_t bins = int_at(c.input(2), 0), n = c.input(0).num_elements();
  const T low = c.in<T>(1)[0], high = c.in<T>(1)[1];
  if (bins <= 0) return invalid_argument(cat("nbins should be a positive number, but got '", bins, "'"));
  if (!(low < high))
    return invalid_argument(
        cat("value_range should satisfy value_range[0] < value_range[1], but got '[", +low, ", ", +high, "]'"));
  RETURN_IF_ERROR(ensure_output(c, 0, Shape{bins}));
  fill_zeros(*c.parallel_, c.output(0));
  const double step = above(high, low) / static_cast<double>(bins);
  const auto count = [&](auto* out) -> Status {
    for (int64_t i = 0; i < n; ++i) {
      const T x = c.in<T>(0)[i];
      if (x != x) return invalid_argument("Histogram values must not contain NaN");
      const double place = above(std::max(x, low), low) / step;  // NaN where the range is infinite: the first part
      ++out[place > 0 ? static_cast<int64_t>(std::min(place, static_cast<double>(bins - 1))) : 0];
    }
    return ok_status();
  };
  return with_index(c.output(0).dtype(), [&]<class I>(I) { return count(c.out<I>(0)); });
}

}  // namespace

OpDef histogram_fixed_width_op() {
  return OpDef("HistogramFixedWidth")
      .doc(
          "How many values lie in each of nbins equally wide parts of a range; the outer parts have what lies outside.")
      .shape(histogram_shape)
      .kernel_attr("T")
      .value_inputs({2})
      .cpu<float>(stateless<histogram_cpu<float>>)
      .cpu<double>(stateless<histogram_cpu<double>>)
      .cpu<int32_t>(stateless<histogram_cpu<int32_t>>)
      .cpu<int64_t>(stateless<histogram_cpu<int64_t>>)
      .not_differentiable();
}

OpDef bincount_op() {
  return OpDef("Bincount")
      .doc("How often each number below size occurs, or the sum of its weights.")
      .shape(bincount_of_all_shape)
      .kernel_attr("T")
      .value_inputs({1})
      .cpu<float>(make<DenseBincount<float>>)
      .cpu<double>(make<DenseBincount<double>>)
      .cpu<int32_t>(make<DenseBincount<int32_t>>)
      .cpu<int64_t>(make<DenseBincount<int64_t>>);
}

OpDef dense_bincount_op() {
  return OpDef("DenseBincount")
      .doc("How often each number below size occurs in a vector or in each row, or the sum of its weights.")
      .shape(bincount_shape)
      .kernel_attr("T")
      .value_inputs({1})
      .cpu<float>(make<DenseBincount<float>>)
      .cpu<double>(make<DenseBincount<double>>)
      .cpu<int32_t>(make<DenseBincount<int32_t>>)
      .cpu<int64_t>(make<DenseBincount<int64_t>>)
      .not_differentiable();
}

}  // namespace emplace
