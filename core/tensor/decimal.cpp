#include "core/tensor/decimal.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace emplace {
namespace {

// Takes "d.ddde±xx" apart.
void read_scientific(const char* text, const char* end, Decimal& d) {
  d.digits.clear();
  const char* p = text;
  for (; p < end && *p != 'e'; ++p) {
    if (*p >= '0' && *p <= '9') d.digits += *p;
  }
  d.exponent = std::atoi(std::string(p + 1, end).c_str());
  while (d.digits.size() > 1 && d.digits.back() == '0') d.digits.pop_back();
}

constexpr int kHalfDigits = 5;  // these always identify a half

bool reads_back(double magnitude, half to) { return half(static_cast<float>(magnitude)).bits == (to.bits & 0x7fff); }

// The digits that are left after rounding the exact value to `fraction` digits behind the point.
Decimal rounded_fixed(const Decimal& d, int fraction) {
  char text[512];
  int n = std::snprintf(text, sizeof text, "%.*f", fraction, std::fabs(d.value));
  Decimal r = d;
  r.digits.clear();
  int whole = 0;
  bool point = false, started = false;
  r.exponent = 0;
  for (int i = 0; i < n; ++i) {
    if (text[i] == '.') {
      point = true;
      continue;
    }
    if (!started && text[i] == '0') {
      if (point) --whole;
      continue;
    }
    if (!started) r.exponent = point ? whole - 1 : -1;
    started = true;
    if (!point) ++r.exponent;
    r.digits += text[i];
  }
  if (!started) r.digits = "0", r.exponent = 0;
  while (r.digits.size() > 1 && r.digits.back() == '0') r.digits.pop_back();
  return r;
}

std::string trimmed(std::string whole, std::string fraction, Trim trim) {
  if (trim != Trim::kKeep) {
    while (!fraction.empty() && fraction.back() == '0') fraction.pop_back();
  }
  if (fraction.empty()) {
    if (trim == Trim::kNothing) return whole;
    return whole + (trim == Trim::kOneZero ? ".0" : ".");
  }
  return whole + "." + fraction;
}

}  // namespace

template <>
Decimal Decimal::shortest(double value) {
  Decimal d;
  d.value = value;
  d.negative = std::signbit(value);
  char text[32];
  auto end = std::to_chars(text, text + sizeof text, std::fabs(value), std::chars_format::scientific).ptr;
  read_scientific(text, end, d);
  return d;
}

template <>
Decimal Decimal::shortest(float value) {
  Decimal d;
  d.value = static_cast<double>(value);
  d.negative = std::signbit(value);
  char text[32];
  auto end = std::to_chars(text, text + sizeof text, std::fabs(value), std::chars_format::scientific).ptr;
  read_scientific(text, end, d);
  return d;
}

template <>
Decimal Decimal::shortest(half value) {
  Decimal d;
  d.value = static_cast<double>(static_cast<float>(value));
  d.negative = std::signbit(d.value);
  double magnitude = std::fabs(d.value);
  for (int digits = 1;; ++digits) {
    char text[32];
    int n = std::snprintf(text, sizeof text, "%.*e", digits - 1, magnitude);
    double nearest = std::strtod(text, nullptr);
    if (!reads_back(nearest, value) && nearest < magnitude) {
      // Above a power of two halves lie twice as far apart as below: the next number up may do.
      read_scientific(text, text + n, d);
      n = std::snprintf(text, sizeof text, "%.*e", digits - 1, nearest + std::pow(10.0, d.exponent - digits + 1));
    }
    if (digits < kHalfDigits && !reads_back(std::strtod(text, nullptr), value)) continue;
    read_scientific(text, text + n, d);
    return d;
  }
}

std::string positional(const Decimal& d, int precision, Trim trim) {
  Decimal r = d;
  int fraction_digits = static_cast<int>(d.digits.size()) - 1 - d.exponent;
  if (precision >= 0 && fraction_digits > precision) r = rounded_fixed(d, precision);
  std::string whole, fraction;
  if (r.exponent < 0) {
    whole = "0";
    if (r.digits != "0") fraction = std::string(static_cast<size_t>(-r.exponent - 1), '0') + r.digits;
  } else {
    auto split = static_cast<size_t>(r.exponent) + 1;
    whole = r.digits.substr(0, split);
    if (whole.size() < split) whole.append(split - whole.size(), '0');
    if (r.digits.size() > split) fraction = r.digits.substr(split);
  }
  return (d.negative ? "-" : "") + trimmed(whole, fraction, trim);
}

std::string scientific(const Decimal& d, int precision, int min_digits, int exponent_digits, Trim trim) {
  Decimal r = d;
  int fraction_digits = static_cast<int>(d.digits.size()) - 1;
  bool too_many = precision >= 0 && fraction_digits > precision;
  if (too_many || fraction_digits < min_digits) {  // digits of the exact value, rounded
    char text[64];
    int n = std::snprintf(text, sizeof text, "%.*e", too_many ? precision : min_digits, std::fabs(d.value));
    read_scientific(text, text + n, r);
  }
  std::string fraction = r.digits.substr(1);
  if (static_cast<int>(fraction.size()) < min_digits)
    fraction.append(static_cast<size_t>(min_digits) - fraction.size(), '0');
  std::string exponent = std::to_string(std::abs(r.exponent));
  auto width = static_cast<size_t>(exponent_digits > 0 ? exponent_digits : 2);
  if (exponent.size() < width) exponent.insert(0, width - exponent.size(), '0');
  return (d.negative ? "-" : "") + trimmed(r.digits.substr(0, 1), fraction, trim) + (r.exponent < 0 ? "e-" : "e+") +
         exponent;
}

}  // namespace emplace
