#include "core/op/tensor_list.h"

#include <algorithm>
#include <typeinfo>
#include <utility>
#include <vector>

#include "core/base/cat.h"

namespace emplace {
namespace {

class ListBuffer final : public Buffer {
 public:
  explicit ListBuffer(TensorList list) : Buffer(nullptr, 0), list_(std::move(list)) { data_ = &list_; }
  // Lists in lists in lists would take a call each: the outermost frees what the inner ones leave to it.
  ~ListBuffer() override {
    if (list_.dtype != DType::kVariant && list_.dtype != DType::kInvalid) return;
    thread_local std::vector<Tensor>* left = nullptr;
    if (left) {
      leave(*left);
      return;
    }
    std::vector<Tensor> inner;
    left = &inner;
    for (leave(inner); !inner.empty();) {
      const Tensor next = std::move(inner.back());
      inner.pop_back();
    }
    left = nullptr;
  }
  TensorList& list() { return list_; }

 private:
  void leave(std::vector<Tensor>& to) {
    for (int64_t i = list_.elements.first(); i < list_.elements.last(); ++i) {
      if (list_.elements[i].dtype() == DType::kVariant) to.push_back(std::move(list_.elements.at(i)));
    }
  }

  TensorList list_;
};

// A buffer of another kind is memory that nobody has given a variant yet.
TensorList* behind(const Tensor& variant) {
  Buffer* buffer = variant.buffer().get();
  return buffer && typeid(*buffer) == typeid(ListBuffer) ? &static_cast<ListBuffer*>(buffer)->list() : nullptr;
}

// A scalar may be what was reshaped from a variant of one element.
Tensor as_scalar(const Tensor& variant) {
  const TensorList* held = behind(variant);
  return held && held->held == Held::kVariants && held->size() == 1 ? held->elements[0] : variant;
}

std::string_view name_of(const TensorList* held) {
  if (!held) return "nothing";
  switch (held->held) {
    case Held::kRagged:
      return "RaggedTensorVariant";
    case Held::kMap:
      return "tensorflow::TensorMap";
    case Held::kTensor:
      return "tensorflow::Tensor";
    default:
      return "tensorflow::TensorList";
  }
}

Status no_list(const Tensor& variant, Held wanted) {
  const std::string_view what = wanted == Held::kMap ? "map" : "list";
  if (variant.shape().rank() != 0)
    return invalid_argument(cat("Input ", what, " must be a scalar saw: ", variant.shape().to_string()));
  return invalid_argument(cat("Input handle is not a ", what, ". Saw: '", name_of(behind(variant)), "'"));
}

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

TensorList TensorList::unset() const {
  TensorList same{dtype, element_shape, max_num_elements, {}, held};
  same.elements.resize(size());
  return same;
}

Tensor list_tensor(TensorList list, const Shape& shape) {
  auto buffer = std::make_shared<ListBuffer>(std::move(list));
  void* handle = buffer->data();
  return Tensor::wrap(DType::kVariant, shape, handle, std::move(buffer));
}

Tensor variants_tensor(const Shape& shape, ListElements elements) {
  return list_tensor({DType::kVariant, Shape{}, -1, std::move(elements), Held::kVariants}, shape);
}

Tensor variant_at(const Tensor& variants, int64_t i) {
  const TensorList* held = behind(variants);
  if (!held) return Tensor();
  return held->held == Held::kVariants ? held->elements[i] : variants.reshaped(Shape{});
}

Status nested_too_deep() { return unimplemented(cat("lists that are nested more than ", kMostNestedLists, " deep")); }

Result<const TensorList*> held_in(const Tensor& variant) {
  const TensorList* held = behind(variant);
  if (!held) return invalid_argument("a variant that holds nothing");
  return held;
}

Result<const TensorList*> list_in(const Tensor& variant, Held held) {
  if (variant.shape().rank() != 0) return no_list(variant, held);
  const Tensor scalar = as_scalar(variant);  // what it holds lives as long as `variant`
  const TensorList* list = behind(scalar);
  if (!list || list->held != held) return no_list(scalar.valid() ? scalar : variant, held);
  return list;
}

Result<TensorList*> changed_list(KernelContext& c, int input, int i, Held held) {
  Tensor mine = as_scalar(c.inputs_[static_cast<size_t>(input)]);
  c.inputs_[static_cast<size_t>(input)] = Tensor();
  TensorList* list = behind(mine);
  if (!list || list->held != held) return no_list(mine, held);
  if (mine.buffer().use_count() > 1) {
    mine = list_tensor(*list);
    list = behind(mine);
  }
  c.forward_output(i, std::move(mine));
  return list;
}

}  // namespace emplace
