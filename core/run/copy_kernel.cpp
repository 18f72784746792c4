#include "core/run/copy_kernel.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>

#include "core/op/tensor_list.h"

namespace emplace {

Status CopyKernel::run(KernelContext& c) {
  const Tensor& from = c.input(0);
  if (shares_) {
    c.forward_output(0, from);
    return ok_status();
  }
  if (from.dtype() == DType::kVariant) return copy_list(c);
  auto start = std::chrono::steady_clock::now();
  if (c.output(0).raw() == nullptr) RETURN_IF_ERROR(c.allocate_output(0, from.shape()));
  if (from.dtype() == DType::kString) {  // what a reference of strings held
    std::copy(from.flat<std::string>().begin(), from.flat<std::string>().end(), c.out<std::string>(0));
    return ok_status();
  }
  const auto* source = static_cast<const std::byte*>(from.raw());
  auto* target = static_cast<std::byte*>(c.output(0).raw());
  constexpr double kNsPerByte = 0.05;
  c.parallel_for(static_cast<int64_t>(from.size_bytes()), kNsPerByte, [&](int64_t begin, int64_t end) {
    std::memcpy(target + begin, source + begin, static_cast<size_t>(end - begin));
  });
  spent_ns_ += std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count();
  return ok_status();
}

namespace {

/// The variant itself is a host object; only its elements lie in device memory and are copied, those of variants in it
/// too.
Result<Tensor> copied_variant(const Tensor& from, Allocator& memory, int depth) {
  if (depth == kMostNestedLists) return nested_too_deep();
  ASSIGN_OR_RETURN(const TensorList* held, held_in(from));
  const TensorList& list = *held;
  TensorList copy = list.unset();
  for (int64_t i = list.elements.first(); i < list.elements.last(); ++i) {
    const Tensor& element = list.elements[i];
    if (!element.valid()) continue;
    if (element.dtype() == DType::kVariant) {
      ASSIGN_OR_RETURN(copy.elements.at(i), copied_variant(element, memory, depth + 1));
      continue;
    }
    ASSIGN_OR_RETURN(Tensor to, memory.allocate(element.dtype(), element.shape()));
    if (element.dtype() == DType::kString) {
      std::copy(element.flat<std::string>().begin(), element.flat<std::string>().end(), to.data<std::string>());
    } else if (element.size_bytes() > 0) {
      std::memcpy(to.raw(), element.raw(), element.size_bytes());
    }
    copy.elements.at(i) = std::move(to);
  }
  return list_tensor(std::move(copy), from.shape());
}

}  // namespace

Status CopyKernel::copy_list(KernelContext& c) {
  Allocator& memory = (c.host_outputs_ & 1) != 0 ? *c.host_allocator_ : *c.allocator_;
  ASSIGN_OR_RETURN(Tensor copy, copied_variant(c.input(0), memory, 0));
  c.forward_output(0, std::move(copy));
  return ok_status();
}

}  // namespace emplace
