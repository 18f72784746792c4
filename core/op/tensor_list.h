/// TensorList: what an element of a tensor of type variant holds.
///
/// A scalar variant holds a list, an optional, a ragged tensor, a map, a tensor, or nothing. A variant with a shape is
/// one more of them: what holds its elements, which are scalar variants, in row-major order. So whoever copies, adds or
/// frees variants needs one recursion, and a reshaped variant shares its elements.
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

enum class Held : uint8_t {
  kList,      // also an optional: a list of no type
  kRagged,    // row splits, from the outermost on, and last the values, of type TensorList::dtype
  kMap,       // keys and values in turn (core/ops/list/map_entries.h)
  kTensor,    // one tensor, of that type and shape
  kVariants,  // the elements of a variant that has a shape; one that is not set holds nothing
};

struct TensorList {
  DType dtype = DType::kInvalid;
  Shape element_shape = Shape::unknown();  // perhaps known in part
  int64_t max_num_elements = -1;           // -1: no limit
  ListElements elements;                   // in the memory of the list's device
  Held held = Held::kList;

  int64_t size() const { return elements.size(); }
  /// The same without elements: none of as many is set.
  TensorList unset() const;
};

/// Lists whose elements are lists, whose elements are lists: gradients of gradients of loops nest a few. Deeper ones
/// are neither copied, added nor made zero.
inline constexpr int kMostNestedLists = 100;
Status nested_too_deep();

/// A variant that holds that: of the shape, if it holds Held::kVariants, else a scalar.
Tensor list_tensor(TensorList list, const Shape& shape = Shape{});
/// A variant with these elements.
Tensor variants_tensor(const Shape& shape, ListElements elements);
/// Element `i` as a scalar variant, or an invalid tensor if it holds nothing. REQUIRES: 0 <= i < num_elements().
Tensor variant_at(const Tensor& variants, int64_t i);
/// What the tensor holds, of any kind. InvalidArgument if nothing.
Result<const TensorList*> held_in(const Tensor& variant);
/// InvalidArgument if it holds no list, or no map.
Result<const TensorList*> list_in(const Tensor& variant, Held held = Held::kList);
/// Output `i` becomes the list of input `input`, to be changed: the input itself, which is given up, or a copy.
Result<TensorList*> changed_list(KernelContext& c, int input, int i, Held held = Held::kList);

}  // namespace emplace
