// Work that is cut in pieces, and elements that go by packs: results are the CPU's wherever a cut falls.
#include <catch2/catch.hpp>

#include <cstring>
#include <limits>

#include "core/base/cat.h"
#include "cuda/product_batches.h"
#include "tests/cuda/kernel_case.h"

namespace emplace::cuda::testing {
namespace {

using AttrList = std::vector<std::pair<std::string, AttrValue>>;

/// -1, 0 and 1, whose sums are exact in every type; 1 and -1 where products are wanted.
Tensor whole(DType t, const Shape& shape, bool zeros = true) {
  Tensor x = Tensor::allocate(t, shape).take();
  const Tensor drawn = uniform(DType::kInt32, shape, 0, 3, 5), one = uniform(t, Shape{}, 1, 1),
               minus = uniform(t, Shape{}, -1, -1);
  const size_t size = dtype_size(t);
  std::memset(x.raw(), 0, x.size_bytes());
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    const int32_t kind = drawn.data<int32_t>()[i];
    if (kind != 0 || !zeros)
      std::memcpy(static_cast<char*>(x.raw()) + static_cast<size_t>(i) * size, (kind == 1 ? one : minus).raw(), size);
  }
  return x;
}
Tensor numbers(std::vector<int64_t> values) {
  Tensor t = Tensor::allocate(DType::kInt64, Shape{static_cast<int64_t>(values.size())}).take();
  std::memcpy(t.raw(), values.data(), t.size_bytes());
  return t;
}

/// Rows that meet in long runs: none, one, just a piece, one more, pieces of pieces; between them short ones, and
/// numbers that nobody has.
std::vector<int64_t> long_runs() {
  std::vector<int64_t> ids;
  int64_t id = 0;
  for (int64_t length : {1, 64, 65, 3, 128, 129, 63, 2, 4096, 1, 4097, 70, 64, 5000}) {
    ids.insert(ids.end(), static_cast<size_t>(length), id);
    id += 2;
  }
  return ids;
}

TEST_CASE("many rows for one place are combined in pieces") {
  const std::vector<int64_t> sorted = long_runs();
  const auto rows = static_cast<int64_t>(sorted.size());
  std::vector<int64_t> mixed = sorted;  // in another order
  for (size_t i = 0; i < mixed.size(); ++i) std::swap(mixed[i], mixed[i * 7919 % mixed.size()]);
  mixed[5] = -1;
  for (DType t : {DType::kFloat, DType::kHalf, DType::kDouble}) {
    for (std::string_view op : {"SegmentSum", "SegmentMean", "SegmentProd", "SegmentMax", "SegmentMin"}) {
      INFO(op << " " << dtype_name(t));
      CHECK(check({op, {whole(t, Shape{rows, 3}, op != "SegmentProd"), numbers(sorted)}}, 1) == "");
    }
  }
  for (DType t : {DType::kFloat, DType::kInt32, DType::kComplex64}) {
    for (std::string_view op :
         {"UnsortedSegmentSum", "UnsortedSegmentProd", "UnsortedSegmentMax", "UnsortedSegmentMin"}) {
      if (t == DType::kComplex64 && (op.ends_with("Max") || op.ends_with("Min"))) continue;
      INFO(op << " " << dtype_name(t));
      CHECK(check({op, {whole(t, Shape{rows, 2}, false), numbers(mixed), Tensor::scalar<int32_t>(30)}}) == "");
    }
  }
  for (int64_t n : {63, 64, 65, 127, 128, 129, 4095, 4096, 4097, 4160, 4161}) {
    INFO(n << " rows for one place");
    CHECK(check({"UnsortedSegmentSum",
                 {whole(DType::kInt32, Shape{n}), numbers(std::vector<int64_t>(static_cast<size_t>(n), 1)),
                  Tensor::scalar<int32_t>(3)}}) == "");
  }
}

TEST_CASE("many rows are added to, subtracted from and put into one row of a variable") {
  const Tensor ids = numbers(long_runs());
  const int64_t rows = ids.num_elements();
  for (std::string_view op : {"ResourceScatterAdd", "ResourceScatterSub", "ResourceScatterUpdate"}) {
    for (DType t : {DType::kFloat, DType::kInt64, DType::kHalf}) {
      for (bool one_value : {false, true}) {
        INFO(op << " " << dtype_name(t) << (one_value ? ", one value for all" : ""));
        const Tensor updates = one_value ? uniform(t, Shape{}, 1, 1) : whole(t, Shape{rows, 5});
        // A half holds no whole number beyond 2048.
        if (t == DType::kHalf && one_value && op != "ResourceScatterUpdate") continue;
        KernelCase c{op, {ids, updates}};
        c.variables = {whole(t, Shape{30, 5})};
        CHECK(check(c) == "");
      }
    }
  }
}

TEST_CASE("a long run of one value, and of what equals nothing, has the first as its head") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  Tensor x = uniform(DType::kFloat, Shape{5000}, -2, 2, 3);
  for (int64_t i = 0; i < 5000; ++i) {
    float& value = x.data<float>()[i];
    value = i % 97 == 0 ? nan : value < 1 ? 0.0f : value;
  }
  // NaNs are told apart by where they stand: all but them is compared.
  const Result<Answers> both = run({"Unique", {x}, {}, {DType::kFloat, DType::kInt32}});
  REQUIRE(both.ok());
  CHECK(difference(both->cpu[1], both->gpu[1], 0) == "");
  CHECK(both->cpu[0].num_elements() == both->gpu[0].num_elements());
}

TEST_CASE("the largest of rows that are sorted together, and of more than go together") {
  const AttrList sorted{{"sorted", AttrValue::of(true)}};
  for (DType t : {DType::kFloat, DType::kInt8, DType::kHalf, DType::kDouble, DType::kUInt32}) {
    INFO(dtype_name(t));
    CHECK(check({"TopKV2",
                 {uniform(t, Shape{37, 130}, 0, 100), Tensor::scalar<int32_t>(40)},
                 sorted,
                 {t, DType::kInt32}}) == "");
  }
  CHECK(check({"TopKV2",
               {uniform(DType::kInt8, Shape{36, 30000}, -100, 100), Tensor::scalar<int32_t>(33)},
               sorted,
               {DType::kInt8, DType::kInt32}}) == "");
}

/// Of images of size x size pixels; "" if it is the CPU's.
std::string depthwise_filter_gradient(const std::string& format, int64_t size, int64_t stride, int64_t channels,
                                      int64_t multiplier) {
  const int64_t n = 2, out = channels * multiplier, rows = (size + stride - 1) / stride;
  const bool last = format == "NHWC";
  const Shape image = last ? Shape{n, size, size, channels} : Shape{n, channels, size, size},
              gradient = last ? Shape{n, rows, rows, out} : Shape{n, out, rows, rows};
  Tensor sizes = Tensor::allocate(DType::kInt32, Shape{4}).take();
  const int64_t filter[4] = {3, 3, channels, multiplier};
  for (int i = 0; i < 4; ++i) sizes.data<int32_t>()[i] = static_cast<int32_t>(filter[i]);
  const std::vector<int64_t> strides =
      last ? std::vector<int64_t>{1, stride, stride, 1} : std::vector<int64_t>{1, 1, stride, stride};
  return check({"DepthwiseConv2dNativeBackpropFilter",
                {whole(DType::kFloat, image), sizes, whole(DType::kFloat, gradient)},
                {{"strides", AttrValue::list_of(AttrKind::kInt, strides)},
                 {"padding", AttrValue::of(std::string("SAME"))},
                 {"data_format", AttrValue::of(format)}},
                {},
                DType::kFloat});
}

TEST_CASE("a depthwise filter's gradient is made in pieces, of many channels side by side or one") {
  for (std::string format : {"NHWC", "NCHW"}) {
    for (int64_t channels : {1, 31, 33}) {
      for (int64_t multiplier : {1, 2}) {
        for (int64_t stride : {1, 2}) {  // five pieces, one piece, where channels lie side by side
          INFO(format << ", " << channels << " channels times " << multiplier << ", stride " << stride);
          CHECK(depthwise_filter_gradient(format, 37, stride, channels, multiplier) == "");
        }
      }
    }
  }
  CHECK(depthwise_filter_gradient("NCHW", 131, 1, 1, 1) == "");  // two pieces
}

TEST_CASE("sums that are too large for floats, and infinite ones, are those of doubles") {
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<std::vector<float>> starts = {{3e38f, 3e38f, -3e38f}, {inf, 1}, {-inf, inf}, {1, -inf, 2}};
  for (const auto& start : starts) {
    Tensor x = Tensor::allocate(DType::kFloat, Shape{700, 2}).take();
    std::memset(x.raw(), 0, x.size_bytes());
    for (size_t i = 0; i < start.size(); ++i) x.data<float>()[i * 512] = start[i];
    for (std::string_view op : {"Sum", "Mean"}) {
      for (int32_t axis : {0, 1}) {
        INFO(op << " over " << axis << " of " << start[0] << ", ...");
        CHECK(check({op, {x, Tensor::scalar<int32_t>(axis)}, {{"keep_dims", AttrValue::of(false)}}}) == "");
      }
    }
  }
  CHECK(check({"L2Loss", {uniform(DType::kFloat, Shape{100}, 1.9e19, 2e19)}}) == "");
  CHECK(check({"L2Loss", {uniform(DType::kFloat, Shape{100003}, -1, 1)}}) == "");
  for (DType t : types_of("EuclideanNorm")) {
    CHECK(check({"EuclideanNorm",
                 {uniform(t, Shape{3, 1000, 2}, -1, 1), Tensor::of<int32_t>(Shape{1}, std::vector<int32_t>{1})},
                 {{"keep_dims", AttrValue::of(false)}}},
                4) == "");
  }
}

TEST_CASE("biases of every number of channels, in both layouts, to the last element") {
  for (DType t : types_of("BiasAdd")) {
    for (int64_t channels : {1, 2, 3, 4, 7, 8, 16, 17}) {
      for (bool first : {false, true}) {
        for (int64_t inner : {1, 5, 8}) {
          const Shape shape = first ? Shape{3, channels, inner} : Shape{3, inner, channels};
          const AttrList attrs{{"data_format", AttrValue::of(std::string(first ? "NCHW" : "NHWC"))}};
          INFO(dtype_name(t) << " " << shape.to_string() << (first ? " channels first" : ""));
          CHECK(check({"BiasAdd", {uniform(t, shape, -9, 9), uniform(t, Shape{channels}, -9, 9, 2)}, attrs}) == "");
        }
      }
    }
  }
}

TEST_CASE("choices by packs, of rows, of single elements and of repeated ones") {
  const Shape shapes[] = {Shape{},      Shape{16},       Shape{3, 1}, Shape{1, 16},
                          Shape{3, 16}, Shape{2, 3, 16}, Shape{17},   Shape{3, 17}};
  for (DType t : types_of("SelectV2")) {
    for (const Shape& condition : shapes) {
      for (const Shape& a : shapes) {
        const bool even = condition.num_elements() % 17 != 0 && a.num_elements() % 17 != 0;
        if (!even && (condition.num_elements() % 16 == 0 || a.num_elements() % 16 == 0)) continue;
        INFO(dtype_name(t) << " " << condition.to_string() << " " << a.to_string());
        CHECK(check({"SelectV2",
                     {uniform(DType::kBool, condition, 0, 1), uniform(t, a, -9, 9),
                      uniform(t, even ? Shape{3, 16} : Shape{3, 17}, -9, 9, 2)},
                     {},
                     {t},
                     t}) == "");
      }
    }
  }
}

TEST_CASE("rows of any number of bytes are taken") {
  const Tensor picks = numbers({0, 6, 3, 3, 1});
  for (DType t : {DType::kInt8, DType::kHalf, DType::kFloat, DType::kDouble, DType::kComplex128}) {
    for (int64_t row : {1, 2, 3, 4, 6, 8, 16, 24}) {
      INFO(dtype_name(t) << ", " << row << " elements");
      CHECK(check({"GatherV2",
                   {uniform(t, Shape{3, 2, 7, row}, -9, 9), uniform(DType::kInt32, Shape{3, 5}, 0, 7),
                    Tensor::scalar<int32_t>(2)},
                   {{"batch_dims", AttrValue::of(int64_t{1})}}}) == "");
      CHECK(check({"GatherV2",
                   {uniform(t, Shape{2, 7, row}, -9, 9), picks, Tensor::scalar<int32_t>(1)},
                   {{"batch_dims", AttrValue::of(int64_t{0})}}}) == "");
      CHECK(check({"GatherNd", {uniform(t, Shape{7, row}, -9, 9), picks.reshaped(Shape{5, 1})}}) == "");
    }
  }
}

TEST_CASE("elements of classes of which there are more than threads") {
  for (int64_t classes : {255, 256, 257, 1000}) {
    const AttrList seeds{{"seed", AttrValue::of(int64_t{3})}, {"seed2", AttrValue::of(int64_t{5})}};
    INFO(classes << " classes");
    CHECK(check({"Multinomial",
                 {uniform(DType::kFloat, Shape{3, classes}, -2, 2), Tensor::scalar<int32_t>(200)},
                 seeds,
                 {DType::kInt64}}) == "");
  }
}

TEST_CASE("a library that takes one axis of a batch is given every product once, in the fewest calls") {
  const std::pair<Shape, Shape> cases[] = {
      {Shape{}, Shape{}},         {Shape{5}, Shape{5}},          {Shape{5}, Shape{1}},
      {Shape{3, 1}, Shape{1, 4}}, {Shape{2, 1, 5}, Shape{3, 1}}, {Shape{7, 1, 2}, Shape{1, 3, 1}}};
  for (const auto& [a, b] : cases) {
    INFO(a.to_string() << " " << b.to_string());
    Shape all;
    for (int back = std::max(a.rank(), b.rank()); back >= 1; --back) {
      all.add_dim(std::max(back <= a.rank() ? a.dim_from_end(back) : 1, back <= b.rank() ? b.dim_from_end(back) : 1));
    }
    const auto batches = plan_broadcast<2>({&a, &b}, all).take();
    const auto calls = ProductBatches::of(batches);
    REQUIRE(calls.has_value());
    int64_t longest = 1;
    for (int d = 0; d < batches.dims; ++d) longest = std::max(longest, batches.size[d]);
    CHECK(static_cast<int64_t>(calls->starts.size()) == batches.elements / longest);
    std::vector<bool> made(static_cast<size_t>(all.num_elements()));
    for (const ProductBatches::Start& s : calls->starts) {
      for (int64_t i = 0; i < calls->count; ++i) {
        const int64_t out = s.out + i * calls->out_step;
        const auto want = batches.offsets(out);
        CHECK(s.a + i * calls->a_step == want.at[0]);
        CHECK(s.b + i * calls->b_step == want.at[1]);
        CHECK(!made[static_cast<size_t>(out)]);
        made[static_cast<size_t>(out)] = true;
      }
    }
    CHECK(std::find(made.begin(), made.end(), false) == made.end());
  }
  const Shape many{300, 1, 300}, other{1, 300, 1}, all{300, 300, 300};
  CHECK(!ProductBatches::of(plan_broadcast<2>({&many, &other}, all).take()));
}

}  // namespace
}  // namespace emplace::cuda::testing
