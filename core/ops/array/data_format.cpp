// DataFormatDimMap, DataFormatVecPermute: numbers of dimensions, and values for each, of one data format in another.
#include "core/op/op_def.h"
#include "core/ops/array/format_permutation.h"
#include "core/ops/kit/element.h"

namespace emplace {
namespace {

template <class T>
class DimMap final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> create(const KernelInit& init) {
    ASSIGN_OR_RETURN(const FormatPermutation p, FormatPermutation::of(init.attrs));
    return owned_kernel(new DimMap(p));
  }
  Status run(KernelContext& c) override {
    const T* x = c.in<T>(0);
    T* y = c.out<T>(0);
    c.parallel_for(c.output(0).num_elements(), 2.0, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T axis = static_cast<T>(x[i] % p_.size);  // also of numbers beyond the dimensions
        y[i] = static_cast<T>(p_.place[static_cast<size_t>(axis < 0 ? axis + p_.size : axis)]);
      }
    });
    return ok_status();
  }

 private:
  explicit DimMap(const FormatPermutation& p) : p_(p) {}
  const FormatPermutation p_;
};

class VecPermute final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> create(const KernelInit& init) {
    ASSIGN_OR_RETURN(const FormatPermutation p, FormatPermutation::of(init.attrs));
    return owned_kernel(new VecPermute(init.attrs, p));
  }
  Status run(KernelContext& c) override {
    const Shape& shape = c.input(0).shape();
    ASSIGN_OR_RETURN(const FormatPermutation p, p_.of_rows(attrs_, shape));
    RETURN_IF_ERROR(ensure_output(c, 0, shape));
    const int64_t columns = shape.num_elements() / p.size;
    for (int i = 0; i < p.size; ++i) {
      copy_elements(c.input(0).dtype(), element_at(c.input(0), i * columns),
                    element_at(c.output(0), p.place[static_cast<size_t>(i)] * columns), columns);
    }
    return ok_status();
  }

 private:
  VecPermute(const Attrs& attrs, const FormatPermutation& p) : attrs_(attrs), p_(p) {}
  const Attrs attrs_;
  const FormatPermutation p_;
};

}  // namespace

OpDef data_format_dim_map_op() {
  return OpDef("DataFormatDimMap")
      .doc("Numbers of dimensions in one data format, of the same dimensions in another.")
      .shape(shape_unchanged)
      .cpu<int32_t>(DimMap<int32_t>::create)
      .cpu<int64_t>(DimMap<int64_t>::create);
}
OpDef data_format_vec_permute_op() {
  return OpDef("DataFormatVecPermute")
      .doc("A row for each dimension of one data format, in the order of another.")
      .shape(shape_unchanged)
      .cpu(DTypeSet{DType::kInt32, DType::kInt64}, VecPermute::create);
}

}  // namespace emplace
