#include "core/formats/onnx/svm.h"

#include <algorithm>

#include "core/base/cat.h"
#include "core/formats/onnx/body_graph.h"
#include "core/formats/onnx/learning.h"
#include "core/formats/onnx/products.h"

namespace emplace {
namespace {

Endpoint double_matrix(OnnxBlock& b, int64_t rows, int64_t columns, const std::vector<double>& values) {
  return b.constant(Tensor::of<double>(Shape{rows, columns}, values));
}

Endpoint unit_matrix(OnnxBlock& b, int64_t n) {
  std::vector<double> values(static_cast<size_t>(n * n));
  for (int64_t i = 0; i < n; ++i) values[static_cast<size_t>(i * n + i)] = 1;
  return double_matrix(b, n, n, values);
}

/// Squares of distances, in double: of a sum of squares without the product what is left of two near vectors is small.
Endpoint square_distances(OnnxBlock& b, Endpoint x, Endpoint vectors) {
  const Endpoint wide = b.cast(x, DType::kDouble), others = b.cast(vectors, DType::kDouble);
  const Endpoint own = b.reduce("Sum", b.make("Square", {wide}), Ints{1});
  const Endpoint of_others = b.reduce("Sum", b.make("Square", {others}), Ints{1}, false);
  const Endpoint product = b.make("MatMul", {wide, b.transpose(others, {1, 0})});
  const Endpoint all = b.sub(b.add(own, of_others), b.mul(product, b.like(product, 2)));
  return b.cast(b.make("Maximum", {all, b.like(all, 0)}), DType::kFloat);
}

/// What a round of the coupling reads and changes.
struct Coupling {
  Endpoint q, chances, active;
};

/// Each class's chance is moved to where its own row of q wants it; all are scaled to a sum of 1 again.
Endpoint coupling_round(OnnxBlock& b, const Coupling& c, Endpoint product, Endpoint level, int64_t classes) {
  const Endpoint one = b.like(c.chances, 1), two = b.like(c.chances, 2);
  Endpoint chances = c.chances;
  for (int64_t t = 0; t < classes; ++t) {
    const Endpoint row = b.squeeze(b.slice(c.q, 1, t, t + 1), {1}), own = b.slice(row, 1, t, t + 1);
    const Endpoint at = b.slice(product, 1, t, t + 1);
    const Endpoint move = b.div(b.sub(level, at), own), scale = b.add(one, move);
    std::vector<double> unit(static_cast<size_t>(classes));
    unit[static_cast<size_t>(t)] = 1;
    const Endpoint more = b.mul(move, b.add(b.mul(move, own), b.mul(two, at)));
    level = b.div(b.div(b.add(level, more), scale), scale);
    product = b.div(b.add(product, b.mul(move, row)), scale);
    chances = b.div(b.add(chances, b.mul(move, double_matrix(b, 1, classes, unit))), scale);
  }
  return chances;
}

/// Variables of the loop: the round, chances, which rows go on; and q.
std::string coupling_body(OnnxBlock& b, int64_t classes) {
  Endpoints none;
  OnnxFunctionMaker maker(b, none);
  const Endpoint round = maker.argument(DType::kInt64, Shape{}),
                 chances = maker.argument(DType::kDouble, Shape{-1, classes}),
                 active = maker.argument(DType::kBool, Shape{-1, 1}),
                 q = maker.argument(DType::kDouble, Shape{-1, classes, classes});
  const Endpoints made = maker.build([&](OnnxBlock& in) -> Endpoints {
    const Endpoint product = in.squeeze(in.make("BatchMatMulV2", {q, in.expand(chances, 2)}), {2});
    const Endpoint level = in.reduce("Sum", in.mul(chances, product), Ints{1});
    const Endpoint error = in.reduce("Max", in.make("Abs", {in.sub(product, level)}), Ints{1});
    const Endpoint on = in.make(
        "LogicalAnd", {active, in.make("GreaterEqual", {error, in.like(error, 0.005 / static_cast<double>(classes))})});
    const Endpoint moved = coupling_round(in, {q, chances, active}, product, level, classes);
    return {in.add(round, in.int64(1)), in.select(on, moved, chances), on, q};
  });
  return b.failed() ? std::string() : maker.finish(cat(b.prefix(), "_coupling"), made, false);
}

std::string coupling_condition(OnnxBlock& b, int64_t classes) {
  Endpoints none;
  OnnxFunctionMaker maker(b, none);
  const Endpoint round = maker.argument(DType::kInt64, Shape{});
  maker.argument(DType::kDouble, Shape{-1, classes});
  const Endpoint active = maker.argument(DType::kBool, Shape{-1, 1});
  maker.argument(DType::kDouble, Shape{-1, classes, classes});
  const Endpoints made = maker.build([&](OnnxBlock& in) -> Endpoints {
    const Endpoint below = in.make("Less", {round, in.int64(100)});
    return {in.make("LogicalAnd", {below, in.make("Any", {active, in.ints32({0, 1})})})};
  });
  return b.failed() ? std::string() : maker.finish(cat(b.prefix(), "_unsettled"), made, false);
}

/// q of LIBSVM: off its diagonal -r[j,t] r[t,j], on it the sum of all r[j,t]^2; r[i,j] is the chance of i beside j.
Endpoint coupling_matrix(OnnxBlock& b, Endpoint of_pairs, int64_t classes) {
  const auto pairs = onnx_class_pairs(classes);
  const auto count = static_cast<int64_t>(pairs.size());
  Ints from(static_cast<size_t>(classes * classes), 2 * count);
  for (int64_t p = 0; p < count; ++p) {
    const auto [i, j] = pairs[static_cast<size_t>(p)];
    from[static_cast<size_t>(i * classes + j)] = p;
    from[static_cast<size_t>(j * classes + i)] = count + p;
  }
  const Endpoint wide = b.cast(of_pairs, DType::kDouble), others = b.sub(b.like(wide, 1), wide);
  const Endpoint zeros = b.mul(b.slice(wide, 1, 0, 1), b.like(wide, 0));
  const Endpoint all = b.concat({wide, others, zeros}, 1);
  const Endpoint r = b.reshape(b.make("GatherV2", {all, b.ints(from), b.int32(1)}), {-1, classes, classes});
  const Endpoint off = b.mul(r, b.transpose(r, {0, 2, 1}));
  const Endpoint sums = b.reduce("Sum", b.make("Square", {r}), Ints{1});
  return b.sub(b.mul(sums, unit_matrix(b, classes)), off);
}

}  // namespace

std::vector<std::pair<int64_t, int64_t>> onnx_class_pairs(int64_t classes) {
  std::vector<std::pair<int64_t, int64_t>> pairs;
  for (int64_t i = 0; i < classes; ++i) {
    for (int64_t j = i + 1; j < classes; ++j) pairs.emplace_back(i, j);
  }
  return pairs;
}

Endpoint onnx_svm_kernel(OnnxBlock& b, Endpoint x, const std::vector<float>& vectors, int64_t count) {
  const std::string kind = b.text("kernel_type", "LINEAR");
  std::vector<float> numbers = onnx_floats(b, "kernel_params").value_or(std::vector<float>());
  if (!numbers.empty() && numbers.size() != 3) return b.fail("kernel_params that are not gamma, coef0 and degree");
  numbers.resize(3);
  const auto features = static_cast<int64_t>(vectors.size()) / count;
  const Endpoint others = b.constant(Tensor::of<float>(Shape{count, features}, vectors));
  const auto number = [&](size_t i) { return b.scalar(DType::kFloat, numbers[i]); };
  if (kind == "RBF") return b.make("Exp", {b.mul(b.make("Neg", {number(0)}), square_distances(b, x, others))});
  const Endpoint product = onnx_product(b, x, b.transpose(others, {1, 0}));
  if (kind == "LINEAR") return product;
  const Endpoint scaled = b.add(b.mul(product, number(0)), number(1));
  if (kind == "SIGMOID") return b.make("Tanh", {scaled});
  if (kind == "POLY") return b.make("Pow", {scaled, number(2)});
  return b.fail(cat("kernel_type '", kind, "'"), "LINEAR, POLY, RBF or SIGMOID");
}

Endpoint onnx_coupled_chances(OnnxBlock& b, Endpoint of_pairs, int64_t classes) {
  const Endpoint q = coupling_matrix(b, of_pairs, classes);
  const Endpoint row = b.slice(b.cast(of_pairs, DType::kDouble), 1, 0, 1), zeros = b.mul(row, b.like(row, 0));
  const std::vector<double> even(static_cast<size_t>(classes), 1 / static_cast<double>(classes));
  const Endpoint first = b.add(zeros, double_matrix(b, 1, classes, even));
  const Endpoint active = b.make("Equal", {zeros, b.like(zeros, 0)});
  const std::string body = coupling_body(b, classes), condition = coupling_condition(b, classes);
  const Endpoints all = b.make_many("StatelessWhile", {b.int64(0), first, active, q}, 4,
                                    {{"cond", function_attr(condition)}, {"body", function_attr(body)}});
  if (!b.failed()) b.edit().known().set_shape(all[1], Shape{-1, classes});
  return b.cast(all[1], DType::kFloat);
}

}  // namespace emplace
