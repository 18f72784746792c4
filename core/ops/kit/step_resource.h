/// What a resource handle refers to that belongs to the step which made it: a stack, an array of tensors. Freed with
/// its last handle.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/cat.h"
#include "core/op/kernel.h"

namespace emplace {

/// Ops that expect a variable behind the handle find one without type and value.
struct StepResource : Variable {
  explicit StepResource(std::string_view what) : kind(what) {}
  const std::string_view kind;  // as messages say it
};

/// A scalar handle that owns a T.
template <class T>
std::pair<Tensor, T*> new_step_resource() {
  class Owner final : public Buffer {
   public:
    Owner() : Buffer(nullptr, sizeof(Variable*)) { data_ = &handle_; }
    T resource;

   private:
    Variable* handle_ = &resource;
  };
  auto owner = std::make_shared<Owner>();
  T* made = &owner->resource;
  void* handle = owner->data();
  return {Tensor::wrap(DType::kResource, Shape{}, handle, std::move(owner)), made};
}

/// Behind input 0, whose handle may be anybody's.
template <class T>
Result<T*> step_resource(const KernelContext& c) {
  Variable& found = c.variable(0);
  // Only what belongs to a step has no type.
  if (found.dtype != DType::kInvalid)
    return invalid_argument(cat("resource '", found.name, "' is a variable, and ", T::kKind, " is wanted"));
  auto& resource = static_cast<StepResource&>(found);
  if (resource.kind != T::kKind)
    return invalid_argument(cat("resource '", found.name, "' is ", resource.kind, ", and ", T::kKind, " is wanted"));
  return static_cast<T*>(&resource);
}

}  // namespace emplace
