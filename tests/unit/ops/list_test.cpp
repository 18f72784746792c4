#include <catch2/catch.hpp>

#include "core/op/tensor_list.h"
#include "tests/unit/ops/op_case.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

Tensor pair_of(float a, float b) { return tensor<float>({2}, {a, b}); }
Tensor index_of(int32_t i) { return tensor<int32_t>({}, {i}); }

Tensor list_of(std::vector<Tensor> elements, int64_t max = -1) {
  TensorList list;
  list.dtype = DType::kFloat;
  list.element_shape = Shape{2};
  list.max_num_elements = max;
  for (Tensor& element : elements) list.elements.push_back(std::move(element));
  return list_tensor(std::move(list));
}

Result<std::vector<Tensor>> set_item(const Tensor& list, int32_t index, Tensor item) {
  return OpCase("TensorListSetItem").in(list).in(index_of(index)).in(std::move(item)).out(DType::kVariant).run();
}

std::string refusal(const OpCase& op) { return op.run().status().message(); }

}  // namespace

TEST_CASE("only the window of a list's elements that are set takes memory") {
  ListElements elements;
  elements.resize(int64_t{1} << 40);
  CHECK(elements.first() == elements.last());
  elements.at(500) = pair_of(1, 2);
  CHECK(elements.first() == 500);
  CHECK(elements.last() == 501);
  elements.at(498) = pair_of(3, 4);
  CHECK(elements.first() == 498);
  CHECK_FALSE(elements[499].valid());
  CHECK_FALSE(elements[0].valid());
  CHECK_FALSE(elements[(int64_t{1} << 40) - 1].valid());
  elements.resize(499);
  CHECK(elements.last() <= 499);
  CHECK(elements[498].data<float>()[0] == 3);
  elements.resize(3);
  elements.push_back(pair_of(5, 6));
  CHECK(elements.size() == 4);
  CHECK(elements[3].data<float>()[1] == 6);
}

TEST_CASE("a list that somebody else holds is copied before it is changed, its elements are not") {
  const Tensor before = list_of({pair_of(1, 2), pair_of(3, 4)});
  auto after = set_item(before, 1, pair_of(5, 6));
  REQUIRE(after.ok());
  const TensorList *old = *list_in(before), *changed = *list_in((*after)[0]);
  REQUIRE(old != changed);
  CHECK(values<float>(old->elements[1]) == std::vector<float>{3, 4});
  CHECK(values<float>(changed->elements[1]) == std::vector<float>{5, 6});
  CHECK(old->elements[0].data<float>() == changed->elements[0].data<float>());
}

TEST_CASE("rows of a tensor become elements without a copy") {
  const Tensor rows = tensor<float>({2, 2}, {1, 2, 3, 4});
  auto made = OpCase("TensorListFromTensor")
                  .in(rows)
                  .in(ints({2}))
                  .attr("element_dtype", AttrValue::of(DType::kFloat))
                  .out(DType::kVariant)
                  .run();
  REQUIRE(made.ok());
  CHECK((*list_in((*made)[0]))->elements[0].data<float>() == rows.data<float>());
  CHECK((*list_in((*made)[0]))->elements[1].data<float>() == rows.data<float>() + 2);
}

TEST_CASE("an element that is not set is zeros, if its shape is known") {
  TensorList list;
  list.dtype = DType::kFloat;
  list.elements.resize(2);
  list.elements.at(1) = pair_of(7, 8);
  auto get = [](TensorList of, Tensor shape) {
    return OpCase("TensorListGetItem")
        .in(list_tensor(std::move(of)))
        .in(index_of(0))
        .in(std::move(shape))
        .out(DType::kFloat)
        .run();
  };
  auto by_the_other = get(list, tensor<int32_t>({}, {-1}));
  REQUIRE(by_the_other.ok());
  CHECK(values<float>((*by_the_other)[0]) == std::vector<float>{0, 0});
  list.elements.resize(1);
  CHECK(get(list, tensor<int32_t>({}, {-1})).status().message() ==
        "Trying to read an uninitialized tensor but element_shape is not fully defined: <unknown> and no list element "
        "is set.");
}

TEST_CASE("lists refuse what TensorFlow's refuse, in its words") {
  const Tensor list = list_of({pair_of(1, 2), pair_of(3, 4), pair_of(5, 6)});
  const Tensor any = ints({2});
  CHECK(refusal(OpCase("TensorListGetItem").in(list).in(index_of(5)).in(any).out(DType::kFloat)) ==
        "Trying to access element 5 in a list with 3 elements.");
  CHECK(refusal(OpCase("TensorListGetItem").in(list).in(index_of(0)).in(any).out(DType::kInt32)) ==
        "Invalid data types; op elements int32 but list elements float");
  CHECK(set_item(list, 5, pair_of(1, 2)).status().message() == "Trying to modify element 5 in a list with 3 elements.");
  CHECK(set_item(list, -1, pair_of(1, 2)).status().message() ==
        "Trying to modify element -1 in a list with 3 elements.");
  CHECK(set_item(list, 0, tensor<float>({3}, {1, 2, 3})).status().message() ==
        "Tried to set a tensor with incompatible shape at a list index. Item element shape: [3] list shape: [2]");
  CHECK(refusal(OpCase("TensorListPopBack").in(list_of({})).in(any).out(DType::kVariant).out(DType::kFloat)) ==
        "Trying to pop from an empty list.");
  CHECK(refusal(OpCase("TensorListPushBack").in(list_of({pair_of(1, 2)}, 1)).in(pair_of(3, 4)).out(DType::kVariant)) ==
        "Tried to push item into a full list list size: 1 max_num_elements: 1");
}
