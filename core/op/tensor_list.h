/// TensorList: the one thing that a tensor of type variant holds.
///
/// Who changes a list does so in place if nobody else holds it, else on a copy, whose elements share their buffers: n
/// writes in a loop take O(n).
#pragma once

#include <cstdint>
#include <deque>

#include "core/base/host_allocator.h"
#include "core/op/kernel.h"

namespace emplace {

/// Elements that are not set are invalid tensors. Those that are set lie in one window, the only part that takes
/// memory: a long list with one element is as cheap as a short one, and so are sums of such lists.
class ListElements {
 public:
  int64_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  /// The window: elements before first() and from last() on are not set.
  int64_t first() const { return first_; }
  int64_t last() const { return first_ + static_cast<int64_t>(window_.size()); }

  /// REQUIRES: 0 <= i < size(), here and below.
  const Tensor& operator[](int64_t i) const;
  /// Element `i`, to be changed: the window gets wide enough for it.
  Tensor& at(int64_t i);
  /// What is added is not set.
  void resize(int64_t size);
  void push_back(Tensor element);
  void pop_back() { resize(size_ - 1); }

 private:
  int64_t size_ = 0, first_ = 0;
  std::deque<Tensor, EntryAllocator<Tensor>> window_;
};

struct TensorList {
  DType dtype = DType::kInvalid;
  Shape element_shape = Shape::unknown();  // perhaps known in part
  int64_t max_num_elements = -1;           // -1: no limit
  ListElements elements;                   // in the memory of the list's device

  int64_t size() const { return elements.size(); }
};

/// A scalar variant that holds the list.
Tensor list_tensor(TensorList list);
/// InvalidArgument if it holds none.
Result<const TensorList*> list_in(const Tensor& variant);
/// Output `i` becomes the list of input `input`, to be changed: the input itself, which is given up, or a copy.
Result<TensorList*> changed_list(KernelContext& c, int input, int i);

}  // namespace emplace
