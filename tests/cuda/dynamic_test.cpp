// Kernels whose results depend on counting and sorting, and rows that are moved by number: the plug-in's against the
// CPU's, of every type in the table.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cstring>
#include <limits>

#include "tests/cuda/kernel_case.h"

namespace emplace::cuda::testing {
namespace {

using AttrList = std::vector<std::pair<std::string, AttrValue>>;

TEST_CASE("places of what is not zero") {
  for (DType t : types_of("Where")) {
    for (const Shape& shape : {Shape{0}, Shape{1}, Shape{256}, Shape{257}, Shape{3, 5, 7}, Shape{70, 90},
                               Shape{2, 1, 3, 1, 50}, Shape{4, 0, 2}}) {
      INFO(dtype_name(t) << " " << shape.to_string());
      Tensor x = uniform(t, shape, -2, 2);
      if (t != DType::kBool) {  // whole numbers: some are zero
        const Tensor mask = uniform(DType::kBool, shape, 0, 1, 3);
        for (int64_t i = 0; i < x.num_elements(); ++i) {
          if (mask.data<bool>()[i])
            std::memset(static_cast<char*>(x.raw()) + i * static_cast<int64_t>(dtype_size(t)), 0, dtype_size(t));
        }
      }
      CHECK(check({"Where", {x}, {}, {DType::kInt64}}) == "");
    }
  }
}

TEST_CASE("distinct values: all equal, all different, more than a tile") {
  for (DType t : types_of("Unique")) {
    for (int64_t n : {0, 1, 257, 2048, 2049}) {
      for (double reach : {0.4, 3.0, 100.0}) {
        for (DType index : {DType::kInt32, DType::kInt64}) {
          INFO(dtype_name(t) << ", " << n << " within " << reach);
          CHECK(check({"Unique", {uniform(t, Shape{n}, -reach, reach)}, {}, {t, index}}) == "");
        }
      }
    }
  }
}

TEST_CASE("the largest elements, of every type") {
  const AttrList sorted{{"sorted", AttrValue::of(true)}};
  for (DType t : types_of("TopKV2")) {
    for (int64_t columns : {1, 33, 300, 900}) {  // integers are equal often, also to those that a thread sees later
      for (int64_t k : {int64_t{0}, int64_t{1}, int64_t{32}, int64_t{33}, columns}) {
        if (k > columns) continue;
        INFO(dtype_name(t) << ", " << k << " of " << columns);
        CHECK(check({"TopKV2",
                     {uniform(t, Shape{3, columns}, -9, 9), Tensor::scalar<int32_t>(static_cast<int32_t>(k))},
                     sorted,
                     {t, DType::kInt32}}) == "");
      }
    }
  }
}

TEST_CASE("the largest elements by an attr, and targets among them") {
  for (DType t : types_of("ApproxTopK")) {
    for (int64_t k : {1, 32, 33}) {
      const AttrList attrs{
          {"k", AttrValue::of(k)}, {"aggregate_to_topk", AttrValue::of(true)}, {"recall_target", AttrValue::of(0.95F)}};
      CHECK(check({"ApproxTopK", {uniform(t, Shape{3, 300}, -9, 9)}, attrs, {t, DType::kInt32}}) == "");
    }
  }
  for (int64_t classes : {1, 33, 900}) {
    const auto end = static_cast<double>(classes + 1);
    CHECK(check({"InTopKV2",
                 {uniform(DType::kFloat, Shape{70, classes}, -9, 9), uniform(DType::kInt32, Shape{70}, -1, end),
                  Tensor::scalar<int32_t>(20)},
                 {},
                 {DType::kBool},
                 DType::kInt32}) == "");
  }
}

TEST_CASE("rows go where indices say, the last of several wins") {
  const Tensor first = uniform(DType::kInt32, Shape{5, 2}, 0, 300),
               second = uniform(DType::kInt32, Shape{300}, 0, 300, 2);
  for (std::string_view op : {"DynamicStitch", "ParallelDynamicStitch"}) {
    for (DType t : types_of(op)) {
      INFO(op << " " << dtype_name(t));
      // Every row has a place, so that none is left as it was.
      Tensor all = Tensor::allocate(DType::kInt32, Shape{300}).take();
      for (int32_t i = 0; i < 300; ++i) all.data<int32_t>()[i] = 299 - i;
      CHECK(check({op,
                   {all, first, second, uniform(t, Shape{300, 3}, -9, 9), uniform(t, Shape{5, 2, 3}, -9, 9, 2),
                    uniform(t, Shape{300, 3}, -9, 9, 3)},
                   {{"N", AttrValue::of(int64_t{3})}},
                   {t},
                   t}) == "");
    }
  }
}

TEST_CASE("boxes with equal scores, without a score, and such as cannot be compared") {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const float scores[] = {-1, -0.5f, -0.0f, 0, 0, 0.25f, 0.5f, 0.5f, 1, inf, -inf, nan};
  for (int64_t n : {1, 40, 700}) {
    const Tensor drawn = uniform(DType::kInt32, Shape{n}, 0, 12, 5), odd = uniform(DType::kInt32, Shape{n}, 0, 40, 6);
    Tensor boxes = uniform(DType::kFloat, Shape{n, 4}, 0, 10), score = Tensor::allocate(DType::kFloat, Shape{n}).take();
    for (int64_t i = 0; i < n; ++i) {
      score.data<float>()[i] = scores[drawn.data<int32_t>()[i]];
      if (odd.data<int32_t>()[i] < 2) boxes.data<float>()[4 * i] = odd.data<int32_t>()[i] == 0 ? nan : inf;
    }
    for (int32_t most : {1, 30, 700}) {
      for (float limit : {0.0f, 0.3f}) {
        INFO(n << " boxes, " << most << " wanted, " << limit);
        const std::vector<Tensor> inputs{boxes, score, Tensor::scalar(most), Tensor::scalar(limit)};
        CHECK(check({"NonMaxSuppressionV2", inputs, {}, {DType::kInt32}}) == "");
        for (float least : {-0.7f, 0.0f, 0.3f, 3e38f}) {  // the last: only infinite scores
          std::vector<Tensor> more = inputs;
          more.push_back(Tensor::scalar(least));
          CHECK(check({"NonMaxSuppressionV3", more, {}, {DType::kInt32}}) == "");
          for (bool pads : {false, true}) {
            const std::vector<std::pair<std::string, AttrValue>> attrs{{"pad_to_max_output_size", AttrValue::of(pads)}};
            CHECK(check({"NonMaxSuppressionV4", more, attrs, {DType::kInt32, DType::kInt32}}) == "");
          }
        }
      }
    }
  }
}

template <class T>
void check_means(DType type) {
  constexpr int64_t kRun = 37, kRows = 2000, kColumns = 3;
  const Tensor x = uniform(type, Shape{kRows, kColumns}, 100, 4000);  // sums of more than halves can be
  Tensor ids = Tensor::allocate(DType::kInt32, Shape{kRows}).take();
  for (int32_t i = 0; i < kRows; ++i) ids.data<int32_t>()[i] = i / kRun;
  const Tensor got = run({"SegmentMean", {x, ids}}).take().gpu[0];
  int wrong = 0;
  for (int64_t i = 0; i < got.num_elements(); ++i) {
    const int64_t run = i / kColumns, begin = run * kRun, end = std::min(begin + kRun, kRows);
    double sum = 0;
    for (int64_t row = begin; row < end; ++row)
      sum += static_cast<double>(static_cast<float>(x.data<T>()[row * kColumns + i % kColumns]));
    const T want(static_cast<float>(sum / static_cast<double>(end - begin)));
    wrong += std::memcmp(&want, got.data<T>() + i, sizeof want) != 0;
  }
  CHECK(wrong == 0);
}

TEST_CASE("means of many narrow numbers are rounded once") {
  check_means<half>(DType::kHalf);
  check_means<bfloat16>(DType::kBFloat16);
}

TEST_CASE("rows combined by number: every op and type, numbers that nobody has, many rows") {
  for (std::string_view op : {"SegmentSum", "SegmentMean", "SegmentProd", "SegmentMax", "SegmentMin"}) {
    for (DType t : types_of(op)) {
      for (DType index : {DType::kInt32, DType::kInt64}) {
        Tensor ids = Tensor::allocate(index, Shape{520}).take();
        for (int64_t i = 0; i < 520; ++i) {
          if (index == DType::kInt32)
            ids.data<int32_t>()[i] = static_cast<int32_t>(i / 3 * 2);
          else
            ids.data<int64_t>()[i] = i / 3 * 2;
        }
        INFO(op << " " << dtype_name(t));
        CHECK(check({op, {uniform(t, Shape{520, 3}, 0.5, 2), ids}}, 2) == "");
      }
    }
  }
  for (std::string_view op :
       {"UnsortedSegmentSum", "UnsortedSegmentProd", "UnsortedSegmentMax", "UnsortedSegmentMin"}) {
    for (DType t : types_of(op)) {
      INFO(op << " " << dtype_name(t));
      CHECK(check({op,
                   {uniform(t, Shape{257, 3}, 1, 3), uniform(DType::kInt64, Shape{257}, -3, 90, 2),
                    Tensor::scalar<int32_t>(90)}},
                  4) == "");
      CHECK(check({op,
                   {uniform(t, Shape{20, 30}, 1, 3), uniform(DType::kInt32, Shape{20, 30}, 0, 500, 2),
                    Tensor::scalar<int32_t>(500)}},
                  4) == "");
    }
  }
}

}  // namespace
}  // namespace emplace::cuda::testing
