// Less, LessEqual, Greater, GreaterEqual, Equal, NotEqual, ApproximateEqual.
#include "core/ops/formulas/comparison.h"
#include "core/ops/kit/elementwise.h"

namespace emplace {
namespace {

/// Without incompatible_shape_error nothing is said of a shape that could still turn out incompatible.
bool surely_broadcast(const Shape& a, const Shape& b) {
  if (!a.rank_known() || !b.rank_known()) return false;
  for (int i = 1; i <= std::min(a.rank(), b.rank()); ++i) {
    const int64_t x = a.dim_from_end(i), y = b.dim_from_end(i);
    if (x != 1 && y != 1 && (x < 0 || x != y)) return false;
  }
  return true;
}

Status equality_shape(ShapeContext& c) {
  if (!c.attrs().flag("incompatible_shape_error") && !surely_broadcast(c.input(0), c.input(1))) {
    return shape_unknown(c);
  }
  return shape_broadcast(c);
}

/// Operands that do not broadcast (if that is no error) differ: a single answer.
template <class F>
class Equality final : public Kernel {
 public:
  explicit Equality(const KernelInit& init)
      : elementwise_(make_elementwise(
            init,
            elementwise_code<F, float, double, int32_t, int64_t, uint64_t, bool, complex64, complex128, std::string>(
                init.input_types[0]))) {}
  Status prepare(KernelContext& c) override {
    incompatible_ = !surely_broadcast(c.input(0).shape(), c.input(1).shape());
    return incompatible_ ? ok_status() : elementwise_->prepare(c);
  }
  Status run(KernelContext& c) override {
    if (!incompatible_) return elementwise_->run(c);
    RETURN_IF_ERROR(c.allocate_output(0, Shape{}));
    *c.out<bool>(0) = F::kOfIncompatible;
    return ok_status();
  }
  Tile tile() const override { return incompatible_ ? Tile{} : elementwise_->tile(); }

 private:
  std::unique_ptr<Kernel> elementwise_;
  bool incompatible_ = false;
};

template <class F>
OpDef ordering(std::string_view name, std::string_view doc) {
  return binary_op(name, doc).cpu(kRealNumbers, elementwise<F, float, double, int32_t, int64_t, uint64_t>);
}
template <class F>
OpDef equality(std::string_view name, std::string_view doc) {
  return binary_op(name, doc).shape(equality_shape).cpu(kAllData, make<Equality<F>>);
}

Result<std::unique_ptr<Kernel>> approximately(const KernelInit& init) {
  auto params = std::make_shared<fn::ApproximateEqual>(fn::ApproximateEqual{init.attrs.number("tolerance")});
  return make_elementwise(
      init, elementwise_code<fn::ApproximateEqual, float, double>(init.input_types[0], std::move(params)));
}

}  // namespace

OpDef less_op() { return ordering<fn::Less>("Less", "x < y.").not_differentiable(); }
OpDef less_equal_op() { return ordering<fn::LessEqual>("LessEqual", "x <= y.").not_differentiable(); }
OpDef greater_op() { return ordering<fn::Greater>("Greater", "x > y.").not_differentiable(); }
OpDef greater_equal_op() { return ordering<fn::GreaterEqual>("GreaterEqual", "x >= y.").not_differentiable(); }
OpDef equal_op() { return equality<fn::Equal>("Equal", "x == y.").not_differentiable(); }
OpDef not_equal_op() { return equality<fn::NotEqual>("NotEqual", "x != y.").not_differentiable(); }

OpDef approximate_equal_op() {
  return OpDef("ApproximateEqual")
      .doc("Is |x - y| less than tolerance?")
      .shape(shape_merged)
      .cpu(kFloatDouble, approximately)
      .not_differentiable();
}

}  // namespace emplace
