/// OpCase: one op by itself: shape rule, then kernel, with inputs and attrs given by the test.
#pragma once

#include <deque>
#include <string_view>
#include <vector>

#include "core/op/op_def.h"

namespace emplace::testing {

class OpCase {
 public:
  explicit OpCase(std::string_view op) : def_(OpLibrary::find(op)) {}

  OpCase& in(Tensor t) {
    inputs_.push_back(std::move(t));
    return *this;
  }
  /// An input of which only this much is known before the run.
  OpCase& in_shape(DType type, Shape shape);
  OpCase& attr(std::string_view name, AttrValue value);
  OpCase& out(DType type) {
    output_types_.push_back(type);
    return *this;
  }

  /// What the shape rule says.
  Result<std::vector<Shape>> shapes() const;
  /// What the kernel gives. REQUIRES: every input has a value.
  Result<std::vector<Tensor>> run() const;

 private:
  struct Partial {
    DType type;
    Shape shape;
  };
  class Context;
  const OpDef* def_;
  std::vector<Tensor> inputs_;
  std::vector<Partial> partial_;
  std::deque<std::pair<std::string, AttrValue>> attrs_;
  std::vector<DType> output_types_;
};

template <class T>
Tensor tensor(Shape shape, std::vector<T> values) {
  return Tensor::of<T>(shape, std::span<const T>(values));
}
inline Tensor ints(std::vector<int32_t> values) {
  return tensor<int32_t>(Shape{static_cast<int64_t>(values.size())}, values);
}
template <class T>
std::vector<T> values(const Tensor& t) {
  return std::vector<T>(t.data<T>(), t.data<T>() + t.num_elements());
}

}  // namespace emplace::testing
