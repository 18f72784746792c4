#include "core/ops/lookup/dense_table.h"

#include <cstring>
#include <string_view>
#include <vector>

#include "core/base/cat.h"
#include "core/ops/kit/element.h"

namespace emplace {
namespace {

/// MurmurHash64A by Austin Appleby (public domain), with TensorFlow's seed.
uint64_t murmur_hash(std::string_view text) {
  constexpr uint64_t kSeed = 0xdecafcaffe, kFactor = 0xc6a4a7935bd1e995;
  constexpr int kShift = 47;
  uint64_t hash = kSeed ^ (text.size() * kFactor);
  for (; text.size() >= 8; text.remove_prefix(8)) {
    uint64_t part = 0;
    std::memcpy(&part, text.data(), 8);
    part *= kFactor;
    part ^= part >> kShift;
    hash = (hash ^ (part * kFactor)) * kFactor;
  }
  if (!text.empty()) {
    uint64_t rest = 0;
    std::memcpy(&rest, text.data(), text.size());
    hash = (hash ^ rest) * kFactor;
  }
  hash = (hash ^ (hash >> kShift)) * kFactor;
  return hash ^ (hash >> kShift);
}

uint64_t hash_of(const Tensor& keys, int64_t i) {
  if (keys.dtype() == DType::kString) return murmur_hash(keys.data<std::string>()[i]);
  return static_cast<uint64_t>(int_at(keys, i));
}

/// Of a vector, or of a scalar, which is one of one element.
Shape at_least_vector(const Shape& shape) { return shape.rank() == 0 ? Shape{1} : shape; }

}  // namespace

DenseTable::DenseTable(TableForm made_for, Tensor empty, Tensor deleted, float most_load)
    : Table(std::move(made_for)),
      empty_(std::move(empty)),
      deleted_(std::move(deleted)),
      most_load_(most_load),
      key_width_(form.key_shape.num_elements()),
      value_width_(form.value_shape.num_elements()) {}

Result<std::unique_ptr<Table>> DenseTable::make(TableForm form, const Tensor& empty, const Tensor& deleted,
                                                int64_t num_buckets, float most_load) {
  if (!(most_load > 0 && most_load < 1))
    return invalid_argument(cat("max_load_factor must be between 0 and 1, got: ", most_load));
  if (form.value_shape.rank() > 1)
    return invalid_argument(cat("Empty value must be a scalar or a vector, got shape ", form.value_shape.to_string()));
  if (empty.shape().rank() > 1)
    return invalid_argument(cat("Empty key must be a scalar or a vector, got shape ", empty.shape().to_string()));
  if (!(empty.shape() == deleted.shape())) {
    return invalid_argument(cat("Empty and deleted keys must have same shape, got shapes: ", empty.shape().to_string(),
                                " and ", deleted.shape().to_string()));
  }
  form.key_shape = empty.shape();
  Tensor own_empty, own_deleted;  // inputs live as long as the step
  for (const auto& [from, to] : {std::pair(&empty, &own_empty), std::pair(&deleted, &own_deleted)}) {
    ASSIGN_OR_RETURN(*to, Tensor::allocate(form.key_type, from->shape()));
    copy_elements(form.key_type, from->raw(), to->raw(), from->num_elements());
  }
  std::unique_ptr<DenseTable> made(
      new DenseTable(std::move(form), std::move(own_empty), std::move(own_deleted), most_load));
  if (made->same_key(made->empty_, 0, made->deleted_, 0))
    return invalid_argument("Empty and deleted keys cannot be equal");
  RETURN_IF_ERROR(made->allocate(num_buckets));
  return std::unique_ptr<Table>(std::move(made));
}

Status DenseTable::allocate(int64_t num_buckets) {
  if (num_buckets < 4 || (num_buckets & (num_buckets - 1)) != 0)
    return invalid_argument(cat("Number of buckets must be at least 4 and a power of 2, got: ", num_buckets));
  ASSIGN_OR_RETURN(Tensor keys, Tensor::allocate(form.key_type, Shape{num_buckets, key_width_}));
  ASSIGN_OR_RETURN(Tensor values, Tensor::allocate(form.value_type, Shape{num_buckets, value_width_}));
  for (int64_t i = 0; i < keys.num_elements(); ++i) set_element(keys, i, element_bytes(empty_, i % key_width_));
  if (form.value_type != DType::kString && values.size_bytes() > 0) std::memset(values.raw(), 0, values.size_bytes());
  keys_ = std::move(keys), values_ = std::move(values);
  entries_ = 0;
  return ok_status();
}

uint64_t DenseTable::hash(const Tensor& keys, int64_t row) const {
  if (key_width_ == 1) return hash_of(keys, row);
  uint64_t all = 0;
  for (int64_t i = 0; i < key_width_; ++i)
    all ^= hash_of(keys, row * key_width_ + i) + 0x9e3779b97f4a7800 + (all << 10) + (all >> 4);
  return all;
}

bool DenseTable::same_key(const Tensor& a, int64_t i, const Tensor& b, int64_t j) const {
  for (int64_t k = 0; k < key_width_; ++k) {
    if (element_bytes(a, i * key_width_ + k) != element_bytes(b, j * key_width_ + k)) return false;
  }
  return true;
}

Result<int64_t> DenseTable::count_of(const Tensor& keys) const {
  const int64_t count = keys.shape().rank() == 0 ? 1 : keys.shape().dim(0);
  if (keys.num_elements() == count * key_width_) return count;
  std::vector<int64_t> wanted{count};
  for (int64_t d : form.key_shape.dims()) wanted.push_back(d);
  return invalid_argument(cat("Expected key shape ", Shape(wanted).to_string(), " got ", keys.shape().to_string()));
}

Status DenseTable::check_reserved(const Tensor& keys, int64_t row) const {
  if (same_key(empty_, 0, keys, row)) return invalid_argument("Using the empty_key as a table key is not allowed");
  if (same_key(deleted_, 0, keys, row)) return invalid_argument("Using the deleted_key as a table key is not allowed");
  return ok_status();
}

int64_t DenseTable::bucket_of(const Tensor& keys, int64_t row) const {
  const int64_t buckets = keys_.shape().dim(0), mask = buckets - 1;
  auto bucket = static_cast<int64_t>(hash(keys, row) & static_cast<uint64_t>(mask));
  for (int64_t probes = 1;; ++probes) {
    if (same_key(keys_, bucket, keys, row)) return bucket;
    if (same_key(keys_, bucket, empty_, 0)) return -1;
    if (probes >= buckets) return -2;
    bucket = (bucket + probes) & mask;
  }
}

Status DenseTable::find(const Tensor& keys, const Tensor& missing, Tensor& out) const {
  ASSIGN_OR_RETURN(const int64_t count, count_of(keys));
  for (int64_t row = 0; row < count; ++row) {
    RETURN_IF_ERROR(check_reserved(keys, row));
    const int64_t bucket = bucket_of(keys, row);
    if (bucket == -2) return internal_error("Internal error in MutableDenseHashTable lookup");
    for (int64_t j = 0; j < value_width_; ++j) {
      set_element(out, row * value_width_ + j,
                  bucket < 0 ? element_bytes(missing, j) : element_bytes(values_, bucket * value_width_ + j));
    }
  }
  return ok_status();
}

Status DenseTable::put(const Tensor& keys, const Tensor& values, int64_t count, Reserved reserved) {
  const int64_t buckets = keys_.shape().dim(0), mask = buckets - 1;
  for (int64_t row = 0; row < count; ++row) {
    Status unused = check_reserved(keys, row);
    if (!unused.ok() && reserved == Reserved::kRefuse) return unused;
    if (!unused.ok()) continue;
    auto bucket = static_cast<int64_t>(hash(keys, row) & static_cast<uint64_t>(mask));
    for (int64_t probes = 1;; ++probes) {
      const bool there = same_key(keys_, bucket, keys, row);
      if (there || same_key(keys_, bucket, empty_, 0) || same_key(keys_, bucket, deleted_, 0)) {
        if (!there) ++entries_;
        for (int64_t j = 0; j < key_width_; ++j)
          set_element(keys_, bucket * key_width_ + j, element_bytes(keys, row * key_width_ + j));
        for (int64_t j = 0; j < value_width_; ++j)
          set_element(values_, bucket * value_width_ + j, element_bytes(values, row * value_width_ + j));
        break;
      }
      if (probes >= buckets) return internal_error("Internal error in MutableDenseHashTable insert");
      bucket = (bucket + probes) & mask;
    }
  }
  return ok_status();
}

Status DenseTable::grow(int64_t num_buckets) {
  const Tensor keys = keys_, values = values_;
  RETURN_IF_ERROR(allocate(num_buckets));
  return put(keys, values, keys.shape().dim(0), Reserved::kSkip);
}

Status DenseTable::insert(const Tensor& keys, const Tensor& values) {
  ASSIGN_OR_RETURN(const int64_t count, count_of(keys));
  const auto room = [this](int64_t buckets) { return static_cast<float>(buckets) * most_load_; };
  const auto pending = static_cast<float>(entries_ + count);
  int64_t buckets = keys_.shape().dim(0);
  while (pending > room(buckets)) buckets *= 2;
  if (buckets != keys_.shape().dim(0)) RETURN_IF_ERROR(grow(buckets));
  return put(keys, values, count, Reserved::kRefuse);
}

Status DenseTable::remove(const Tensor& keys) {
  if (keys.shape().rank() == 0) return invalid_argument("Expected key shape [1] got []");
  ASSIGN_OR_RETURN(const int64_t count, count_of(keys));
  for (int64_t row = 0; row < count; ++row) {
    RETURN_IF_ERROR(check_reserved(keys, row));
    const int64_t bucket = bucket_of(keys, row);
    if (bucket == -2) return internal_error("Internal error in MutableDenseHashTable remove");
    if (bucket < 0) continue;
    --entries_;
    for (int64_t j = 0; j < key_width_; ++j) set_element(keys_, bucket * key_width_ + j, element_bytes(deleted_, j));
  }
  return ok_status();
}

Status DenseTable::check_import(const Shape& keys, const Shape& values) const {
  RETURN_IF_ERROR(check_key_shape(form, keys));
  const int64_t key_row = at_least_vector(form.key_shape).dim(0), value_row = at_least_vector(form.value_shape).dim(0);
  std::vector<int64_t> wanted(keys.dims().begin(), keys.dims().end());
  if (!wanted.empty()) wanted.pop_back();
  wanted.push_back(value_row);
  RETURN_IF_ERROR(check_value_shape(Shape(wanted), values));
  if (keys.rank() == 2 && keys.dim(0) > 0 && keys.dim(1) == key_row) return ok_status();
  return invalid_argument(
      cat("Expected the keys of at least one bucket, of shape [?,", key_row, "], got ", keys.to_string()));
}

Status DenseTable::import(const Tensor& keys, const Tensor& values) {
  ASSIGN_OR_RETURN(Tensor own_keys, Tensor::allocate(form.key_type, keys.shape()));
  ASSIGN_OR_RETURN(Tensor own_values, Tensor::allocate(form.value_type, values.shape()));
  copy_elements(form.key_type, keys.raw(), own_keys.raw(), keys.num_elements());
  copy_elements(form.value_type, values.raw(), own_values.raw(), values.num_elements());
  keys_ = std::move(own_keys), values_ = std::move(own_values);
  entries_ = 0;
  for (int64_t i = 0; i < keys_.shape().dim(0); ++i)
    entries_ += same_key(keys_, i, empty_, 0) || same_key(keys_, i, deleted_, 0) ? 0 : 1;
  return ok_status();
}

void DenseTable::copy_to(Tensor& keys, Tensor& values) const {
  copy_elements(form.key_type, keys_.raw(), keys.raw(), keys_.num_elements());
  copy_elements(form.value_type, values_.raw(), values.raw(), values_.num_elements());
}

}  // namespace emplace
