#include "core/ops/lookup/hashed_table.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/base/cat.h"
#include "core/ops/kit/element.h"

namespace emplace {
namespace {

std::string element_name(const Tensor& t, int64_t i) {
  switch (t.dtype()) {
    case DType::kString:
      return t.data<std::string>()[i];
    case DType::kInt32:
    case DType::kInt64:
      return cat(int_at(t, i));
    case DType::kBool:
      return cat(t.data<bool>()[i] ? 1 : 0);
    case DType::kFloat:
      return cat(t.data<float>()[i]);
    default:
      return cat(t.data<double>()[i]);
  }
}

}  // namespace

HashedTable::HashedTable(TableForm made_for) : Table(std::move(made_for)), width_(form.value_shape.num_elements()) {}

bool HashedTable::lists_texts() const { return form.value_type == DType::kString && form.value_shape.rank() > 0; }

HashedTable::Text HashedTable::value_at(const Tensor& values, int64_t row) const {
  if (form.value_shape.rank() == 0) return Text(element_bytes(values, row));
  Text out;
  for (int64_t i = 0; i < width_; ++i) {
    const std::string_view bytes = element_bytes(values, row * width_ + i);
    const size_t size = bytes.size();
    if (lists_texts()) out.append(reinterpret_cast<const char*>(&size), sizeof size);
    out += bytes;
  }
  return out;
}

void HashedTable::set_value(Tensor& out, int64_t row, std::string_view bytes) const {
  if (form.value_shape.rank() == 0) return set_element(out, row, bytes);
  for (int64_t i = 0; i < width_; ++i) {
    size_t size = dtype_size(form.value_type);
    if (lists_texts()) {
      std::memcpy(&size, bytes.data(), sizeof size);
      bytes.remove_prefix(sizeof size);
    }
    set_element(out, row * width_ + i, bytes.substr(0, size));
    bytes.remove_prefix(size);
  }
}

Status HashedTable::fill(const Tensor& keys, const Tensor& values) {
  if (form.is_mutable) return Table::fill(keys, values);
  if (keys.num_elements() == 0) return invalid_argument("keys and values cannot be empty tensors.");
  if (filled_) {
    if (keys.num_elements() == size()) return ok_status();
    return failed_precondition("Table was already initialized with different data.");
  }
  Entries entries;
  entries.reserve(static_cast<size_t>(keys.num_elements()));
  Tensor found;  // of the values' type, for the message
  for (int64_t i = 0; i < keys.num_elements(); ++i) {
    const auto [at, is_new] = entries.try_emplace(Text(element_bytes(keys, i)), element_bytes(values, i));
    if (is_new || at->second == element_bytes(values, i)) continue;
    ASSIGN_OR_RETURN(found, Tensor::allocate(values.dtype(), Shape{}));
    set_element(found, 0, at->second);
    return failed_precondition(cat("HashTable has different value for same key. Key ", element_name(keys, i), " has ",
                                   element_name(found, 0), " and trying to add value ", element_name(values, i)));
  }
  entries_ = std::move(entries);
  filled_ = true;
  return ok_status();
}

Status HashedTable::insert(const Tensor& keys, const Tensor& values) {
  for (int64_t i = 0; i < keys.num_elements(); ++i)
    entries_.insert_or_assign(Text(element_bytes(keys, i)), value_at(values, i));
  return ok_status();
}

Status HashedTable::remove(const Tensor& keys) {
  for (int64_t i = 0; i < keys.num_elements(); ++i) {
    if (auto found = entries_.find(element_bytes(keys, i)); found != entries_.end()) entries_.erase(found);
  }
  return ok_status();
}

Status HashedTable::import(const Tensor& keys, const Tensor& values) {
  if (!form.is_mutable) return fill(keys, values);
  entries_.clear();
  return insert(keys, values);
}

Status HashedTable::find(const Tensor& keys, const Tensor& missing, Tensor& out) const {
  if (!filled()) return failed_precondition("Table not initialized.");
  const bool each = form.is_mutable && missing.shape().rank() > form.value_shape.rank();
  const Text one = each || missing.num_elements() < width_ ? Text() : value_at(missing, 0);
  for (int64_t i = 0; i < keys.num_elements(); ++i) {
    const auto found = entries_.find(element_bytes(keys, i));
    if (found != entries_.end()) {
      set_value(out, i, found->second);
    } else if (each) {
      set_value(out, i, value_at(missing, i));
    } else {
      set_value(out, i, one);
    }
  }
  return ok_status();
}

std::pair<Shape, Shape> HashedTable::export_shapes() const {
  const Shape keys{size()};
  return {keys, shape_of_values(form, keys)};
}

void HashedTable::copy_to(Tensor& keys, Tensor& values) const {
  std::vector<const Entries::value_type*> sorted;
  sorted.reserve(entries_.size());
  for (const auto& entry : entries_) sorted.push_back(&entry);
  std::sort(sorted.begin(), sorted.end(), [](auto* a, auto* b) { return a->first < b->first; });
  for (size_t i = 0; i < sorted.size(); ++i) {
    set_element(keys, static_cast<int64_t>(i), sorted[i]->first);
    set_value(values, static_cast<int64_t>(i), sorted[i]->second);
  }
}

}  // namespace emplace
