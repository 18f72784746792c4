#include "core/ops/text/summary.h"

#include <complex>
#include <cstdio>
#include <cstdlib>

#include "core/base/cat.h"

namespace emplace {
namespace {

// Six digits if they read back to the same number, else enough that they do.
std::string number_text(double v, bool wide) {
  char text[40];
  std::snprintf(text, sizeof text, "%.*g", wide ? 15 : 6, v);
  bool same = wide ? std::strtod(text, nullptr) == v : std::strtof(text, nullptr) == static_cast<float>(v);
  if (!same && v == v) std::snprintf(text, sizeof text, "%.*g", wide ? 17 : 9, v);
  return text;
}

std::string element_text(const Tensor& t, int64_t i) {
  switch (t.dtype()) {
    case DType::kFloat:
      return number_text(static_cast<double>(t.data<float>()[i]), false);
    case DType::kDouble:
      return number_text(t.data<double>()[i], true);
    case DType::kHalf:
      return number_text(static_cast<double>(static_cast<float>(t.data<half>()[i])), false);
    case DType::kBFloat16:
      return number_text(static_cast<double>(static_cast<float>(t.data<bfloat16>()[i])), false);
    case DType::kInt8:
      return cat(t.data<int8_t>()[i]);
    case DType::kInt16:
      return cat(t.data<int16_t>()[i]);
    case DType::kInt32:
      return cat(t.data<int32_t>()[i]);
    case DType::kInt64:
      return cat(t.data<int64_t>()[i]);
    case DType::kUInt8:
      return cat(t.data<uint8_t>()[i]);
    case DType::kUInt16:
      return cat(t.data<uint16_t>()[i]);
    case DType::kUInt32:
      return cat(t.data<uint32_t>()[i]);
    case DType::kUInt64:
      return cat(t.data<uint64_t>()[i]);
    case DType::kBool:
      return t.data<bool>()[i] ? "1" : "0";
    case DType::kString:
      return t.data<std::string>()[i];
    case DType::kComplex64: {
      auto v = t.data<std::complex<float>>()[i];
      return cat("(", number_text(static_cast<double>(v.real()), false), ",",
                 number_text(static_cast<double>(v.imag()), false), ")");
    }
    case DType::kComplex128: {
      auto v = t.data<std::complex<double>>()[i];
      return cat("(", number_text(v.real(), true), ",", number_text(v.imag(), true), ")");
    }
    default:
      return "?";
  }
}

struct Printer {
  const Tensor& t;
  int64_t limit, at = 0;
  std::string text;

  void row(int d) {
    for (int64_t i = 0; i < t.shape().dim(d); ++i) {
      if (at >= limit) {
        if (d != 0) text += "...";
        return;
      }
      append(text, i > 0 ? " " : "", element_text(t, at++));
    }
  }
  void print(int d) {
    if (at >= limit) return;
    if (d == t.shape().rank() - 1) return row(d);
    for (int64_t i = 0; i < t.shape().dim(d) && at < limit; ++i) {
      text += "[";
      print(d + 1);
      text += "]";
    }
  }
};

// As a literal of C, but that letters beyond ASCII stay.
std::string quoted_text(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    constexpr std::string_view kNamed = "\n\r\t\"'\\", kNames = "nrt\"'\\";
    const size_t at = kNamed.find(c);
    if (at != kNamed.npos) {
      out.append("\\").push_back(kNames[at]);
    } else if ((static_cast<uint8_t>(c) < 0x20) || c == 0x7f) {
      char octal[8];
      std::snprintf(octal, sizeof octal, "\\%03o", static_cast<unsigned>(static_cast<uint8_t>(c)));
      out += octal;
    } else {
      out.push_back(c);
    }
  }
  return out + "\"";
}

struct ArrayPrinter {
  const Tensor& t;
  int64_t ends;
  std::string text;

  void space(int d) {
    const int below = t.shape().rank() - d - 1;
    if (below == 0) {
      text += " ";
    } else {
      text.append(static_cast<size_t>(below), '\n').append(static_cast<size_t>(d) + 1, ' ');
    }
  }
  /// Dimension `d`, from element `at` on.
  void print(int d, int64_t at) {
    if (d == t.shape().rank()) {
      text += t.dtype() == DType::kString ? quoted_text(t.data<std::string>()[at]) : element_text(t, at);
      return;
    }
    const int64_t n = t.shape().dim(d);
    int64_t pitch = 1;
    for (int inner = d + 1; inner < t.shape().rank(); ++inner) pitch *= t.shape().dim(inner);
    text += "[";
    for (int64_t i = 0; i < n; ++i) {
      if (i > 0 || i == ends) space(d);
      if (i == ends && n - ends > i) {
        text += "...";
        i = n - ends - 1;
      } else {
        print(d + 1, at + i * pitch);
      }
    }
    text += "]";
  }
};

}  // namespace

std::string print_value(const Tensor& t, int64_t ends) {
  if (ends == 0 && t.shape().rank() == 0) return "...";
  ArrayPrinter printer{t, ends < 0 ? t.num_elements() : ends, {}};
  printer.print(0, 0);
  return std::move(printer.text);
}

std::string summarize_value(const Tensor& t, int64_t most) {
  int64_t n = t.num_elements(), limit = most < 0 || most > n ? n : most;
  Printer printer{t, limit, 0, {}};
  if (t.shape().rank() > 0) {
    printer.print(0);
  } else if (limit > 0) {
    printer.text = element_text(t, 0);
  }
  if (n > limit) printer.text += "...";
  return std::move(printer.text);
}

}  // namespace emplace
