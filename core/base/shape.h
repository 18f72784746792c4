/// Shape of a tensor, fully or partly known: unknown rank, or a list of dimensions in which -1 is an unknown size.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>

namespace emplace {

/// TensorFlow's TensorShape::MaxDimensions.
inline constexpr int kMaxRank = 254;

class Shape {
 public:
  /// A scalar.
  Shape() = default;
  Shape(std::initializer_list<int64_t> dims) : Shape(std::span<const int64_t>(dims.begin(), dims.size())) {}
  explicit Shape(std::span<const int64_t> dims);
  Shape(const Shape& other) : Shape() { *this = other; }
  Shape(Shape&& other) noexcept : Shape() { *this = std::move(other); }
  Shape& operator=(const Shape& other);
  Shape& operator=(Shape&& other) noexcept;
  ~Shape() { clear(); }

  static Shape unknown();               ///< nothing is known
  static Shape unknown_dims(int rank);  ///< rank known, no size known

  bool rank_known() const { return rank_ >= 0; }
  /// REQUIRES: rank_known(), as for everything below except fully_known().
  int rank() const { return rank_; }
  int64_t dim(int i) const { return data()[i]; }
  int64_t& dim(int i) { return data()[i]; }
  /// dim() with Python's negative indices.
  int64_t dim_from_end(int i) const { return data()[rank_ - i]; }
  std::span<const int64_t> dims() const { return {data(), static_cast<size_t>(rank_)}; }
  bool fully_known() const;
  bool is_scalar() const { return rank_ == 0; }
  void add_dim(int64_t size);

  /// Product of the sizes. REQUIRES: fully_known() and no overflow (checked where a shape comes from outside).
  int64_t num_elements() const;
  /// The product, or nothing if it overflows int64. REQUIRES: fully_known().
  std::optional<int64_t> checked_num_elements() const;

  /// Could both describe the same tensor?
  bool compatible_with(const Shape& other) const;
  bool operator==(const Shape& other) const;

  /// "[2,3]", "[?,3]", "<unknown>", "[]": as TensorFlow prints shapes.
  std::string to_string() const;

 private:
  static constexpr int kInline = 6;
  int64_t* data() { return rank_ > kInline ? heap_ : inline_; }
  const int64_t* data() const { return rank_ > kInline ? heap_ : inline_; }
  void clear();

  int32_t rank_ = 0;  // -1: unknown
  union {
    int64_t inline_[kInline] = {};
    int64_t* heap_;
  };
};

}  // namespace emplace
