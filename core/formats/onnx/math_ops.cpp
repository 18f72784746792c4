// Part of core/formats/onnx/op_table.h: arithmetic, comparison, logic, casts.
#include <cmath>
#include <iterator>

#include "core/base/cat.h"
#include "core/base/tiny_float.h"
#include "core/formats/onnx/byte_products.h"
#include "core/formats/onnx/op_table.h"
#include "core/formats/onnx/tensor.h"

namespace emplace {
namespace {

/// Of before version 7: attributes say how b lies in a.
Endpoint old_broadcast(OnnxBlock& b, Endpoint x, Endpoint y) {
  if (b.version() >= 7 || b.integer("broadcast", 0) == 0 || !b.has_attribute("axis")) return y;
  const int rank = b.rank(x), own = b.rank(y);
  const int axis = b.axis(b.integer("axis", 0), rank);
  if (axis + own > rank) return b.fail("broadcast past the end of the first input");
  const Shape s = b.shape(y);
  Ints dims(s.dims().begin(), s.dims().end());
  dims.resize(static_cast<size_t>(rank - axis), 1);
  return b.reshape(y, dims);
}

Endpoints binary(OnnxBlock& b, std::string_view op) {
  const Endpoint x = b.input(0);
  return {b.math(op, {x, old_broadcast(b, x, b.input(1))})};
}

Endpoints unary(OnnxBlock& b, std::string_view op) { return {b.math(op, {b.input(0)})}; }

Endpoints variadic(OnnxBlock& b, std::string_view op) {
  Endpoints all = b.inputs();
  if (all.empty()) return {b.fail("no input")};
  Endpoint sum = all[0];
  for (size_t i = 1; i < all.size(); ++i) sum = b.math(op, {sum, all[i]});
  return {sum};
}

Endpoints mean(OnnxBlock& b) {
  const Endpoint sum = variadic(b, "AddV2")[0];
  return {b.num_inputs() == 1 ? sum : b.div(sum, b.like(sum, static_cast<double>(b.num_inputs())))};
}

Endpoints onnx_div(OnnxBlock& b) {
  const Endpoint x = b.input(0);
  return {b.div(x, old_broadcast(b, x, b.input(1)))};
}

/// The result has the type of the base; what does not fit there is computed in a type that holds both.
Endpoints pow(OnnxBlock& b) {
  Endpoint x = b.input(0), y = old_broadcast(b, x, b.input(1));
  const DType own = b.type(x), other = b.type(y);
  DType used = own;
  if (own != other && is_floating(other) && is_integer(own)) used = other == DType::kDouble ? other : DType::kDouble;
  if (is_integer(own) && is_integer(other) && dtype_size(other) > dtype_size(own)) used = DType::kInt64;
  return {b.cast(b.math("Pow", {b.cast(x, used), b.cast(y, used)}), own)};
}

Endpoints mod(OnnxBlock& b) {
  const Endpoint x = b.input(0), y = b.input(1);
  const bool real = !is_integer(b.type(x));
  if (real && b.integer("fmod", 0) == 0 && b.version() < 28)
    return {b.fail("fmod is 0, which is for integers", "fmod: 1")};
  if (b.integer("fmod", 0) == 0) return {b.math("FloorMod", {x, y})};
  if (real) return {b.math("TruncateMod", {x, y})};
  return {b.sub(x, b.mul(b.math("Div", {x, y}), y))};
}

Endpoints equal(OnnxBlock& b, std::string_view op) {
  const Endpoint x = b.input(0);
  return {b.make(op, {x, old_broadcast(b, x, b.input(1))})};
}

bool is_signed(DType t) { return kSigned.has(t); }

Endpoints bit_shift(OnnxBlock& b) {
  const std::string direction = b.text("direction", "");
  if (direction != "LEFT" && direction != "RIGHT") return {b.fail(cat("direction '", direction, "'"), "LEFT or RIGHT")};
  const Endpoint x = b.input(0), y = b.input(1);
  // A shift by all bits or more, or by less than none, leaves nothing; to the right it leaves the sign.
  const auto last = static_cast<double>(8 * std::max<size_t>(dtype_size(b.type(x)), 1) - 1);
  const Endpoint most = b.like(y, last), none = b.like(y, 0);
  const Endpoint inside = b.make("LogicalAnd", {b.make("GreaterEqual", {y, none}), b.make("LessEqual", {y, most})});
  const Endpoint by = b.select(inside, y, most);
  if (direction == "LEFT") return {b.select(inside, b.make("LeftShift", {x, by}), b.like(x, 0))};
  const Endpoint shifted = b.make("RightShift", {x, by});
  const Endpoint sign =
      b.select(b.make("Less", {x, b.like(x, 0)}), b.like(x, is_signed(b.type(x)) ? -1 : 0), b.like(x, 0));
  return {b.select(inside, shifted, sign)};
}

Endpoint converted(OnnxBlock& b, Endpoint x, DType to) {
  const DType from = b.type(x);
  if (from == to) return x;
  if (to == DType::kBool && is_floating(from)) return b.make("NotEqual", {x, b.like(x, 0)});
  if (from == DType::kString)
    return to == DType::kFloat || to == DType::kDouble || to == DType::kInt32 || to == DType::kInt64
               ? b.make("StringToNumber", {x}, {{"out_type", attr_of(to)}})
               : b.cast(b.make("StringToNumber", {x}, {{"out_type", attr_of(DType::kFloat)}}), to);
  if (kTinyFloats.has(to) && b.integer("saturate", 1) != 0) return onnx_saturated(b, x, to);
  if (to == DType::kString) return b.make("AsString", {x}, {{"shortest", attr_of(true)}});
  return b.cast(x, to);
}

Endpoints cast_to(OnnxBlock& b) {
  const std::optional<DType> to = onnx_dtype(b.integer("to", 0));
  if (!to) return {b.fail(cat("attribute 'to' names the type ", b.integer("to", 0), ", which is not read"))};
  return {converted(b, b.input(0), *to)};
}

Endpoints cast_like(OnnxBlock& b) { return {converted(b, b.input(0), b.type(b.input(1)))}; }

Endpoints bit_cast(OnnxBlock& b) {
  const std::optional<DType> to = onnx_dtype(b.integer("to", 0));
  if (!to) return {b.fail("attribute 'to' names no type that is read")};
  const Endpoint x = b.input(0);
  if (b.type(x) == DType::kBool || *to == DType::kBool) return {b.cast(x, *to)};
  return {b.make("Bitcast", {x}, {{"type", attr_of(*to)}})};
}

/// Where both bounds are given, and the lower one is above, the upper one holds.
Endpoints clip(OnnxBlock& b) {
  Endpoint x = b.input(0);
  const bool attrs = b.version() < 11;
  if (attrs ? b.has_attribute("min") : b.has(1))
    x = b.math("Maximum", {x, attrs ? b.like(x, b.number("min", 0)) : b.input(1)});
  if (attrs ? b.has_attribute("max") : b.has(2))
    x = b.math("Minimum", {x, attrs ? b.like(x, b.number("max", 0)) : b.input(2)});
  return {x};
}

Endpoints is_inf(OnnxBlock& b) {
  const Endpoint x = b.input(0);
  const bool negative = b.integer("detect_negative", 1) != 0, positive = b.integer("detect_positive", 1) != 0;
  const Endpoint any = b.math("IsInf", {x});
  if (negative && positive) return {any};
  const Endpoint zero = b.like(x, 0);
  const Endpoint side = positive ? b.math("Greater", {x, zero}) : b.math("Less", {x, zero});
  if (!negative && !positive) return {b.make("LogicalAnd", {any, b.make("LogicalNot", {any})})};
  return {b.make("LogicalAnd", {any, side})};
}

Endpoints where(OnnxBlock& b) { return {b.select(b.input(0), b.input(1), b.input(2))}; }

Endpoints running(OnnxBlock& b, std::string_view op) {
  Endpoint axis = b.input(1);
  if (const std::optional<Ints> known = b.known(axis); known && known->size() == 1) axis = b.int32((*known)[0]);
  return {b.math(
      op, {b.input(0), axis},
      {{"exclusive", attr_of(b.integer("exclusive", 0) != 0)}, {"reverse", attr_of(b.integer("reverse", 0) != 0)}})};
}

#define UNARY(onnx, op)                                      \
  {                                                          \
    onnx, 1, [](OnnxBlock& b) { return unary(b, op); }, true \
  }
#define BINARY(onnx, op)                                      \
  {                                                           \
    onnx, 1, [](OnnxBlock& b) { return binary(b, op); }, true \
  }
#define VARIADIC(onnx, op)                                      \
  {                                                             \
    onnx, 1, [](OnnxBlock& b) { return variadic(b, op); }, true \
  }

constexpr OnnxOp kMathOps[] = {
    UNARY("Abs", "Abs"),
    UNARY("Acos", "Acos"),
    UNARY("Acosh", "Acosh"),
    BINARY("Add", "AddV2"),
    BINARY("And", "LogicalAnd"),
    UNARY("Asin", "Asin"),
    UNARY("Asinh", "Asinh"),
    UNARY("Atan", "Atan"),
    UNARY("Atanh", "Atanh"),
    {"BitCast", 26, bit_cast},
    {"BitShift", 11, bit_shift, true},
    BINARY("BitwiseAnd", "BitwiseAnd"),
    UNARY("BitwiseNot", "Invert"),
    BINARY("BitwiseOr", "BitwiseOr"),
    BINARY("BitwiseXor", "BitwiseXor"),
    {"Cast", 6, cast_to, true},
    {"CastLike", 15, cast_like, true},
    UNARY("Ceil", "Ceil"),
    {"Clip", 6, clip, true},
    UNARY("Cos", "Cos"),
    UNARY("Cosh", "Cosh"),
    {"CumProd", 26, [](OnnxBlock& b) { return running(b, "Cumprod"); }},
    {"CumSum", 11, [](OnnxBlock& b) { return running(b, "Cumsum"); }},
    {"Det", 11, [](OnnxBlock& b) { return Endpoints{b.make("MatrixDeterminant", {b.input(0)})}; }},
    {"Div", 6, onnx_div, true},
    {"Equal", 1, [](OnnxBlock& b) { return equal(b, "Equal"); }, true},
    UNARY("Erf", "Erf"),
    UNARY("Exp", "Exp"),
    UNARY("Floor", "Floor"),
    BINARY("Greater", "Greater"),
    BINARY("GreaterOrEqual", "GreaterEqual"),
    {"IsInf", 10, is_inf, true},
    UNARY("IsNaN", "IsNan"),
    BINARY("Less", "Less"),
    BINARY("LessOrEqual", "LessEqual"),
    UNARY("Log", "Log"),
    VARIADIC("Max", "Maximum"),
    {"Mean", 6, mean, true},
    VARIADIC("Min", "Minimum"),
    {"Mod", 10, mod, true},
    BINARY("Mul", "Mul"),
    UNARY("Neg", "Neg"),
    UNARY("Not", "LogicalNot"),
    BINARY("Or", "LogicalOr"),
    {"Pow", 1, pow, true},
    UNARY("Reciprocal", "Reciprocal"),
    UNARY("Round", "Round"),
    UNARY("Sign", "Sign"),
    UNARY("Sin", "Sin"),
    UNARY("Sinh", "Sinh"),
    UNARY("Sqrt", "Sqrt"),
    BINARY("Sub", "Sub"),
    VARIADIC("Sum", "AddV2"),
    UNARY("Tan", "Tan"),
    {"Where", 9, where, true},
    {"Xor", 1, [](OnnxBlock& b) { return equal(b, "NotEqual"); }, true},
};

#undef UNARY
#undef BINARY
#undef VARIADIC

}  // namespace

std::span<const OnnxOp> onnx_math_ops() { return kMathOps; }

}  // namespace emplace
