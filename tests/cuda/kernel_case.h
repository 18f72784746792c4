/// A kernel of the plug-in, run through the stand-in of the CUDA runtime, beside the CPU's kernel of the same op.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/op/attr_value.h"
#include "core/tensor/tensor.h"

namespace emplace::cuda::testing {

struct KernelCase {
  std::string_view op;
  std::vector<Tensor> inputs;  // behind the variables, if there are any
  std::vector<std::pair<std::string, AttrValue>> attrs = {};
  std::vector<DType> outputs = {};  // empty: one of input 0's type, or none of an op on variables
  DType type = DType::kInvalid;     // of the op's kernel attr; kInvalid: that of the first tensor
  std::vector<Tensor> variables =
      {};  // what the variables hold that are the first inputs; the reference that comes out is left out
  std::vector<Shape> shapes = {};  // of the outputs of an op on variables
};

/// The types that both have a kernel of their own for.
std::vector<DType> types_of(std::string_view op);

/// The outputs of both, by the op's shape rule, and behind them what the variables hold afterwards. Device memory is as
/// large as a tensor and not a byte larger, so that a sanitizer sees what a kernel should not touch.
struct Answers {
  std::vector<Tensor> cpu, gpu;
};
Result<Answers> run(const KernelCase& c);

/// Numbers from a fixed sequence, uniform in [low, high).
Tensor uniform(DType dtype, Shape shape, double low, double high, uint64_t seed = 1);
/// Empty if every element is within `ulps` of the other (equal, for types that are not floating), else what differs
/// first.
std::string difference(const Tensor& want, const Tensor& got, int64_t ulps);
/// run() and difference() of every output; the kernel's error, if it has one.
std::string check(const KernelCase& c, int64_t ulps = 0);
/// As check() for outputs of floats, where elements near zero are differences of large ones: an ulp is that of the
/// output's largest element.
std::string check_by_largest(const KernelCase& c, int64_t ulps);

}  // namespace emplace::cuda::testing
