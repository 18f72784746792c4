// StringJoin: texts joined element by element.
#include <vector>

#include "core/base/cat.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"

namespace emplace {
namespace {

Status string_join_shape(ShapeContext& c) {
  bool all_scalars = true;
  Shape out = Shape::unknown();
  for (int i = 0; i < c.num_inputs(); ++i) {
    const Shape& in = c.input(i);
    if (in.rank_known() && in.rank() == 0) continue;
    all_scalars = false;
    if (!in.rank_known()) continue;
    ASSIGN_OR_RETURN(out, ShapeContext::merge(out, in));
  }
  c.set_output(0, all_scalars ? Shape{} : out);
  return ok_status();
}

class StringJoin final : public Kernel {
 public:
  explicit StringJoin(const KernelInit& init) : separator_(init.attrs.text("separator")) {}

  Status run(KernelContext& c) override {
    Shape shape;
    for (int i = 0; i < c.num_inputs(); ++i) {
      const Shape& in = c.input(i).shape();
      if (in.rank() == 0) continue;
      if (shape.rank() > 0 && !(shape == in)) {
        return invalid_argument(cat("Input shapes do not match: ", shape.to_string(), " vs. ", in.to_string()));
      }
      shape = in;
    }
    RETURN_IF_ERROR(ensure_output(c, 0, shape));
    for (int64_t e = 0; e < c.output(0).num_elements(); ++e) {
      std::string& out = c.out<std::string>(0)[e];
      out.clear();
      for (int i = 0; i < c.num_inputs(); ++i) {
        if (i > 0) out += separator_;
        out += c.in<std::string>(i)[c.input(i).shape().rank() == 0 ? 0 : e];
      }
    }
    return ok_status();
  }

 private:
  std::string separator_;
};

}  // namespace

OpDef string_join_op() {
  return OpDef("StringJoin")
      .doc("The inputs' texts one after the other, with a separator; scalars serve every element.")
      .shape(string_join_shape)
      .cpu(make<StringJoin>)
      .not_differentiable();
}

}  // namespace emplace
