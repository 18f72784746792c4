#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>

#include <cmath>
#include <limits>
#include <sstream>

#include "core/run/fused_kernel.h"
#include "tests/unit/ops/op_case.h"
#include "tests/unit/run/run_case.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

Tensor ramp(int64_t n) {
  std::vector<float> v(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) v[static_cast<size_t>(i)] = static_cast<float>(i % 1013) * 0.37f - 150.0f;
  return f32({n}, v);
}

// relu((x + b) * d) * 0.5, x and d alive afterwards or not.
Endpoint chain(RunCase& g, Endpoint x, Endpoint b, Endpoint d, std::vector<Endpoint>& all) {
  DType f = DType::kFloat;
  all.push_back(g.add({"AddV2", {x, b}, {}, {f}}));
  all.push_back(g.add({"Mul", {all.back(), d}, {}, {f}}));
  all.push_back(g.add({"Relu", {all.back()}, {}, {f}}));
  all.push_back(g.add({"Mul", {all.back(), g.constant(f32({}, {0.5f}))}, {}, {f}}));
  return all.back();
}

/// The same bytes. Clang exchanges the operands of sums and products, so that of two NaNs the result may be the other:
/// there any NaN will do.
bool same_results(const Tensor& a, const Tensor& b) {
#ifdef __clang__
  if (a.dtype() == DType::kFloat) {
    const std::vector<float> x = floats(a), y = floats(b);
    return std::equal(x.begin(), x.end(), y.begin(), y.end(), [](float left, float right) {
      return std::bit_cast<uint32_t>(left) == std::bit_cast<uint32_t>(right) || (std::isnan(left) && std::isnan(right));
    });
  }
#endif
  return same_bytes(a, b);
}

/// Fetched alone, a step ends what is fused with it; fetched together, each is for itself.
void check_fused_as_separate(RunCase& g, const std::vector<Endpoint>& steps) {
  auto separate = g.fetch_all(steps);
  REQUIRE(separate.ok());
  for (size_t i = 0; i < steps.size(); ++i) {
    INFO("up to step " << i);
    auto fused = g.fetch_all({steps[i]});
    REQUIRE(fused.ok());
    CHECK(same_results((*fused)[0], (*separate)[i]));
  }
}

}  // namespace

TEST_CASE("a fused chain gives the bytes of its steps one by one") {
  for (int64_t n : {1, 5, 1000, 4096, 4097, 100003}) {
    RunCase g;
    Endpoint x = g.constant(ramp(n)), b = g.constant(f32({}, {1.25f})), d = g.constant(ramp(n));
    std::vector<Endpoint> all;
    Endpoint y = chain(g, x, b, d, all);
    Endpoint sum =
        g.add({"Sum", {y, g.constant(i32({1}, {0}))}, {{"keep_dims", AttrValue::of(false)}}, {DType::kFloat}});
    auto fused = g.fetch_all({y, sum});
    INFO(fused.status().message());
    REQUIRE(fused.ok());
    // A step fetched alone ends the group after itself, so each prefix is checked against the next.
    std::vector<Endpoint> every = all;
    every.push_back(sum);
    auto separate = g.fetch_all(every);
    REQUIRE(separate.ok());
    CHECK(same_bytes((*fused)[0], (*separate)[3]));
    CHECK(same_bytes((*fused)[1], (*separate)[4]));
    std::vector<float> want = floats(ramp(n));
    for (float& v : want) v = std::max((v + 1.25f) * v, 0.0f) * 0.5f;
    CHECK(floats((*fused)[0]) == want);
    double total = 0;
    for (float v : want) total += v;
    CHECK(floats((*fused)[1])[0] == Approx(total).epsilon(1e-5));
  }
}

TEST_CASE("steps that hand a number on in a register give the bytes of kernels one by one") {
  constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
  const DType f = DType::kFloat;
  for (int64_t rows : {1, 3, 700}) {
    for (int64_t channels : {1, 7, 16, 67}) {
      std::vector<float> special = {0.0f, -0.0f, 1e-40f, -1e-40f, kInfinity, -kInfinity, kNan, -kNan, 6.0f, 1e38f};
      std::vector<float> v = floats(ramp(rows * channels));
      for (size_t i = 0; i < v.size(); i += 3) v[i] = special[i / 3 % special.size()];
      RunCase g;
      const Endpoint x = g.constant(f32({rows, channels}, v)),
                     all = g.constant(ramp(rows * channels).reshaped({rows, channels})),
                     each = g.constant(ramp(channels)), one = g.constant(f32({}, {1.7f})),
                     none = g.constant(f32({}, {kNan}));
      std::vector<Endpoint> y;
      const auto step = [&](const char* op, std::vector<Endpoint> in) {
        y.push_back(g.add({op, std::move(in), {}, {f}}));
      };
      step("BiasAdd", {x, each});
      step("Mul", {y.back(), each});
      step("AddV2", {all, y.back()});
      step("Relu6", {y.back()});
      step("Sub", {one, y.back()});
      step("Sub", {y.back(), each});
      step("Relu", {y.back()});
      step("Mul", {one, y.back()});
      step("Add", {y.back(), x});  // a chain has eight steps at most
      step("Mul", {y.back(), y.back()});
      step("Add", {none, y.back()});
      INFO(rows << " x " << channels);
      check_fused_as_separate(g, y);
    }
  }
}

TEST_CASE("functions of a number, and one kept for a later step, give the bytes of kernels one by one") {
  constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
  const DType f = DType::kFloat;
  for (int64_t rows : {1, 3, 700}) {
    for (int64_t channels : {1, 7, 16, 67}) {
      std::vector<float> special = {0.0f, -0.0f, 1e-40f, kInfinity, -kInfinity, kNan, -kNan, -88.0f, 1e38f};
      std::vector<float> v = floats(ramp(rows * channels));
      for (size_t i = 0; i < v.size(); i += 3) v[i] = special[i / 3 % special.size()];
      RunCase g;
      const Endpoint x = g.constant(f32({rows, channels}, v)),
                     all = g.constant(ramp(rows * channels).reshaped({rows, channels})),
                     each = g.constant(ramp(channels)), one = g.constant(f32({}, {0.7f}));
      std::vector<Endpoint> y;
      const auto step = [&](const char* op, std::vector<Endpoint> in) {
        y.push_back(g.add({op, std::move(in), {}, {f}}));
        return y.back();
      };
      const Endpoint biased = step("BiasAdd", {x, each});
      step("Mul", {one, biased});
      step("Sigmoid", {y.back()});
      const Endpoint swish = step("Mul", {biased, y.back()});  // x * sigmoid(x), the number second
      step("Tanh", {swish});
      const Endpoint less = step("Sub", {y.back(), swish});  // the number first; the chain is full
      step("Elu", {less});
      step("AddV2", {all, y.back()});
      step("Mul", {y.back(), less});  // what stands between reads memory
      const Endpoint twice = step("Softplus", {y.back()});
      step("Mul", {twice, twice});
      step("Sub", {twice, y.back()});
      INFO(rows << " x " << channels);
      check_fused_as_separate(g, y);
    }
  }
}

TEST_CASE("memory that a group reads is not given to what it writes while it runs") {
  // x is read by the first step and by the last; z could lie where y dies.
  for (int64_t n : {7, 10000}) {
    RunCase g;
    DType f = DType::kFloat;
    Endpoint c = g.constant(ramp(n));
    Endpoint m = g.add({"MatMul", {g.constant(f32({1, 1}, {2})), g.constant(f32({1, 1}, {3}))}, {}, {f}});
    Endpoint s = g.add({"Reshape", {m, g.constant(i32({0}, {}))}, {}, {f}});
    Endpoint y = g.add({"Mul", {c, s}, {}, {f}});
    Endpoint z = g.add({"AddV2", {y, s}, {}, {f}});
    Endpoint w = g.add({"Sub", {z, y}, {}, {f}});
    auto r = g.fetch_all({w, z});
    INFO(r.status().message());
    REQUIRE(r.ok());
    auto in = floats(ramp(n)), got_w = floats((*r)[0]), got_z = floats((*r)[1]);
    for (size_t i = 0; i < in.size(); ++i) {
      float ys = in[i] * 6, zs = ys + 6;
      CHECK(got_z[i] == zs);
      CHECK(got_w[i] == zs - ys);
    }
  }
}

TEST_CASE("results do not depend on the number of threads") {
  RunCase g;
  std::vector<Endpoint> all;
  Endpoint y = chain(g, g.constant(ramp(3000001)), g.constant(f32({}, {0.1f})), g.constant(ramp(3000001)), all);
  Endpoint sum = g.add({"Sum", {y, g.constant(i32({1}, {0}))}, {{"keep_dims", AttrValue::of(false)}}, {DType::kFloat}});
  SessionOptions one;
  one.intra_op_threads = 1;
  auto a = g.fetch_all({sum}, one), b = g.fetch_all({sum});
  REQUIRE(a.ok());
  REQUIRE(b.ok());
  CHECK(same_bytes((*a)[0], (*b)[0]));
}

TEST_CASE("bias, the product's own input and an activation added to its rows give the bytes of separate steps") {
  DType f = DType::kFloat;
  for (int64_t n : {1, 5, 33, 130}) {
    RunCase g;
    // Made by a step, so that it lies in memory that dies with the addition.
    Endpoint a = g.add({"Mul", {g.constant(ramp(n * n).reshaped(Shape{n, n})), g.constant(f32({}, {0.01f}))}, {}, {f}});
    Endpoint b = g.constant(ramp(n * n).reshaped(Shape{n, n})), bias = g.constant(ramp(n));
    Endpoint product = g.add({"MatMul", {a, b}, {}, {f}});
    Endpoint biased = g.add({"BiasAdd", {product, bias}, {}, {f}});
    Endpoint sum = g.add({"AddV2", {biased, a}, {}, {f}});
    Endpoint y = g.add({"Relu", {sum}, {}, {f}});
    auto alone = g.fetch_all({a, product});
    auto fused = g.fetch_all({y});
    auto with_product = g.fetch_all({product, y});
    REQUIRE((alone.ok() && fused.ok() && with_product.ok()));
    std::vector<float> want = floats((*alone)[1]), in = floats((*alone)[0]), biases = floats(ramp(n));
    for (size_t i = 0; i < want.size(); ++i) want[i] = std::max((want[i] + biases[i % biases.size()]) + in[i], 0.0f);
    CHECK(floats((*fused)[0]) == want);
    CHECK(floats((*with_product)[1]) == want);
    CHECK(same_bytes((*with_product)[0], (*alone)[1]));
  }
}

namespace {

using AttrList = std::vector<std::pair<std::string, AttrValue>>;

/// A node of `g`, and what its kernel gives by itself.
std::pair<Endpoint, Tensor> node_and_value(RunCase& g, const std::string& op, std::vector<Endpoint> inputs,
                                           const std::vector<Tensor>& values, const AttrList& attrs, size_t outputs) {
  OpCase alone(op);
  for (const Tensor& value : values) alone.in(value);
  for (const auto& [name, value] : attrs) alone.attr(name, value);
  for (size_t i = 0; i < outputs; ++i) alone.out(DType::kFloat);
  auto out = alone.run();
  INFO(op << ": " << out.status().message());
  REQUIRE(out.ok());
  return {g.add({op, std::move(inputs), attrs, std::vector<DType>(outputs, DType::kFloat)}), (*out)[0]};
}

const AttrList kWindow = {{"strides", AttrValue::list_of<int64_t>(AttrKind::kInt, {1, 1, 1, 1})},
                          {"dilations", AttrValue::list_of<int64_t>(AttrKind::kInt, {1, 1, 1, 1})},
                          {"explicit_paddings", AttrValue::list_of<int64_t>(AttrKind::kInt, {})},
                          {"padding", AttrValue::of(std::string("SAME"))},
                          {"data_format", AttrValue::of(std::string("NHWC"))}};
AttrList norm_attrs(bool training) {
  return {{"is_training", AttrValue::of(training)},
          {"epsilon", AttrValue::of(0.001f)},
          {"exponential_avg_factor", AttrValue::of(1.0f)},
          {"data_format", AttrValue::of(std::string("NHWC"))}};
}

/// relu(batch_norm(head(image))), where `head` may be empty: fused, the bytes of one kernel after the other.
void check_normalised(Shape shape, const std::string& head, bool training) {
  RunCase g;
  const int64_t c = shape.dim(3);
  Tensor value = ramp(shape.num_elements()).reshaped(shape);
  Endpoint x = g.constant(value);
  if (!head.empty()) {
    Tensor filter = ramp(head == "Conv2D" ? 9 * c * c : 9 * c).reshaped({3, 3, c, head == "Conv2D" ? c : 1});
    std::tie(x, value) = node_and_value(g, head, {x, g.constant(filter)}, {value, filter}, kWindow, 1);
  }
  std::vector<Tensor> values = {value};
  std::vector<Endpoint> inputs = {x};
  for (int i = 0; i < 4; ++i) {
    const int64_t n = training && i > 1 ? 0 : c;
    values.push_back(ramp(n + 400 * i + 500).reshaped({n + 400 * i + 500}));
    std::vector<float> v = floats(values.back());
    v.erase(v.begin(), v.end() - n);
    for (float& f : v) f = std::abs(f) * 0.01f + 0.1f;
    values.back() = f32({n}, v);
    inputs.push_back(g.constant(values.back()));
  }
  auto [y, normalised] = node_and_value(g, "FusedBatchNormV3", inputs, values, norm_attrs(training), 6);
  auto [relu, want] = node_and_value(g, "Relu", {y}, {normalised}, {}, 1);
  auto fused = g.fetch_all({relu, {y.node, 1}});
  INFO(fused.status().message());
  REQUIRE(fused.ok());
  CHECK(same_bytes((*fused)[0], want));
  if (!training) CHECK(same_bytes((*fused)[1], values[3]));
  const Tensor axes = ints({0, 1, 2, 3});
  const AttrList keep = {{"keep_dims", AttrValue::of(false)}};
  for (auto [reduced, numbers] : {std::pair(y, normalised), std::pair(relu, want)}) {
    auto [sum, wanted] = node_and_value(g, "Sum", {reduced, g.constant(axes)}, {numbers, axes}, keep, 1);
    auto reduction = g.fetch_all({sum});
    INFO(reduction.status().message());
    REQUIRE(reduction.ok());
    CHECK(same_bytes((*reduction)[0], wanted));
  }
}

}  // namespace

TEST_CASE("batch normalisation in a group gives the bytes of its own kernel") {
  for (const Shape& shape : {Shape{2, 3, 5, 1}, Shape{1, 1, 1, 7}, Shape{2, 17, 31, 24}, Shape{1, 65, 3, 96},
                             Shape{3, 50, 2, 40}, Shape{1, 9, 7, 208}, Shape{1, 3, 5, 1040}}) {
    for (const std::string head : {"", "Conv2D", "DepthwiseConv2dNative"}) {
      INFO(shape.to_string() << " " << head);
      check_normalised(shape, head, false);
      check_normalised(shape, head, true);
    }
  }
}

namespace {

const AttrList kPlain = {{"transpose_a", AttrValue::of(false)}, {"transpose_b", AttrValue::of(false)}};

/// Which steps follow a convolution; all of those that it may do tile by tile, and some that it may not.
struct Steps {
  std::string by_column, other, then;
  bool second = false;  // what is added stands first
};

/// Numbers, and a few that are none, each with a mark of its own.
Tensor marked(const Shape& shape, int64_t every, uint32_t mark) {
  std::vector<float> v = floats(ramp(shape.num_elements()));
  for (size_t i = static_cast<size_t>(every) / 2; i < v.size(); i += static_cast<size_t>(every))
    v[i] = std::bit_cast<float>(0x7fc00000u + mark);
  return f32({static_cast<int64_t>(v.size())}, v).reshaped(shape);
}

/// Of a convolution to `channels`, or with 0 a depthwise one; without a window, of a product.
void check_tiles(const Shape& image, int64_t window, int64_t channels, const Steps& steps) {
  RunCase g;
  const int64_t depth = image.dim_from_end(1);
  const std::string head = window == 0 ? "MatMul" : channels > 0 ? "Conv2D" : "DepthwiseConv2dNative";
  const Shape filters =
      window == 0 ? Shape{depth, channels} : Shape{window, window, depth, std::max<int64_t>(channels, 1)};
  const Tensor pixels = marked(image, 97, 1), filter = ramp(filters.num_elements()).reshaped(filters);
  if (channels == 0) channels = depth;
  const Endpoint x = g.add({"Placeholder", {}, {{"shape", AttrValue::of(image)}}, {DType::kFloat}});
  Endpoint y;
  Tensor value;  // no structured binding: a lambda of clang++ 14 takes none
  std::tie(y, value) =
      node_and_value(g, head, {x, g.constant(filter)}, {pixels, filter}, window == 0 ? kPlain : kWindow, 1);
  const auto then = [&](const std::string& op, std::vector<Tensor> operands, const AttrList& attrs, size_t outputs) {
    std::vector<Endpoint> inputs = {y};
    for (const Tensor& operand : operands) inputs.push_back(g.constant(operand));
    operands.insert(operands.begin(), value);
    if (steps.second && operands.size() == 2) std::swap(operands[0], operands[1]), std::swap(inputs[0], inputs[1]);
    std::tie(y, value) = node_and_value(g, op, inputs, operands, attrs, outputs);
  };
  if (steps.by_column == "FusedBatchNormV3") {
    std::vector<float> moments(static_cast<size_t>(channels), 1.25f);
    const Tensor of_channel = ramp(channels), variance = f32({channels}, moments);
    then("FusedBatchNormV3", {of_channel, of_channel, of_channel, variance}, norm_attrs(false), 6);
  } else {
    std::istringstream ops(steps.by_column);
    uint32_t mark = 4;
    for (std::string op; ops >> op; ++mark) then(op, {marked({channels}, 7 + mark, mark)}, {}, 1);
  }
  if (!steps.other.empty()) then(steps.other, {marked(value.shape(), 31, 3)}, {}, 1);
  if (steps.then.starts_with("Swish")) {
    const Endpoint number = y;
    const Tensor numbers = value;
    if (steps.then == "Swish of 1") then("Mul", {f32({}, {1.0f})}, {}, 1);
    if (steps.then == "Swish of 0.5") then("Mul", {f32({}, {0.5f})}, {}, 1);  // in steps denormals are 0: there is none
    then("Sigmoid", {}, {}, 1);
    std::tie(y, value) = steps.second ? node_and_value(g, "Mul", {number, y}, {numbers, value}, {}, 1)
                                      : node_and_value(g, "Mul", {y, number}, {value, numbers}, {}, 1);
  } else if (!steps.then.empty()) {
    then(steps.then, {}, {}, 1);
  }
  for (const int threads : {1, 5}) {
    SessionOptions options;
    options.feeds = {{x, pixels}};
    options.intra_op_threads = threads;
    auto got = g.fetch_all({y}, options, 2);
    INFO(got.status().message());
    REQUIRE(got.ok());
    INFO(image.to_string() << ", " << threads << " threads");
    CHECK(same_results((*got)[0], value));
  }
}

}  // namespace

TEST_CASE("a constant filter of infinities meets the zeros beside an image") {
  for (const int64_t size : {3, 14}) {
    RunCase g;
    const Shape shape{1, size, size, 16}, filters{3, 3, 16, 24};
    const Tensor image = ramp(shape.num_elements()).reshaped(shape);
    std::vector<float> numbers = floats(ramp(filters.num_elements()));
    numbers[5] = std::numeric_limits<float>::infinity();
    const Tensor filter = f32({static_cast<int64_t>(numbers.size())}, numbers).reshaped(filters);
    const Endpoint x = g.add({"Placeholder", {}, {{"shape", AttrValue::of(shape)}}, {DType::kFloat}});
    const auto [y, want] = node_and_value(g, "Conv2D", {x, g.constant(filter)}, {image, filter}, kWindow, 1);
    SessionOptions options;
    options.feeds = {{x, image}};
    auto got = g.fetch_all({y}, options, 2);
    REQUIRE(got.ok());
    CHECK(std::isnan((*got)[0].data<float>()[5]));
    CHECK(same_results((*got)[0], want));
  }
}

TEST_CASE("what a convolution does to its tiles gives the bytes of separate kernels") {
  for (const std::string by_column : {"", "AddV2", "Mul", "FusedBatchNormV3", "Mul AddV2", "AddV2 Mul AddV2"}) {
    for (const std::string other : {"", "AddV2", "Sub"}) {
      for (const std::string then : {"", "Relu", "Relu6", "Tanh", "Swish", "Swish of 1", "Swish of 0.5"}) {
        for (const bool second : {false, true}) {
          INFO(by_column << ", " << other << ", " << then << (second ? ", operands first" : ""));
          check_tiles({1, 9, 7, 5}, 1, 24, {by_column, other, then, second});
          check_tiles({2, 5, 11, 9}, 3, 37, {by_column, other, then, second});
          check_tiles({1, 5, 11, 37}, 3, 0, {by_column, other, then, second});
          if (by_column == "FusedBatchNormV3") continue;
          check_tiles({15, 700}, 0, 37, {by_column, other, then, second});
        }
      }
    }
  }
  check_tiles({1, 14, 14, 3}, 3, 16, {"AddV2", "", "Relu", false});      // few channels to read
  check_tiles({1, 30, 30, 16}, 3, 5, {"AddV2", "AddV2", "Relu", true});  // few to write
  check_tiles({1, 4, 4, 600}, 3, 72, {"FusedBatchNormV3", "AddV2", "Relu6", false});
}

namespace {

AttrList pool_attrs(int64_t window, int64_t stride, const std::string& padding) {
  return {{"ksize", AttrValue::list_of<int64_t>(AttrKind::kInt, {1, window, window, 1})},
          {"strides", AttrValue::list_of<int64_t>(AttrKind::kInt, {1, stride, stride, 1})},
          {"explicit_paddings", AttrValue::list_of<int64_t>(AttrKind::kInt, {})},
          {"padding", AttrValue::of(padding)},
          {"data_format", AttrValue::of(std::string("NHWC"))}};
}

/// pool(relu(conv(image))), without the relu if `plain`; the image is fed, so that the step has to work it out.
void check_pooled(const Shape& shape, const std::string& op, const AttrList& attrs, bool plain) {
  RunCase g;
  const int64_t c = shape.dim(3);
  const Tensor image = ramp(shape.num_elements()).reshaped(shape), filter = ramp(9 * c * 24).reshaped({3, 3, c, 24});
  const Endpoint x = g.add({"Placeholder", {}, {{"shape", AttrValue::of(shape)}}, {DType::kFloat}});
  auto [y, value] = node_and_value(g, "Conv2D", {x, g.constant(filter)}, {image, filter}, kWindow, 1);
  if (!plain) std::tie(y, value) = node_and_value(g, "Relu", {y}, {value}, {}, 1);
  const auto [pooled, want] = node_and_value(g, op, {y}, {value}, attrs, 1);
  for (const int threads : {1, 5}) {
    SessionOptions options;
    options.feeds = {{x, image}};
    options.intra_op_threads = threads;
    for (const std::vector<Endpoint>& fetched : {std::vector<Endpoint>{pooled}, std::vector<Endpoint>{pooled, y}}) {
      auto got = g.fetch_all(fetched, options, 2);
      INFO(got.status().message());
      REQUIRE(got.ok());
      CHECK(same_bytes((*got)[0], want));
      if (fetched.size() > 1) CHECK(same_bytes((*got)[1], value));
    }
  }
}

}  // namespace

TEST_CASE("a pooling that takes a convolution's rows as they are finished gives the bytes of its own kernel") {
  for (const std::string op : {"MaxPool", "AvgPool"}) {
    for (const Shape& shape : {Shape{3, 28, 28, 1}, Shape{2, 17, 31, 16}, Shape{1, 2, 2, 40}, Shape{1, 90, 64, 3}}) {
      INFO(op << " of " << shape.to_string());
      check_pooled(shape, op, pool_attrs(2, 2, "VALID"), false);
      check_pooled(shape, op, pool_attrs(3, 2, "SAME"), true);
      check_pooled(shape, op, pool_attrs(3, 1, "SAME"), false);
      check_pooled(shape, op, pool_attrs(1, 2, "VALID"), true);
    }
  }
}

TEST_CASE("a follower makes each piece once, when its last row is there") {
  struct Pieces final : FollowingKernel {
    int64_t pieces() const override { return 3; }
    // Windows of three rows, two apart: row 6 belongs to none.
    Rows rows_of(int64_t piece) const override { return {piece * 2, std::min<int64_t>(piece * 2 + 3, 6)}; }
    void run_piece(KernelContext&, int64_t piece) const override { made.push_back(piece); }
    Status run(KernelContext&) override { return ok_status(); }
    mutable std::vector<int64_t> made;
  } kernel;
  KernelContext context;
  Follower follower(kernel, context);
  for (int step = 0; step < 2; ++step) {
    follower.begin();
    kernel.made.clear();
    follower.finished(6, 1);
    follower.finished(3, 3);
    CHECK(kernel.made == std::vector<int64_t>{2});
    follower.finished(0, 2);
    CHECK(kernel.made == std::vector<int64_t>{2});
    follower.finished(2, 1);
    CHECK(kernel.made == std::vector<int64_t>{2, 0, 1});
  }
}
