#include "core/report/reduce/simplify.h"

#include <algorithm>
#include <cstring>

#include "core/base/cat.h"
#include "core/report/reduce/shrink.h"
#include "core/tensor/element.h"

namespace emplace {
namespace {

int64_t now(const std::map<int64_t, int64_t>& changed, int64_t size) {
  const auto at = changed.find(size);
  return at == changed.end() ? size : at->second;
}

/// The elements whose index in every dimension is below `to`'s. REQUIRES: same rank, no dimension larger.
Tensor corner_of(const Tensor& value, const Shape& to) {
  Result<Tensor> made = Tensor::allocate(value.dtype(), to);
  if (!made.ok() || to.rank() == 0) return value;
  Tensor corner = made.take();
  const int last = to.rank() - 1;
  const int64_t row = to.dim(last), bytes = static_cast<int64_t>(dtype_size(value.dtype()));
  for (int64_t at = 0; at < corner.num_elements(); at += row) {
    int64_t rest = at / row, from = 0, stride = value.shape().dim(last);
    for (int d = last - 1; d >= 0; --d) {
      from += rest % to.dim(d) * stride;
      rest /= to.dim(d);
      stride *= value.shape().dim(d);
    }
    if (value.dtype() == DType::kString)
      std::copy_n(value.data<std::string>() + from, row, corner.data<std::string>() + at);
    else
      std::memcpy(corner.data<char>() + at * bytes, value.data<char>() + from * bytes,
                  static_cast<size_t>(row * bytes));
  }
  return corner;
}

Tensor with_sizes(const Tensor& value, const std::map<int64_t, int64_t>& sizes) {
  std::vector<int64_t> dims;
  bool changed = false;
  for (const int64_t size : value.shape().dims()) {
    dims.push_back(now(sizes, size));
    changed |= dims.back() != size;
  }
  return changed ? corner_of(value, Shape(dims)) : value;
}

/// Of a short list of integers.
Tensor with_numbers(const Tensor& value, const std::map<int64_t, int64_t>& numbers) {
  constexpr int64_t kMostDims = 16;
  const bool is_list = value.shape().rank() <= 1 && value.num_elements() <= kMostDims;
  if (numbers.empty() || !is_list || (value.dtype() != DType::kInt32 && value.dtype() != DType::kInt64)) return value;
  Result<Tensor> made = Tensor::allocate(value.dtype(), value.shape());
  if (!made.ok()) return value;
  const Tensor changed = made.take();
  for (int64_t i = 0; i < value.num_elements(); ++i) {
    const int64_t number = now(numbers, int_at(value, i));
    if (value.dtype() == DType::kInt32)
      changed.data<int32_t>()[i] = static_cast<int32_t>(number);
    else
      changed.data<int64_t>()[i] = number;
  }
  return changed;
}

Tensor filled(const Tensor& value, int number) {
  Result<Tensor> made = Tensor::allocate(value.dtype(), value.shape());
  if (!made.ok()) return value;
  const Tensor out = made.take();
  const bool has_numbers = with_type(
      value.dtype(), [&]<class T>() { std::fill_n(out.data<T>(), out.num_elements(), number_as<T>(number)); });
  return has_numbers ? out : value;
}

}  // namespace

Tensor Simpler::value_of(const Endpoint& tensor, const Tensor& value) const {
  Tensor changed = with_numbers(with_sizes(value, sizes), numbers);
  const auto one = values.find({tensor.node, tensor.slot});
  if (one != values.end()) return filled(changed, one->second);
  return all_values ? filled(changed, *all_values) : changed;
}

std::string Simpler::values_key() const {
  std::string key = all_values ? cat(*all_values) : "";
  for (const auto& [tensor, number] : values) append(key, ' ', tensor.first, ':', tensor.second, '=', number);
  for (const auto* changed : {&sizes, &numbers}) {
    for (const auto& [from, to] : *changed) append(key, ' ', from, '-', to);
    key += ';';
  }
  return key;
}

Result<bool> Simplify::fails(Simpler candidate) {
  if (tries_left_ <= 0) return false;
  --tries_left_;
  ASSIGN_OR_RETURN(const bool failed, test_(candidate));
  if (failed) simplest_ = std::move(candidate);
  return failed;
}

Status Simplify::drop_attrs() {
  if (parts_.attrs.empty()) return ok_status();
  const auto without = [&](const Shrink::Nodes& kept) {
    Simpler candidate = simplest_;
    candidate.no_attrs.clear();
    for (size_t i = 0; i < kept.size(); ++i) {
      if (!kept[i]) candidate.no_attrs.insert(parts_.attrs[i]);
    }
    return candidate;
  };
  ASSIGN_OR_RETURN(const bool none, fails(without(Shrink::Nodes(parts_.attrs.size(), 0))));
  if (none) return ok_status();
  Shrink shrink(
      [&](const std::vector<Shrink::Nodes>& candidates) -> Result<std::vector<char>> {
        ASSIGN_OR_RETURN(const bool failed, fails(without(candidates.front())));
        return std::vector<char>{static_cast<char>(failed)};
      },
      [](Shrink::Nodes&) {});
  return shrink.smallest(Shrink::Nodes(parts_.attrs.size(), 1)).take_status();
}

/// In shapes alone, or in integers that are as large, too, as the constants of a Reshape.
Result<bool> Simplify::fails_with_sizes(const std::map<int64_t, int64_t>& sizes) {
  for (const bool in_numbers : {false, true}) {
    Simpler candidate = simplest_;
    for (const auto& [from, to] : sizes) {
      candidate.sizes[from] = to;
      if (in_numbers) candidate.numbers[from] = to;
    }
    ASSIGN_OR_RETURN(const bool failed, fails(std::move(candidate)));
    if (failed) return true;
  }
  return false;
}

/// One size: as small as can be at once, else its half, a quarter, ...
Status Simplify::make_smaller(int64_t size) {
  ASSIGN_OR_RETURN(bool failed, fails_with_sizes({{size, 1}}));
  if (failed) return ok_status();
  for (int64_t to = size / 2; to > 1; to /= 2) {
    ASSIGN_OR_RETURN(failed, fails_with_sizes({{size, to}}));
    if (!failed) break;
  }
  return ok_status();
}

Status Simplify::make_smaller() {
  std::map<int64_t, int64_t> all;
  for (const int64_t size : parts_.sizes) all[size] = 1;
  if (all.empty()) return ok_status();
  ASSIGN_OR_RETURN(const bool ones, fails_with_sizes(all));
  if (ones) return ok_status();
  for (auto size = parts_.sizes.rbegin(); size != parts_.sizes.rend(); ++size) RETURN_IF_ERROR(make_smaller(*size));
  return ok_status();
}

/// All of them 0, or 1; else one by one.
Status Simplify::set_values() {
  if (parts_.values.empty()) return ok_status();
  for (const int number : {0, 1}) {
    Simpler candidate = simplest_;
    candidate.all_values = number;
    ASSIGN_OR_RETURN(const bool failed, fails(std::move(candidate)));
    if (failed) return ok_status();
  }
  if (parts_.values.size() == 1) return ok_status();
  for (const Endpoint& tensor : parts_.values) {
    for (const int number : {0, 1}) {
      Simpler candidate = simplest_;
      candidate.values[{tensor.node, tensor.slot}] = number;
      ASSIGN_OR_RETURN(const bool failed, fails(std::move(candidate)));
      if (failed) break;
    }
  }
  return ok_status();
}

Result<Simpler> Simplify::simplest() {
  for (bool Simpler::*what : {&Simpler::no_controls, &Simpler::no_colocation, &Simpler::no_devices}) {
    Simpler candidate = simplest_;
    candidate.*what = true;
    RETURN_IF_ERROR(fails(std::move(candidate)).take_status());
  }
  RETURN_IF_ERROR(drop_attrs());
  RETURN_IF_ERROR(make_smaller());
  RETURN_IF_ERROR(set_values());
  return simplest_;
}

}  // namespace emplace
