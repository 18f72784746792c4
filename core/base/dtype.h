/// Element types. Numbers and names are those of TensorFlow's DataType (tensorflow/core/framework/types.proto).
#pragma once

#include <bit>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace emplace {

enum class DType : uint8_t {
  kInvalid = 0,
  kFloat = 1,
  kDouble = 2,
  kInt32 = 3,
  kUInt8 = 4,
  kInt16 = 5,
  kInt8 = 6,
  kString = 7,
  kComplex64 = 8,
  kInt64 = 9,
  kBool = 10,
  kQInt8 = 11,
  kQUInt8 = 12,
  kQInt32 = 13,
  kBFloat16 = 14,
  kQInt16 = 15,
  kQUInt16 = 16,
  kUInt16 = 17,
  kComplex128 = 18,
  kHalf = 19,
  kResource = 20,
  kVariant = 21,
  kUInt32 = 22,
  kUInt64 = 23,
  kFloat8E5M2 = 24,
  kFloat8E4M3FN = 25,
  kFloat8E4M3FNUZ = 26,
  kFloat8E4M3B11FNUZ = 27,
  kFloat8E5M2FNUZ = 28,
  kInt4 = 29,
  kUInt4 = 30,
  kInt2 = 31,
  kUInt2 = 32,
  kFloat4E2M1FN = 33,
};
inline constexpr int kDTypeCount = 34;
inline constexpr int kRefOffset = 100;  // DT_FLOAT_REF = 101

/// A reference type (the output of a Variable) is its base type plus 100.
constexpr DType make_ref(DType t) { return static_cast<DType>(static_cast<int>(t) + kRefOffset); }
constexpr bool is_ref(DType t) { return static_cast<int>(t) > kRefOffset; }
constexpr DType base_type(DType t) { return is_ref(t) ? static_cast<DType>(static_cast<int>(t) - kRefOffset) : t; }

/// Bytes of one element; 0 for string, resource and variant.
size_t dtype_size(DType t);
/// Bytes that a tensor keeps per element: dtype_size(), or a pointer for handles (references, resources, variants).
/// Strings are kept as std::string objects.
size_t storage_size(DType t);
/// "DT_FLOAT", "DT_FLOAT_REF".
std::string dtype_enum_name(DType t);
/// "float", "int32", "float_ref": TensorFlow's DataTypeString, used in its messages.
std::string dtype_tf_name(DType t);
/// "float32", "int32", "bfloat16": NumPy's names, which we print. Reference types: the base type's name.
std::string_view dtype_name(DType t);
/// Reads "float32", "float", "DT_FLOAT", "DT_FLOAT_REF", "half", ...
std::optional<DType> parse_dtype(std::string_view text);
/// Reads TensorFlow's number (reference types included).
std::optional<DType> dtype_from_number(int64_t number);

bool is_floating(DType t);  // half, bfloat16, float, double and the float8 and float4 types
bool is_integer(DType t);   // signed and unsigned, not quantized
bool is_complex(DType t);
bool is_quantized(DType t);

/// A set of base types.
class DTypeSet {
 public:
  constexpr DTypeSet() = default;
  template <class... Ts>
  constexpr explicit DTypeSet(Ts... types) : bits_((uint64_t{0} | ... | (uint64_t{1} << static_cast<int>(types)))) {}
  constexpr bool has(DType t) const { return (bits_ >> static_cast<int>(t)) & 1; }
  constexpr DTypeSet operator|(DTypeSet o) const { return from_bits(bits_ | o.bits_); }
  constexpr DTypeSet operator&(DTypeSet o) const { return from_bits(bits_ & o.bits_); }
  constexpr DTypeSet without(DTypeSet o) const { return from_bits(bits_ & ~o.bits_); }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr uint64_t bits() const { return bits_; }
  static constexpr DTypeSet from_bits(uint64_t bits) {
    DTypeSet s;
    s.bits_ = bits;
    return s;
  }
  constexpr bool operator==(const DTypeSet&) const = default;

 private:
  uint64_t bits_ = 0;
};

inline constexpr DTypeSet kHalves{DType::kHalf, DType::kBFloat16};
inline constexpr DTypeSet kFloatDouble{DType::kFloat, DType::kDouble};
inline constexpr DTypeSet kFloating = kHalves | kFloatDouble;
inline constexpr DTypeSet kSigned{DType::kInt8, DType::kInt16, DType::kInt32, DType::kInt64};
inline constexpr DTypeSet kUnsigned{DType::kUInt8, DType::kUInt16, DType::kUInt32, DType::kUInt64};
inline constexpr DTypeSet kIntegers = kSigned | kUnsigned;
inline constexpr DTypeSet kRealNumbers = kFloating | kIntegers;
inline constexpr DTypeSet kComplexes{DType::kComplex64, DType::kComplex128};
inline constexpr DTypeSet kNumbers = kRealNumbers | kComplexes;
inline constexpr DTypeSet kNumbersAndBool = kNumbers | DTypeSet{DType::kBool};
inline constexpr DTypeSet kAllData = kNumbersAndBool | DTypeSet{DType::kString};

/// IEEE binary16 and bfloat16 as storage; arithmetic is done in float and rounded once to nearest even.
struct half {
  uint16_t bits = 0;
  half() = default;
  explicit half(float v);
  explicit operator float() const;
};
struct bfloat16 {
  uint16_t bits = 0;
  bfloat16() = default;
  explicit bfloat16(float v);
  explicit operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
};

/// The DType of a C++ type, as dtype_of<float>.
template <class T>
inline constexpr DType dtype_of = DType::kInvalid;
template <>
inline constexpr DType dtype_of<float> = DType::kFloat;
template <>
inline constexpr DType dtype_of<double> = DType::kDouble;
template <>
inline constexpr DType dtype_of<int8_t> = DType::kInt8;
template <>
inline constexpr DType dtype_of<int16_t> = DType::kInt16;
template <>
inline constexpr DType dtype_of<int32_t> = DType::kInt32;
template <>
inline constexpr DType dtype_of<int64_t> = DType::kInt64;
template <>
inline constexpr DType dtype_of<uint8_t> = DType::kUInt8;
template <>
inline constexpr DType dtype_of<uint16_t> = DType::kUInt16;
template <>
inline constexpr DType dtype_of<uint32_t> = DType::kUInt32;
template <>
inline constexpr DType dtype_of<uint64_t> = DType::kUInt64;
template <>
inline constexpr DType dtype_of<bool> = DType::kBool;
template <>
inline constexpr DType dtype_of<half> = DType::kHalf;
template <>
inline constexpr DType dtype_of<bfloat16> = DType::kBFloat16;
template <>
inline constexpr DType dtype_of<std::complex<float>> = DType::kComplex64;
template <>
inline constexpr DType dtype_of<std::complex<double>> = DType::kComplex128;
template <>
inline constexpr DType dtype_of<std::string> = DType::kString;

}  // namespace emplace
