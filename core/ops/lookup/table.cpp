#include "core/ops/lookup/table.h"

#include <algorithm>
#include <cstring>

#include "core/ops/kit/element.h"

namespace emplace {
namespace {

std::string_view element_bytes(const Tensor& t, int64_t i) {
  if (t.dtype() == DType::kString) return t.data<std::string>()[i];
  return {static_cast<const char*>(element_at(t, i)), dtype_size(t.dtype())};
}

void set_element(Tensor& t, int64_t i, std::string_view bytes) {
  if (t.dtype() == DType::kString) {
    t.data<std::string>()[i] = bytes;
  } else {
    std::memcpy(element_at(t, i), bytes.data(), bytes.size());
  }
}

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

Status Table::fill(const Tensor& keys, const Tensor& values) {
  if (is_mutable) return invalid_argument(cat("Table localhost ", name, " is not initializable"));
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

void Table::insert(const Tensor& keys, const Tensor& values) {
  for (int64_t i = 0; i < keys.num_elements(); ++i)
    entries_.insert_or_assign(Text(element_bytes(keys, i)), Text(element_bytes(values, i)));
}

void Table::remove(const Tensor& keys) {
  for (int64_t i = 0; i < keys.num_elements(); ++i) {
    if (auto found = entries_.find(element_bytes(keys, i)); found != entries_.end()) entries_.erase(found);
  }
}

Status Table::find(const Tensor& keys, const Tensor& missing, Tensor& out) const {
  if (!filled()) return failed_precondition("Table not initialized.");
  const bool each = is_mutable && missing.shape().rank() > 0;
  for (int64_t i = 0; i < keys.num_elements(); ++i) {
    const auto found = entries_.find(element_bytes(keys, i));
    set_element(out, i, found != entries_.end() ? found->second : element_bytes(missing, each ? i : 0));
  }
  return ok_status();
}

void Table::copy_to(Tensor& keys, Tensor& values) const {
  std::vector<const Entries::value_type*> sorted;
  sorted.reserve(entries_.size());
  for (const auto& entry : entries_) sorted.push_back(&entry);
  std::sort(sorted.begin(), sorted.end(), [](auto* a, auto* b) { return a->first < b->first; });
  for (size_t i = 0; i < sorted.size(); ++i) {
    set_element(keys, static_cast<int64_t>(i), sorted[i]->first);
    set_element(values, static_cast<int64_t>(i), sorted[i]->second);
  }
}

}  // namespace emplace
