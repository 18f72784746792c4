// What changes variables in place: optimizers, and rows put into them. The plug-in's kernels against the CPU's, of
// every type in the table, with sizes around a block's and beyond.
#include <catch2/catch.hpp>

#include <cmath>

#include "tests/cuda/kernel_case.h"

namespace emplace::cuda::testing {
namespace {

using AttrList = std::vector<std::pair<std::string, AttrValue>>;

constexpr int64_t kSizes[] = {0, 1, 255, 256, 257, 5000};

Tensor scalar(DType t, double value) { return uniform(t, Shape{}, value, value); }

struct Optimizer {
  std::string_view op;
  int variables;
  std::vector<double> before, after;  // scalars around the gradient
  std::string_view flag = {};
};

const Optimizer kOptimizers[] = {
    {"ApplyMomentum", 2, {0.1}, {0.9}, "use_nesterov"},
    {"ResourceApplyMomentum", 2, {0.1}, {0.9}, "use_nesterov"},
    {"ResourceApplyKerasMomentum", 2, {0.1}, {0.9}, "use_nesterov"},
    {"ApplyAdam", 3, {0.81, 0.99, 0.01, 0.9, 0.999, 1e-3}, {}, "use_nesterov"},
    {"ResourceApplyAdam", 3, {0.81, 0.99, 0.01, 0.9, 0.999, 1e-3}, {}, "use_nesterov"},
    {"ApplyAdagrad", 2, {0.1}, {}, "update_slots"},
    {"ResourceApplyAdagrad", 2, {0.1}, {}, "update_slots"},
    {"ApplyAdagradV2", 2, {0.1, 1e-3}, {}, "update_slots"},
    {"ResourceApplyAdagradV2", 2, {0.1, 1e-3}, {}, "update_slots"},
    {"ApplyFtrl", 3, {}, {0.1, 0.5, 0.25, -0.5}, "multiply_linear_by_lr"},
    {"ResourceApplyFtrl", 3, {}, {0.1, 0.5, 0.25, -0.25}, "multiply_linear_by_lr"},
    {"ApplyFtrlV2", 3, {}, {0.1, 0.5, 0.25, 0.125, -0.25}, "multiply_linear_by_lr"},
    {"ResourceApplyFtrlV2", 3, {}, {0.1, 0.5, 0.25, 0.125, -0.5}, "multiply_linear_by_lr"},
    {"ApplyRMSProp", 3, {0.1, 0.9, 0.5, 1e-2}, {}},
    {"ResourceApplyRMSProp", 3, {0.1, 0.9, 0.5, 1e-2}, {}},
    {"ApplyCenteredRMSProp", 4, {0.1, 0.9, 0.5, 0.5}, {}},
    {"ResourceApplyCenteredRMSProp", 4, {0.1, 0.9, 0.5, 0.5}, {}},
};

std::string updated(const Optimizer& o, DType t, int64_t n, bool flag) {
  KernelCase c{o.op, {}, {{"T", AttrValue::of(t)}, {"use_locking", AttrValue::of(false)}}, {}, t};
  if (!o.flag.empty()) c.attrs.emplace_back(o.flag, AttrValue::of(flag));
  // The variable stays away from 0, and the slots where a centred variance is not negative.
  c.variables.push_back(uniform(t, Shape{n}, 3, 4, 2));
  for (int k = 1; k < o.variables; ++k)
    c.variables.push_back(uniform(t, Shape{n}, 0.1 + 0.3 * k, 0.4 + 0.3 * k, static_cast<uint64_t>(k) + 2));
  for (double s : o.before) c.inputs.push_back(scalar(t, s));
  c.inputs.push_back(uniform(t, Shape{n}, 0.5, 1.5));
  for (double s : o.after) c.inputs.push_back(scalar(t, s));
  if (o.op.find("Ftrl") != o.op.npos) return check_by_largest(c, 64);  // a weight is a sum against l1
  return check(c, is_complex(t) ? 64 : 4);
}

TEST_CASE("optimizers update variables and their slots") {
  for (const Optimizer& o : kOptimizers) {
    for (DType t : types_of(o.op)) {
      for (int64_t n : kSizes) {
        INFO(o.op << " " << dtype_name(t) << ", " << n << " elements");
        CHECK(updated(o, t, n, false) == "");
        if (!o.flag.empty()) CHECK(updated(o, t, n, true) == "");
      }
    }
  }
}

TEST_CASE("gradient descent") {
  for (std::string_view op : {"ApplyGradientDescent", "ResourceApplyGradientDescent"}) {
    for (DType t : types_of(op)) {
      for (int64_t n : kSizes) {
        INFO(op << " " << dtype_name(t) << ", " << n << " elements");
        KernelCase c{op,
                     {scalar(t, 0.1), uniform(t, Shape{n}, -2, 2)},
                     {{"T", AttrValue::of(t)}, {"use_locking", AttrValue::of(false)}},
                     {},
                     t,
                     {uniform(t, Shape{n}, 3, 4, 2)}};
        CHECK(check(c, 2) == "");
      }
    }
  }
}

/// Numbers that every type adds up without rounding.
Tensor whole(DType t, Shape shape, uint64_t seed = 1) {
  Tensor numbers = uniform(t, shape, 0, 9, seed);
  for (int64_t i = 0; i < numbers.num_elements(); ++i) {
    if (t == DType::kHalf) numbers.data<half>()[i] = half(std::floor(static_cast<float>(numbers.data<half>()[i])));
    if (t == DType::kBFloat16)
      numbers.data<bfloat16>()[i] = bfloat16(std::floor(static_cast<float>(numbers.data<bfloat16>()[i])));
  }
  return numbers;
}

/// Indices of rows: repeated ones, the first and the last.
Tensor rows(DType t, int64_t count, int64_t below) {
  Tensor indices = uniform(t, Shape{count}, 0, static_cast<double>(below), 5);
  if (count > 2) {
    auto set = [&](int64_t at, int64_t value) {
      t == DType::kInt64 ? void(indices.data<int64_t>()[at] = value)
                         : void(indices.data<int32_t>()[at] = static_cast<int32_t>(value));
    };
    set(0, below - 1);
    set(1, 0);
    set(2, below - 1);
  }
  return indices;
}

TEST_CASE("rows are put into variables: repeated ones, few and many, one value for all") {
  struct Sizes {
    int64_t rows, slice, count;
  };
  const Sizes sizes[] = {{3, 1, 0}, {1, 1, 1}, {5, 3, 7}, {257, 1, 257}, {40, 17, 300}, {3000, 2, 2100}};
  for (std::string_view op : {"ScatterAdd", "ScatterSub", "ScatterUpdate", "ResourceScatterAdd", "ResourceScatterSub",
                              "ResourceScatterUpdate"}) {
    const bool by_handle = op.starts_with("Resource");
    for (DType t : types_of(op)) {
      for (const Sizes& s : sizes) {
        for (DType index : {DType::kInt32, DType::kInt64}) {
          for (bool one_value : {false, true}) {
            INFO(op << " " << dtype_name(t) << ", " << s.count << " of " << s.rows << " rows of " << s.slice << ", "
                    << dtype_name(index) << (one_value ? ", one value" : ""));
            const Shape updates = one_value ? Shape{} : Shape{s.count, s.slice};
            KernelCase c{op,
                         {rows(index, s.count, s.rows), whole(t, updates)},
                         {{by_handle ? "dtype" : "T", AttrValue::of(t)}, {"use_locking", AttrValue::of(false)}},
                         {},
                         t,
                         {whole(t, Shape{s.rows, s.slice}, 2)}};
            CHECK(check(c) == "");
          }
        }
      }
    }
  }
}

TEST_CASE("rows of variables are optimized: repeated ones one after the other") {
  struct Sizes {
    int64_t rows, slice, count;
  };
  for (std::string_view op :
       {"SparseApplyAdagrad", "ResourceSparseApplyAdagrad", "SparseApplyAdagradV2", "ResourceSparseApplyAdagradV2"}) {
    for (DType t : types_of(op)) {
      for (const Sizes& s : {Sizes{3, 1, 0}, Sizes{1, 5, 9}, Sizes{5, 3, 7}, Sizes{257, 1, 257}, Sizes{40, 17, 300},
                             Sizes{3000, 2, 2100}}) {
        for (DType index : {DType::kInt32, DType::kInt64}) {
          INFO(op << " " << dtype_name(t) << ", " << s.count << " of " << s.rows << " rows of " << s.slice << ", "
                  << dtype_name(index));
          KernelCase c{op,
                       {scalar(t, 0.1)},
                       {{"T", AttrValue::of(t)},
                        {"use_locking", AttrValue::of(false)},
                        {"update_slots", AttrValue::of(index == DType::kInt32)}},
                       {},
                       t,
                       {uniform(t, Shape{s.rows, s.slice}, 3, 4, 2), uniform(t, Shape{s.rows, s.slice}, 0.4, 0.7, 3)}};
          if (op.ends_with("V2")) c.inputs.push_back(scalar(t, 1e-3));
          c.inputs.push_back(uniform(t, Shape{s.count, s.slice}, 0.5, 1.5));
          c.inputs.push_back(rows(index, s.count, s.rows));
          CHECK(check(c, 4) == "");
        }
      }
    }
  }
}

TEST_CASE("rows of variables with two slots are optimized: repeated ones one after the other") {
  for (std::string_view op :
       {"SparseApplyFtrl", "ResourceSparseApplyFtrl", "SparseApplyFtrlV2", "ResourceSparseApplyFtrlV2"}) {
    for (DType t : types_of(op)) {
      for (DType index : {DType::kInt32, DType::kInt64}) {
        INFO(op << " " << dtype_name(t) << ", " << dtype_name(index));
        const Shape whole{40, 17};
        KernelCase c{op,
                     {uniform(t, Shape{90, 17}, 0.5, 1.5), rows(index, 90, 40)},
                     {{"T", AttrValue::of(t)},
                      {"use_locking", AttrValue::of(false)},
                      {"multiply_linear_by_lr", AttrValue::of(index == DType::kInt32)}},
                     {},
                     t,
                     {uniform(t, whole, 3, 4, 2), uniform(t, whole, 0.4, 0.7, 3), uniform(t, whole, 0.7, 1, 4)}};
        for (double s : {0.1, 0.5, 0.25}) c.inputs.push_back(scalar(t, s));
        if (op.ends_with("V2")) c.inputs.push_back(scalar(t, 0.125));
        c.inputs.push_back(scalar(t, index == DType::kInt32 ? -0.25 : -0.5));
        CHECK(check_by_largest(c, 64) == "");
      }
    }
  }
}

TEST_CASE("rows are taken out of variables") {
  for (DType t : types_of("ResourceGather")) {
    for (DType index : {DType::kInt32, DType::kInt64}) {
      for (int64_t batch_dims : {0, 1}) {
        INFO(dtype_name(t) << ", " << batch_dims << " batch dimensions");
        const Shape out = batch_dims == 0 ? Shape{3, 100, 40, 2} : Shape{3, 100, 2};
        KernelCase c{"ResourceGather",
                     {uniform(index, Shape{3, 100}, 0, 3)},
                     {{"dtype", AttrValue::of(t)}, {"batch_dims", AttrValue::of(batch_dims)}},
                     {t},
                     t,
                     {uniform(t, Shape{3, 40, 2}, -9, 9, 2)}};
        c.shapes = {out};
        CHECK(check(c) == "");
      }
    }
  }
}

TEST_CASE("rows are put into tensors") {
  for (std::string_view op : {"TensorScatterAdd", "TensorScatterSub", "TensorScatterUpdate"}) {
    for (DType t : types_of(op)) {
      INFO(op << " " << dtype_name(t));
      const Tensor into = whole(t, Shape{30, 20, 3}, 2), indices = uniform(DType::kInt32, Shape{500, 2}, 0, 20, 5);
      CHECK(check({op, {into, indices, whole(t, Shape{500, 3})}}) == "");
    }
  }
  for (DType t : types_of("ScatterNd")) {
    for (DType index : {DType::kInt32, DType::kInt64}) {
      INFO("ScatterNd " << dtype_name(t));
      Tensor shape = Tensor::allocate(index, Shape{2}).take();
      if (index == DType::kInt32)
        shape.data<int32_t>()[0] = 257, shape.data<int32_t>()[1] = 2;
      else
        shape.data<int64_t>()[0] = 257, shape.data<int64_t>()[1] = 2;
      Tensor where = uniform(index, Shape{600, 1}, 0, 257, 5);
      CHECK(check({"ScatterNd", {where, whole(t, Shape{600, 2}), shape}, {}, {t}, t}) == "");
    }
  }
}

}  // namespace
}  // namespace emplace::cuda::testing
