// ReduceJoin: texts joined along axes.
#include <algorithm>

#include "core/base/cat.h"
#include "core/base/scratch_vector.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"

namespace emplace {
namespace {

/// The axes in their order, negative ones resolved.
Result<ScratchVector<int>> join_axes(const Tensor& t, int rank) {
  ScratchVector<int> axes;
  for (int32_t axis : t.flat<int32_t>()) {
    if (axis < -rank || axis >= rank) {
      return out_of_range(cat("Invalid reduction dimension ", axis, " for input with ", rank, " dimension(s)"));
    }
    const int resolved = axis < 0 ? axis + rank : axis;
    if (std::find(axes.begin(), axes.end(), resolved) != axes.end())
      return invalid_argument(cat("Duplicate reduction dimension ", resolved));
    axes.push_back(resolved);
  }
  return axes;
}

Shape joined_shape(const Shape& in, const ScratchVector<int>& axes, bool keeps) {
  Shape out;
  for (int d = 0; d < in.rank(); ++d) {
    const bool joined = std::find(axes.begin(), axes.end(), d) != axes.end();
    if (!joined || keeps) out.add_dim(joined ? 1 : in.dim(d));
  }
  return out;
}

Status reduce_join_shape(ShapeContext& c) {
  const Tensor* value = c.input_value(1);
  if (!value || !c.input(0).rank_known()) return ok_status();
  Result<ScratchVector<int>> axes = join_axes(*value, c.input(0).rank());
  if (!axes.ok()) return invalid_argument(axes.status().message());
  c.set_output(0, joined_shape(c.input(0), *axes, c.attrs().flag("keep_dims")));
  return ok_status();
}

/// Where elements lie that are counted along some dimensions, the first of them fastest.
class Walk {
 public:
  void add(int64_t size, int64_t stride) { sizes_.push_back(size), strides_.push_back(stride); }
  int64_t count() const {
    int64_t n = 1;
    for (int64_t size : sizes_) n *= size;
    return n;
  }
  int64_t offset(int64_t i) const {
    int64_t at = 0;
    for (size_t d = 0; d < sizes_.size(); ++d) at += i % sizes_[d] * strides_[d], i /= sizes_[d];
    return at;
  }

 private:
  ScratchVector<int64_t> sizes_, strides_;
};

class ReduceJoin final : public Kernel {
 public:
  explicit ReduceJoin(const KernelInit& init)
      : keeps_(init.attrs.flag("keep_dims")), separator_(init.attrs.text("separator")) {}

  Status run(KernelContext& c) override {
    const Shape& in = c.input(0).shape();
    ASSIGN_OR_RETURN(const ScratchVector<int> axes, join_axes(c.input(1), in.rank()));
    RETURN_IF_ERROR(ensure_output(c, 0, joined_shape(in, axes, keeps_)));
    ScratchVector<int64_t> strides(static_cast<size_t>(in.rank()), 1);
    for (int d = in.rank() - 1; d-- > 0;)
      strides[static_cast<size_t>(d)] = strides[static_cast<size_t>(d) + 1] * in.dim(d + 1);
    Walk joined, kept;
    for (int axis : axes) joined.add(in.dim(axis), strides[static_cast<size_t>(axis)]);
    for (int d = in.rank(); d-- > 0;) {
      if (std::find(axes.begin(), axes.end(), d) == axes.end()) kept.add(in.dim(d), strides[static_cast<size_t>(d)]);
    }
    const int64_t parts = joined.count();
    for (int64_t i = 0; i < c.output(0).num_elements(); ++i) {
      std::string& out = c.out<std::string>(0)[i];
      out.clear();
      const std::string* from = c.in<std::string>(0) + kept.offset(i);
      for (int64_t part = 0; part < parts; ++part) append(out, part > 0 ? separator_ : "", from[joined.offset(part)]);
    }
    return ok_status();
  }

 private:
  bool keeps_;
  std::string separator_;
};

}  // namespace

OpDef reduce_join_op() {
  return OpDef("ReduceJoin")
      .doc("Texts joined along axes, along the first of them innermost.")
      .shape(reduce_join_shape)
      .cpu(make<ReduceJoin>)
      .value_inputs({1})
      .not_differentiable();
}

}  // namespace emplace
