/// ElementBuffer: the elements of a tensor while they are read, one after the other, checked against their type.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/host_memory.h"
#include "core/base/status.h"
#include "core/tensor/tensor.h"

namespace emplace {

class ElementBuffer {
 public:
  /// kInvalid: the values decide: bool, int64, float64 (from the first number on that is not whole) or string.
  explicit ElementBuffer(DType dtype) : dtype_(dtype), open_(dtype == DType::kInvalid) {}

  DType dtype() const { return dtype_; }
  int64_t size() const { return size_; }

  // Adding one element. InvalidArgument ("300 is out of the range of uint8") if it does not fit.

  /// The characters of a JSON number. Integer types take numbers like 1.0 and 2e3, too.
  Status add_number(std::string_view number);
  Status add_bool(bool value);
  /// Text; for floating types "NaN", "Infinity", "-Infinity".
  Status add_text(std::string_view text);
  /// A number in quotes, as protobuf writes 64-bit integers.
  Status add_quoted_number(std::string_view text);
  /// The 16 bits of a half or bfloat16, as protobuf writes them.
  Status add_bits(uint16_t bits);

  /// Complex numbers are two entries each, real and imaginary part.
  int64_t entries_per_element() const { return is_complex(dtype_) ? 2 : 1; }

  /// The elements under `shape`; the last one is repeated if there are too few, and surplus ones are dropped.
  /// REQUIRES: the dtype is known, and size() > 0 if the shape has elements.
  Result<Tensor> to_tensor(const Shape& shape) const;

 private:
  template <class T>
  Status put(T value);
  Status add_double(double value, std::string_view shown);
  Status add_integer(int64_t value, std::string_view shown);
  void widen_to_double();
  /// Before `more` bytes: grows by doubling, as far as the limit of host memory allows.
  Status make_room(size_t more);

  DType dtype_;
  bool open_;
  int64_t size_ = 0;                       // entries
  HostShare memory_{HostUse::kConstants};  // of bytes_ and texts_
  std::string bytes_;
  std::vector<std::string> texts_;
};

/// The double that a JSON number's characters mean; a Status if it is too large.
Result<double> number_as_double(std::string_view number);
/// The whole number that they mean. 1.0 and 2e3 are whole.
Result<int64_t> number_as_int64(std::string_view number);
/// "NaN", "Infinity", "-Infinity".
bool parse_non_finite(std::string_view text, double& value);

}  // namespace emplace
