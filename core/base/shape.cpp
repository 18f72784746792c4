#include "core/base/shape.h"

#include <algorithm>

namespace emplace {

Shape::Shape(std::span<const int64_t> dims) : rank_(static_cast<int32_t>(dims.size())) {
  if (rank_ > kInline) heap_ = new int64_t[dims.size()];
  std::copy(dims.begin(), dims.end(), data());
}

void Shape::clear() {
  if (rank_ > kInline) delete[] heap_;
  rank_ = 0;
}

Shape& Shape::operator=(const Shape& other) {
  if (this == &other) return *this;
  clear();
  if (other.rank_ > kInline) heap_ = new int64_t[static_cast<size_t>(other.rank_)];
  rank_ = other.rank_;
  if (rank_ > 0) std::copy_n(other.data(), rank_, data());
  return *this;
}

Shape& Shape::operator=(Shape&& other) noexcept {
  if (this == &other) return *this;
  clear();
  rank_ = other.rank_;
  if (rank_ > kInline) {
    heap_ = other.heap_;
    other.rank_ = 0;
  } else if (rank_ > 0) {
    std::copy_n(other.inline_, rank_, inline_);
  }
  return *this;
}

Shape Shape::unknown() {
  Shape s;
  s.rank_ = -1;
  return s;
}

Shape Shape::unknown_dims(int rank) {
  Shape s;
  for (int i = 0; i < rank; ++i) s.add_dim(-1);
  return s;
}

bool Shape::fully_known() const {
  return rank_ >= 0 && std::all_of(data(), data() + rank_, [](int64_t d) { return d >= 0; });
}

void Shape::add_dim(int64_t size) {
  if (rank_ < kInline) {
    inline_[rank_++] = size;
    return;
  }
  auto* grown = new int64_t[static_cast<size_t>(rank_) + 1];
  std::copy_n(data(), rank_, grown);
  grown[rank_] = size;
  if (rank_ > kInline) delete[] heap_;
  heap_ = grown;
  ++rank_;
}

int64_t Shape::num_elements() const {
  int64_t n = 1;
  for (int64_t d : dims()) n *= d;
  return n;
}

std::optional<int64_t> Shape::checked_num_elements() const {
  // A zero anywhere makes the product zero, but TensorFlow refuses a prefix that overflows; so do we.
  int64_t n = 1;
  for (int64_t d : dims()) {
    if (d < 0 || __builtin_mul_overflow(n, d, &n)) return std::nullopt;
  }
  return n;
}

bool Shape::compatible_with(const Shape& other) const {
  if (!rank_known() || !other.rank_known()) return true;
  if (rank_ != other.rank_) return false;
  for (int i = 0; i < rank_; ++i) {
    if (dim(i) >= 0 && other.dim(i) >= 0 && dim(i) != other.dim(i)) return false;
  }
  return true;
}

bool Shape::operator==(const Shape& other) const {
  return rank_ == other.rank_ && (rank_ < 0 || std::equal(data(), data() + rank_, other.data()));
}

std::string Shape::to_string() const {
  if (!rank_known()) return "<unknown>";
  std::string out = "[";
  for (int i = 0; i < rank_; ++i) {
    if (i) out += ',';
    out += dim(i) < 0 ? "?" : std::to_string(dim(i));
  }
  return out + "]";
}

}  // namespace emplace
