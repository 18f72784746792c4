// ShardedFilename: names of files, as savers make them.
#include <cstdio>

#include "core/base/cat.h"
#include "core/op/op_def.h"

namespace emplace {
namespace {

Status scalar_output(ShapeContext& c) {
  c.set_output(0, Shape{});
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

}  // namespace

OpDef sharded_filename_op() {
  return OpDef("ShardedFilename")
      .doc("BASENAME-00002-of-00005: the name of one of several files.")
      .shape(scalar_output)
      .cpu(stateless<sharded_filename_cpu>)
      .not_differentiable();
}

}  // namespace emplace
