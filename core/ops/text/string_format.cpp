// StringFormat: a template with tensors in its places, as tf.print writes them.
#include "core/base/cat.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/text/summary.h"

namespace emplace {
namespace {

class StringFormat final : public Kernel {
 public:
  explicit StringFormat(const KernelInit& init)
      : template_(init.attrs.text("template")),
        placeholder_(init.attrs.text("placeholder")),
        ends_(init.attrs.integer("summarize")) {}

  Status run(KernelContext& c) override {
    std::string out;
    size_t at = 0;
    for (int i = 0; i < c.num_inputs(); ++i) {
      const size_t place = placeholder_.empty() ? std::string::npos : template_.find(placeholder_, at);
      if (place == std::string::npos) return wrong_count(i, c.num_inputs());
      out.append(template_, at, place - at).append(print_value(c.input(i), ends_));
      at = place + placeholder_.size();
    }
    if (!placeholder_.empty() && template_.find(placeholder_, at) != std::string::npos)
      return wrong_count(c.num_inputs() + 1, c.num_inputs());
    *c.out<std::string>(0) = out.append(template_, at);
    return ok_status();
  }

 private:
  Status wrong_count(int places, int inputs) const {
    return invalid_argument(cat("num placeholders in template and num inputs must match: ", places, " vs. ", inputs));
  }

  std::string template_, placeholder_;
  int64_t ends_;
};

}  // namespace

OpDef string_format_op() {
  return OpDef("StringFormat")
      .doc("A text in which each placeholder is replaced by a tensor, printed with so many elements at its ends.")
      .shape(shape_scalar)
      .cpu(make<StringFormat>)
      .not_differentiable();
}

}  // namespace emplace
