// Assert stops the graph where a condition fails; Print shows tensors on stderr while the graph runs.
#include <cstdio>

#include "core/base/cat.h"
#include "core/base/printable.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/text/summary.h"

namespace emplace {
namespace {

class Assert final : public Kernel {
 public:
  explicit Assert(const KernelInit& init) : summarize_(init.attrs.integer("summarize")) {}
  Status run(KernelContext& c) override {
    if (c.input(0).shape().rank() != 0) {
      return invalid_argument(cat("In[0] should be a scalar: ", c.input(0).shape().to_string()));
    }
    if (*c.in<bool>(0)) return ok_status();
    std::string message = "assertion failed:";
    for (int i = 1; i < c.num_inputs(); ++i) append(message, " [", summarize_value(c.input(i), summarize_), "]");
    return invalid_argument(message);
  }

 private:
  int64_t summarize_;
};

class Print final : public Kernel {
 public:
  explicit Print(const KernelInit& init)
      : message_(init.attrs.text("message")),
        first_n_(init.attrs.integer("first_n")),
        summarize_(init.attrs.integer("summarize")) {}

  Status run(KernelContext& c) override {
    if (first_n_ < 0 || printed_ < first_n_) {
      ++printed_;
      std::string line = message_;
      for (int i = 1; i < c.num_inputs(); ++i) append(line, "[", summarize_value(c.input(i), summarize_), "]");
      line = printable(line) + '\n';
      std::fwrite(line.data(), 1, line.size(), stderr);
    }
    c.forward_output(0, c.input(0));
    return ok_status();
  }

 private:
  std::string message_;
  int64_t first_n_, summarize_, printed_ = 0;
};

}  // namespace

OpDef assert_op() {
  return OpDef("Assert")
      .doc("Fails, showing the data, if the condition is false.")
      .traits({.leaves_state = true})  // a step that goes on is none the wiser
      .shape(shape_none)
      .cpu(make<Assert>)
      .not_differentiable();
}
OpDef print_op() {
  return OpDef("Print")
      .doc("Its input; shows the data on stderr.")
      .traits({.of_sums = OfSums::kKeeps})
      .shape(shape_unchanged)
      .cpu(make<Print>)
      .provides_outputs()
      .gradient(identity_gradient);
}

}  // namespace emplace
