#include "core/tensor/print.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdio>
#include <functional>
#include <vector>

#include "core/base/tiny_float.h"
#include "core/tensor/decimal.h"

namespace emplace {
namespace {

constexpr int64_t kThreshold = 1000;  // above: the middle is left out
constexpr int64_t kEdgeItems = 3;
constexpr int kPrecision = 8;
constexpr size_t kLineWidth = 75;

using Format = std::function<std::string(int64_t index)>;

template <class T>
double exact(T v) {
  if constexpr (std::is_same_v<T, half>)
    return static_cast<double>(static_cast<float>(v));
  else
    return static_cast<double>(v);
}

template <class T>
T rounded(double x) {
  if constexpr (std::is_same_v<T, half>)
    return half(static_cast<float>(x));
  else
    return static_cast<T>(x);
}

std::string padded_left(std::string text, size_t width) {
  if (text.size() < width) text.insert(0, width - text.size(), ' ');
  return text;
}

// 10 to the number of digits that the type can be sure of, at most 8 for arrays and 16 for scalars.
template <class T>
constexpr double kExponentialFrom = std::is_same_v<T, half>    ? 1e3
                                    : std::is_same_v<T, float> ? 1e6
                                                               : 1e8;
template <class T>
constexpr double kExponentialScalarFrom = std::is_same_v<T, double> ? 1e16 : kExponentialFrom<T>;

// NumPy's FloatingFormat: one width for all numbers that are shown.
template <class T>
class FloatFormat {
 public:
  FloatFormat(const std::vector<T>& shown, bool plus) : plus_(plus) {
    std::vector<Decimal> finite;
    double largest = 0, smallest = 0;
    bool any_infinite = false, any_negative_infinite = false;
    for (const T& v : shown) {
      double x = exact(v);
      if (!std::isfinite(x)) {
        any_infinite = true;
        any_negative_infinite |= std::isinf(x) && x < 0;
        continue;
      }
      finite.push_back(Decimal::shortest(v));
      if (x == 0) continue;
      double magnitude = std::fabs(x);
      largest = std::max(largest, magnitude);
      smallest = smallest == 0 ? magnitude : std::min(smallest, magnitude);
    }
    exponential_ = largest != 0 && (largest >= kExponentialFrom<T> || smallest < exact(rounded<T>(0.0001)) ||
                                    ratio_is_large(largest, smallest));
    for (const Decimal& d : finite) measure(d);
    if (exponential_) right_ = exponent_digits_ + 2 + precision_;
    if (any_infinite) {
      int offset = right_ + 1;
      int sign = plus || any_negative_infinite ? 1 : 0;
      left_ = std::max({left_, 3 - offset, 3 + sign - offset});
    }
  }

  std::string operator()(T v) const {
    double x = exact(v);
    if (!std::isfinite(x)) {
      std::string text = std::isnan(x) ? "nan" : "inf";
      if (std::isinf(x) && x < 0)
        text.insert(0, "-");
      else if (plus_)
        text.insert(0, "+");
      return padded_left(std::move(text), static_cast<size_t>(std::max(0, left_ + right_ + 1)));
    }
    Decimal d = Decimal::shortest(v);
    std::string text = exponential_ ? scientific(d, precision_, precision_, exponent_digits_, Trim::kKeep)
                                    : positional(d, kPrecision, Trim::kPoint);
    if (plus_ && !d.negative) text.insert(0, "+");
    size_t point = text.find('.');
    if (static_cast<int>(point) < left_) text.insert(0, static_cast<size_t>(left_) - point, ' ');
    if (!exponential_) {
      int behind = static_cast<int>(text.size() - text.find('.')) - 1;
      if (behind < right_) text.append(static_cast<size_t>(right_ - behind), ' ');
    }
    return text;
  }

 private:
  // The quotient is taken in the type itself, where a half may overflow.
  static bool ratio_is_large(double largest, double smallest) {
    if constexpr (std::is_same_v<T, half>)
      return exact(rounded<half>(largest / smallest)) > 1000;
    else
      return static_cast<T>(largest) / static_cast<T>(smallest) > T{1000};
  }

  void measure(const Decimal& d) {
    std::string text =
        exponential_ ? scientific(d, kPrecision, 0, 0, Trim::kPoint) : positional(d, kPrecision, Trim::kPoint);
    if (plus_ && !d.negative) text.insert(0, "+");
    size_t point = text.find('.'), e = text.find('e');
    left_ = std::max(left_, static_cast<int>(point));
    if (exponential_) {
      precision_ = std::max(precision_, static_cast<int>(e - point) - 1);
      exponent_digits_ = std::max(exponent_digits_, static_cast<int>(text.size() - e) - 2);
    } else {
      right_ = std::max(right_, static_cast<int>(text.size() - point) - 1);
    }
  }

  bool plus_;
  bool exponential_ = false;
  int left_ = 0, right_ = 0;  // characters before and after the point
  int precision_ = 0, exponent_digits_ = 0;
};

// Which elements are shown: the flat indices, row-major.
void shown_indices(const Shape& shape, int axis, int64_t base, bool summary, std::vector<int64_t>& out) {
  if (axis == shape.rank()) {
    out.push_back(base);
    return;
  }
  int64_t n = shape.dim(axis);
  for (int64_t i = 0; i < n; ++i) {
    if (summary && n > 2 * kEdgeItems && i == kEdgeItems) i = n - kEdgeItems;
    shown_indices(shape, axis + 1, base * n + i, summary, out);
  }
}

template <class T>
std::vector<T> gather(const Tensor& t, const std::vector<int64_t>& shown) {
  std::vector<T> out;
  out.reserve(shown.size());
  for (int64_t i : shown) out.push_back(t.data<T>()[i]);
  return out;
}

template <class T>
Format float_format(const Tensor& t, const std::vector<int64_t>& shown) {
  return [&t, format = FloatFormat<T>(gather<T>(t, shown), false)](int64_t i) { return format(t.data<T>()[i]); };
}

template <class T>
Format complex_format(const Tensor& t, const std::vector<int64_t>& shown) {
  std::vector<T> real, imaginary;
  for (const auto& z : gather<std::complex<T>>(t, shown)) {
    real.push_back(z.real());
    imaginary.push_back(z.imag());
  }
  return [&t, re = FloatFormat<T>(real, false), im = FloatFormat<T>(imaginary, true)](int64_t i) {
    auto z = t.data<std::complex<T>>()[i];
    std::string second = im(z.imag());
    second.insert(second.find_last_not_of(' ') + 1, "j");
    return re(z.real()) + second;
  };
}

template <class T>
Format integer_format(const Tensor& t, const std::vector<int64_t>& shown) {
  size_t width = 0;
  for (T v : gather<T>(t, shown)) width = std::max(width, std::to_string(v).size());
  return [&t, width](int64_t i) { return padded_left(std::to_string(t.data<T>()[i]), width); };
}

// Python's repr of bytes.
std::string bytes_text(const std::string& s) {
  char quote = s.find('\'') != std::string::npos && s.find('"') == std::string::npos ? '"' : '\'';
  std::string out = std::string("b") + quote;
  for (char ch : s) {
    auto u = static_cast<unsigned char>(ch);
    if (ch == quote || ch == '\\') {
      out += '\\';
      out += ch;
    } else if (ch == '\t') {
      out += "\\t";
    } else if (ch == '\n') {
      out += "\\n";
    } else if (ch == '\r') {
      out += "\\r";
    } else if (u < 0x20 || u >= 0x7f) {
      char hex[8];
      std::snprintf(hex, sizeof hex, "\\x%02x", u);
      out += hex;
    } else {
      out += ch;
    }
  }
  return out + quote;
}

// ml_dtypes: every element by itself, as C's %.6g.
std::string ml_dtypes_text(float v) {
  const auto x = static_cast<double>(v);
  if (std::isnan(x)) return "nan";
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", x);
  return text;
}

Format format_of(const Tensor& t, const std::vector<int64_t>& shown) {
  if (!is_ref(t.dtype()) && kTinyFloats.has(t.dtype())) {
    return [&t](int64_t i) {
      return ml_dtypes_text(tiny_float_value(t.dtype(), static_cast<const uint8_t*>(t.raw())[i]));
    };
  }
  switch (t.dtype()) {
    case DType::kFloat:
      return float_format<float>(t, shown);
    case DType::kDouble:
      return float_format<double>(t, shown);
    case DType::kHalf:
      return float_format<half>(t, shown);
    case DType::kBFloat16:
      return [&t](int64_t i) { return ml_dtypes_text(static_cast<float>(t.data<bfloat16>()[i])); };
    case DType::kComplex64:
      return complex_format<float>(t, shown);
    case DType::kComplex128:
      return complex_format<double>(t, shown);
    case DType::kInt8:
    case DType::kInt4:
    case DType::kInt2:
    case DType::kQInt8:
      return integer_format<int8_t>(t, shown);
    case DType::kInt16:
    case DType::kQInt16:
      return integer_format<int16_t>(t, shown);
    case DType::kInt32:
    case DType::kQInt32:
      return integer_format<int32_t>(t, shown);
    case DType::kInt64:
      return integer_format<int64_t>(t, shown);
    case DType::kUInt8:
    case DType::kUInt4:
    case DType::kUInt2:
    case DType::kQUInt8:
      return integer_format<uint8_t>(t, shown);
    case DType::kUInt16:
    case DType::kQUInt16:
      return integer_format<uint16_t>(t, shown);
    case DType::kUInt32:
      return integer_format<uint32_t>(t, shown);
    case DType::kUInt64:
      return integer_format<uint64_t>(t, shown);
    case DType::kBool:
      return [&t](int64_t i) { return std::string(t.data<bool>()[i] ? " True" : "False"); };
    case DType::kString:
      return [&t](int64_t i) { return bytes_text(t.data<std::string>()[i]); };
    default:
      return [&t](int64_t) { return "<" + std::string(dtype_name(t.dtype())) + ">"; };
  }
}

// NumPy's _formatArray: nested brackets, lines wrapped, the middle left out.
class Layout {
 public:
  Layout(const Shape& shape, const Format& format, bool summary) : shape_(shape), format_(format), summary_(summary) {}
  std::string text() const { return nested(0, 0, " ", kLineWidth); }

 private:
  std::string nested(int axis, int64_t base, const std::string& indent, size_t width) const {
    if (axis == shape_.rank()) return format_(base);
    int64_t n = shape_.dim(axis);
    bool cut = summary_ && n > 2 * kEdgeItems;
    std::string out =
        axis + 1 == shape_.rank() ? row(base, n, cut, indent, width - 1) : block(axis, base, n, cut, indent, width - 1);
    return "[" + out.substr(indent.size()) + "]";
  }

  std::string row(int64_t base, int64_t n, bool cut, const std::string& indent, size_t width) const {
    std::string done, line = indent;
    auto extend = [&](const std::string& word) {
      if (line.size() + word.size() > width && line.size() > indent.size()) {
        done += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
        line = indent;
      }
      line += word;
    };
    for (int64_t i = 0; i < n; ++i) {
      if (cut && i == kEdgeItems) {
        extend("...");
        line += ' ';
        i = n - kEdgeItems;
      }
      extend(format_(base * n + i));
      if (i + 1 < n) line += ' ';
    }
    return done + line;
  }

  std::string block(int axis, int64_t base, int64_t n, bool cut, const std::string& indent, size_t width) const {
    std::string out, separator(static_cast<size_t>(shape_.rank() - axis - 1), '\n');
    for (int64_t i = 0; i < n; ++i) {
      if (cut && i == kEdgeItems) {
        out.append(indent).append("...").append(separator);
        i = n - kEdgeItems;
      }
      out.append(indent).append(nested(axis + 1, base * n + i, indent + " ", width));
      if (i + 1 < n) out += separator;
    }
    return out;
  }

  const Shape& shape_;
  const Format& format_;
  bool summary_;
};

// NumPy's scalars choose between the two notations one by one.
template <class T>
std::string float_scalar(T v, Trim trim) {
  double x = exact(v);
  if (std::isnan(x)) return "nan";
  if (std::isinf(x)) return x < 0 ? "-inf" : "inf";
  Decimal d = Decimal::shortest(v);
  double magnitude = std::fabs(x);
  if (magnitude == 0 || (magnitude >= 1e-4 && magnitude < kExponentialScalarFrom<T>)) return positional(d, -1, trim);
  return scientific(d, -1, 0, 2, Trim::kNothing);
}

template <class T>
std::string complex_scalar(std::complex<T> z) {
  std::string imaginary = float_scalar(z.imag(), Trim::kNothing) + "j";
  if (z.real() == 0 && !std::signbit(z.real())) return imaginary;
  if (imaginary[0] != '-') imaginary.insert(0, "+");
  return "(" + float_scalar(z.real(), Trim::kNothing) + imaginary + ")";
}

std::string scalar_text(const Tensor& t) {
  switch (t.dtype()) {
    case DType::kFloat:
      return float_scalar(*t.data<float>(), Trim::kOneZero);
    case DType::kDouble:
      return float_scalar(*t.data<double>(), Trim::kOneZero);
    case DType::kHalf:
      return float_scalar(*t.data<half>(), Trim::kOneZero);
    case DType::kComplex64:
      return complex_scalar(*t.data<std::complex<float>>());
    case DType::kComplex128:
      return complex_scalar(*t.data<std::complex<double>>());
    case DType::kBool:
      return *t.data<bool>() ? "True" : "False";
    default:
      return format_of(t, {0})(0);
  }
}

}  // namespace

std::string print_tensor(const Tensor& t) {
  if (t.shape().is_scalar()) return scalar_text(t);
  if (t.num_elements() == 0) return "[]";
  bool summary = t.num_elements() > kThreshold;
  std::vector<int64_t> shown;
  shown_indices(t.shape(), 0, 0, summary, shown);
  return Layout(t.shape(), format_of(t, shown), summary).text();
}

}  // namespace emplace
