// Assert stops the graph where a condition fails; Print and PrintV2 show tensors on stderr while the graph runs.
#include <algorithm>
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

/// What tf.print has made, on stderr whatever stream it asks for: stdout is the results'. A file is none of them.
class PrintV2 final : public Kernel {
 public:
  PrintV2(std::string end, bool is_file) : end_(std::move(end)), is_file_(is_file) {}
  static Result<std::unique_ptr<Kernel>> create(const KernelInit& init) {
    constexpr std::string_view kStreams[] = {"stdout", "stderr", "log(info)", "log(warning)", "log(error)"};
    const std::string& stream = init.attrs.text("output_stream");
    const bool is_file = stream.starts_with("file://");
    if (!is_file && std::find(std::begin(kStreams), std::end(kStreams), stream) == std::end(kStreams))
      return invalid_argument(cat("Unknown output stream: ", stream,
                                  ", it must be one of: log(info), log(warning), log(error), stdout, stderr, or "
                                  "file://PATH"));
    return owned_kernel(new PrintV2(init.attrs.text("end"), is_file));
  }

  Status run(KernelContext& c) override {
    if (c.input(0).shape().rank() != 0)
      return invalid_argument(cat("Input is expected to be scalar, but got ", c.input(0).shape().to_string()));
    if (is_file_) return unimplemented("PrintV2 into a file; write to stderr");
    const std::string text = printable(*c.in<std::string>(0) + end_, LineEnds::kKept);
    std::fwrite(text.data(), 1, text.size(), stderr);
    return ok_status();
  }

 private:
  const std::string end_;
  const bool is_file_;
};

Status print_v2_shape(ShapeContext& c) { return c.with_rank(0, 0).take_status(); }

}  // namespace

OpDef assert_op() {
  return OpDef("Assert")
      .doc("Fails, showing the data, if the condition is false.")
      .traits({.leaves_state = true})  // a step that goes on is none the wiser
      .shape(shape_none)
      .cpu(make<Assert>)
      .not_differentiable();
}
OpDef print_v2_op() {
  return OpDef("PrintV2")
      .doc("Shows a text on stderr.")
      .traits({.leaves_state = true})
      .shape(print_v2_shape)
      .cpu(PrintV2::create);
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
