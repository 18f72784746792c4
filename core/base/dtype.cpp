#include "core/base/dtype.h"

#include <array>
#include <string>

namespace emplace {
namespace {

struct Names {
  std::string_view enum_name;  // without DT_
  std::string_view tf_name;
  std::string_view numpy_name;
  uint8_t size;
};

constexpr std::array<Names, kDTypeCount> kTable = {{
    {"INVALID", "INVALID", "invalid", 0},
    {"FLOAT", "float", "float32", 4},
    {"DOUBLE", "double", "float64", 8},
    {"INT32", "int32", "int32", 4},
    {"UINT8", "uint8", "uint8", 1},
    {"INT16", "int16", "int16", 2},
    {"INT8", "int8", "int8", 1},
    {"STRING", "string", "string", 0},
    {"COMPLEX64", "complex64", "complex64", 8},
    {"INT64", "int64", "int64", 8},
    {"BOOL", "bool", "bool", 1},
    {"QINT8", "qint8", "qint8", 1},
    {"QUINT8", "quint8", "quint8", 1},
    {"QINT32", "qint32", "qint32", 4},
    {"BFLOAT16", "bfloat16", "bfloat16", 2},
    {"QINT16", "qint16", "qint16", 2},
    {"QUINT16", "quint16", "quint16", 2},
    {"UINT16", "uint16", "uint16", 2},
    {"COMPLEX128", "complex128", "complex128", 16},
    {"HALF", "half", "float16", 2},
    {"RESOURCE", "resource", "resource", 0},
    {"VARIANT", "variant", "variant", 0},
    {"UINT32", "uint32", "uint32", 4},
    {"UINT64", "uint64", "uint64", 8},
    {"FLOAT8_E5M2", "float8_e5m2", "float8_e5m2", 1},
    {"FLOAT8_E4M3FN", "float8_e4m3fn", "float8_e4m3fn", 1},
    {"FLOAT8_E4M3FNUZ", "float8_e4m3fnuz", "float8_e4m3fnuz", 1},
    {"FLOAT8_E4M3B11FNUZ", "float8_e4m3b11fnuz", "float8_e4m3b11fnuz", 1},
    {"FLOAT8_E5M2FNUZ", "float8_e5m2fnuz", "float8_e5m2fnuz", 1},
    {"INT4", "int4", "int4", 1},
    {"UINT4", "uint4", "uint4", 1},
    {"INT2", "int2", "int2", 1},
    {"UINT2", "uint2", "uint2", 1},
    {"FLOAT4_E2M1FN", "float4_e2m1fn", "float4_e2m1fn", 1},
}};

const Names& names(DType t) { return kTable[static_cast<size_t>(base_type(t))]; }

constexpr DTypeSet kQuantized{DType::kQInt8, DType::kQUInt8, DType::kQInt16, DType::kQUInt16, DType::kQInt32};

}  // namespace

size_t dtype_size(DType t) { return names(t).size; }
size_t storage_size(DType t) {
  if (is_ref(t) || t == DType::kResource || t == DType::kVariant) return sizeof(void*);
  return t == DType::kString ? sizeof(std::string) : dtype_size(t);
}
std::string dtype_enum_name(DType t) { return "DT_" + std::string(names(t).enum_name) + (is_ref(t) ? "_REF" : ""); }
std::string dtype_tf_name(DType t) { return std::string(names(t).tf_name) + (is_ref(t) ? "_ref" : ""); }
std::string_view dtype_name(DType t) { return names(t).numpy_name; }

std::optional<DType> parse_dtype(std::string_view text) {
  if (text.starts_with("DT_")) {
    std::string_view name = text.substr(3);
    bool ref = name.ends_with("_REF");
    if (ref) name.remove_suffix(4);
    for (int i = 1; i < kDTypeCount; ++i) {
      if (kTable[i].enum_name == name) return ref ? make_ref(static_cast<DType>(i)) : static_cast<DType>(i);
    }
    return std::nullopt;
  }
  for (int i = 1; i < kDTypeCount; ++i) {
    if (kTable[i].numpy_name == text || kTable[i].tf_name == text) return static_cast<DType>(i);
  }
  return std::nullopt;
}

std::optional<DType> dtype_from_number(int64_t number) {
  int64_t base = number > kRefOffset ? number - kRefOffset : number;
  if (number < 1 || base >= kDTypeCount || number == kRefOffset) return std::nullopt;
  return static_cast<DType>(number);
}

// DTypeSet holds base types only; the number of a reference type (base + 100) is outside its range.
bool is_floating(DType t) { return !is_ref(t) && (t == DType::kBFloat16 || names(t).numpy_name.starts_with("float")); }
bool is_integer(DType t) {
  const std::string_view name = names(t).numpy_name;
  return !is_ref(t) && (name.starts_with("int") || name.starts_with("uint"));
}
bool is_complex(DType t) { return !is_ref(t) && kComplexes.has(t); }
bool is_quantized(DType t) { return !is_ref(t) && kQuantized.has(t); }

half::half(float v) {
  uint32_t u = std::bit_cast<uint32_t>(v);
  uint32_t sign = (u >> 16) & 0x8000;
  u &= 0x7fffffff;
  if (u >= 0x7f800000) {  // infinity or NaN (kept quiet)
    bits = static_cast<uint16_t>(sign | 0x7c00 | (u > 0x7f800000 ? 0x200 | ((u >> 13) & 0x3ff) : 0));
  } else if (u >= 0x477ff000) {  // rounds to infinity
    bits = static_cast<uint16_t>(sign | 0x7c00);
  } else if (u < 0x38800000) {                        // subnormal or zero: let the float unit round
    float magic = std::bit_cast<float>(0x3f000000u);  // 0.5: its last bit is 2^-24, half's smallest step
    float shifted = std::bit_cast<float>(u) + magic;
    bits = static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000u));
  } else {
    uint32_t odd = (u >> 13) & 1;
    bits = static_cast<uint16_t>(sign | ((u - 0x38000000u + 0xfff + odd) >> 13));
  }
}

half::operator float() const {
  uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  uint32_t exponent = (bits >> 10) & 0x1f;
  uint32_t mantissa = bits & 0x3ff;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000 | (mantissa << 13));
  if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
  float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
}

bfloat16::bfloat16(float v) {
  uint32_t u = std::bit_cast<uint32_t>(v);
  if ((u & 0x7fffffff) > 0x7f800000) {
    bits = static_cast<uint16_t>((u >> 16) | 0x40);  // NaN stays NaN
  } else {
    bits = static_cast<uint16_t>((u + 0x7fff + ((u >> 16) & 1)) >> 16);
  }
}

}  // namespace emplace
