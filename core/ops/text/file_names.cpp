// Names of files, as savers make them: ShardedFilename; and StaticRegexFullMatch, by which they tell local ones.
#include <cstdio>

#include "core/base/cat.h"
#include "core/base/expression.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"

namespace emplace {
namespace {

Status scalar_output(ShapeContext& c) {
  c.set_output(0, Shape{});
  return ok_status();
}

Status shape_of_input(ShapeContext& c) {
  c.set_output(0, c.input(0));
  return ok_status();
}

Status sharded_filename_cpu(KernelContext& c) {
  for (int i = 0; i < 3; ++i) {
    if (c.input(i).num_elements() != 1)
      return invalid_argument(
          cat("ShardedFilename: input ", i, " must be a scalar, found ", c.input(i).shape().to_string()));
  }
  char numbers[40];
  std::snprintf(numbers, sizeof numbers, "-%05d-of-%05d", *c.in<int32_t>(1), *c.in<int32_t>(2));
  *c.out<std::string>(0) = *c.in<std::string>(0) + numbers;
  return ok_status();
}

/// Of the system's extended regular expressions, which are RE2's as far as savers use them.
class StaticRegexFullMatch final : public Kernel {
 public:
  explicit StaticRegexFullMatch(const KernelInit& init)
      : pattern_(init.attrs.text("pattern")), expression_(pattern_, Expression::Match::kWhole) {}

  Status run(KernelContext& c) override {
    // What begins with a backslash or (? means other things in RE2.
    if (!expression_.sound() || pattern_.find('\\') != std::string::npos || pattern_.find("(?") != std::string::npos)
      return unimplemented(cat("the pattern '", pattern_, "'"));
    for (int64_t i = 0; i < c.input(0).num_elements(); ++i)
      c.out<bool>(0)[i] = expression_.matches(c.in<std::string>(0)[i]);
    return ok_status();
  }

 private:
  std::string pattern_;
  Expression expression_;
};

}  // namespace

OpDef sharded_filename_op() {
  return OpDef("ShardedFilename")
      .doc("BASENAME-00002-of-00005: the name of one of several files.")
      .shape(scalar_output)
      .cpu(stateless<sharded_filename_cpu>)
      .not_differentiable();
}
OpDef static_regex_full_match_op() {
  return OpDef("StaticRegexFullMatch")
      .doc("Does each text match the pattern as a whole?")
      .shape(shape_of_input)
      .cpu(make<StaticRegexFullMatch>)
      .not_differentiable();
}

}  // namespace emplace
