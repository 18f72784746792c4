/// TensorArray: what the handles of TensorFlow 1's arrays of tensors refer to. Each element is written once, but in an
/// array of gradients, where writes add up. Errors in TensorFlow's words (core/kernels/tensor_array.h).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/base/host_allocator.h"
#include "core/ops/kit/step_resource.h"
#include "core/ops/list/element_sum.h"

namespace emplace {

class TensorArray : public StepResource {
 public:
  static constexpr std::string_view kKind = "a TensorArray";
  TensorArray() : StepResource(kKind) {}

  // Constant once the array is made.
  DType element_type = DType::kInvalid;
  Shape element_shape = Shape::unknown();
  bool dynamic_size = false;
  bool clear_after_read = true;
  bool is_gradient = false;

  // The rest is guarded by `mutex`, which the caller holds.
  bool closed = false;
  std::map<std::string, Tensor> gradients;  // by source: the handle of the array of gradients

  int64_t size() const { return static_cast<int64_t>(items_.size()); }
  Status resize(int64_t size);
  /// What is closed, or has another type than the op says, is of no use.
  Status check(DType type) const;
  Status write(KernelContext& c, ElementSum& sum, int64_t index, Tensor element);
  /// A gradient that was not written is zeros in the shape of what it is of.
  Result<Tensor> read(KernelContext& c, int64_t index);
  /// That of `of`.
  void take_shapes(const TensorArray& of);

 private:
  struct Item {
    Tensor value;
    Shape shape = Shape::unknown();  // of what was written, or of what this is the gradient of
    bool written = false, read = false, cleared = false;
  };
  Status failure(std::string_view what) const;
  std::vector<Item, EntryAllocator<Item>> items_;
};

}  // namespace emplace
