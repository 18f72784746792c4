#include "core/op/tensor_list.h"

#include <algorithm>
#include <utility>

namespace emplace {
namespace {

class ListBuffer final : public Buffer {
 public:
  explicit ListBuffer(TensorList list) : Buffer(nullptr, sizeof(void*)), list_(std::move(list)) { data_ = &handle_; }
  TensorList& list() { return list_; }

 private:
  TensorList list_;
  TensorList* handle_ = &list_;
};

TensorList* behind(const Tensor& variant) {
  return variant.buffer() && variant.raw() ? *variant.data<TensorList*>() : nullptr;
}

Status no_list() { return invalid_argument("Input handle is not a list. Saw: 'nothing'"); }

}  // namespace

const Tensor& ListElements::operator[](int64_t i) const {
  static const Tensor not_set{};
  return i < first() || i >= last() ? not_set : window_[static_cast<size_t>(i - first_)];
}

Tensor& ListElements::at(int64_t i) {
  if (window_.empty()) first_ = i;
  for (; i < first_; --first_) window_.emplace_front();
  if (i >= last()) window_.resize(static_cast<size_t>(i - first_) + 1);
  return window_[static_cast<size_t>(i - first_)];
}

void ListElements::resize(int64_t size) {
  size_ = size;
  if (last() > size) window_.resize(static_cast<size_t>(std::max<int64_t>(size - first_, 0)));
}

void ListElements::push_back(Tensor element) {
  ++size_;
  at(size_ - 1) = std::move(element);
}

Tensor list_tensor(TensorList list) {
  auto buffer = std::make_shared<ListBuffer>(std::move(list));
  void* handle = buffer->data();
  return Tensor::wrap(DType::kVariant, Shape{}, handle, std::move(buffer));
}

Result<const TensorList*> list_in(const Tensor& variant) {
  const TensorList* list = behind(variant);
  if (!list) return no_list();
  return list;
}

Result<TensorList*> changed_list(KernelContext& c, int input, int i) {
  Tensor mine = std::move(c.inputs_[static_cast<size_t>(input)]);
  TensorList* list = behind(mine);
  if (!list) return no_list();
  if (mine.buffer().use_count() > 1) {
    mine = list_tensor(*list);
    list = behind(mine);
  }
  c.forward_output(i, std::move(mine));
  return list;
}

}  // namespace emplace
