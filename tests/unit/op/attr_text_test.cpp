// The texts are what TensorFlow 2.21 printed for the same values.
#include "core/op/attr_text.h"

#include <catch2/catch.hpp>

using namespace emplace;

TEST_CASE("numbers are printed as TensorFlow's messages have them") {
  CHECK(message_number(0.1f) == "0.1");
  CHECK(message_number(1e10f) == "1e+10");
  CHECK(message_number(123456789.f) == "123456792");
  CHECK(message_number(0.333333343f) == "0.333333343");
  CHECK(message_number(-0.f) == "-0");
  CHECK(message_number(1e6f) == "1e+06");
  CHECK(message_number(16777216.f) == "16777216");
  CHECK(message_number(1e-40f) == "9.99995e-41");
  CHECK(message_number(123456.7f) == "123456.703");
}

TEST_CASE("attr values are printed as TensorFlow's messages have them") {
  CHECK(summarize_attr(AttrValue::of(std::string("a\n\"b\\ \x01 \xc3\xa9 q'"))) == R"("a\n\"b\\ \001 \303\251 q\'")");
  CHECK(summarize_attr(AttrValue::of(std::string(85, 'x'))) == R"("xxxxxxxxxx...xxxxxxxxxx")");
  CHECK(summarize_attr(AttrValue::of(std::string(79, 'x'))).size() == 81);
  CHECK(summarize_attr(AttrValue::of(std::string(80, 'x'))) == R"("xxxxxxxxxx...xxxxxxxxxx")");
  CHECK(summarize_attr(AttrValue::of(std::string(40, '\n'))) == R"("\n\n\n\n\n...\n\n\n\n\n")");
  CHECK(summarize_attr(AttrValue::of(Shape{-1, 4})) == "[?,4]");
  CHECK(summarize_attr(AttrValue::of(Shape::unknown())) == "<unknown>");
  CHECK(summarize_attr(AttrValue::of(DType::kHalf)) == "DT_HALF");
  CHECK(summarize_attr(AttrValue::list_of<DType>(AttrKind::kType, {DType::kFloat, DType::kInt32})) ==
        "[DT_FLOAT, DT_INT32]");
  CHECK(summarize_attr(AttrValue::list_of<Shape>(AttrKind::kShape, {Shape{-1}, Shape::unknown()})) ==
        "[[?], <unknown>]");
  CHECK(summarize_attr(AttrValue::list_of<bool>(AttrKind::kBool, {true, false})) == "[true, false]");
  CHECK(summarize_attr(AttrValue({AttrKind::kNone, true}, {})) == "[]");
  CHECK(summarize_attr(AttrValue()) == "<Unknown AttrValue type>");
  CHECK(summarize_attr(AttrValue({AttrKind::kPlaceholder, false}, std::string("T"))) == "$T");
  FuncValue f{"ff", {{"T", AttrValue::of(DType::kInt32)}, {"A", AttrValue::of(int64_t{3})}}};
  CHECK(summarize_attr(AttrValue({AttrKind::kFunc, false}, f)) == "ff[A=3, T=DT_INT32]");
  std::vector<int64_t> many(30);
  for (size_t i = 0; i < many.size(); ++i) many[i] = static_cast<int64_t>(i);
  CHECK(summarize_attr(AttrValue::list_of(AttrKind::kInt, many)) ==
        "[0, 1, 2, 3, 4, ..., 25, 26, 27, 28, 29]{attr_hash=6212846312491382606}");
  many.pop_back();
  CHECK(summarize_attr(AttrValue::list_of(AttrKind::kInt, many)).ends_with(", 27, 28]"));
}

TEST_CASE("tensors show their first elements") {
  std::vector<int32_t> ones(20, 1);
  auto ints = [&](const Shape& shape) {
    return Tensor::of<int32_t>(shape, std::span<const int32_t>(ones).first(static_cast<size_t>(shape.num_elements())));
  };
  CHECK(summarize_attr(AttrValue::of(ints({2, 2}))) == "Tensor<type: int32 shape: [2,2] values: [1 1][1...]...>");
  CHECK(summarize_attr(AttrValue::of(ints({5, 4}))) == "Tensor<type: int32 shape: [5,4] values: [1 1 1...]...>");
  CHECK(summarize_attr(AttrValue::of(ints({20}))) == "Tensor<type: int32 shape: [20] values: 1 1 1...>");
  CHECK(summarize_attr(AttrValue::of(Tensor::scalar(std::string("hey")))) ==
        "Tensor<type: string shape: [] values: hey>");
  CHECK(summarize_values(ints({2, 2}), 10) == "[1 1][1 1]");
  CHECK(summarize_values(ints({0}), 10) == "");
}
