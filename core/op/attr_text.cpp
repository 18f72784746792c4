#include "core/op/attr_text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "core/base/cat.h"
#include "core/base/farmhash.h"

namespace emplace {
namespace {

// `digits` decimals if they read back to the same value, else `more`.
template <class T>
std::string number_text(T v, int digits, int more) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
  char text[40];
  std::snprintf(text, sizeof text, "%.*g", digits, static_cast<double>(v));
  if (static_cast<T>(std::strtod(text, nullptr)) != v) {
    std::snprintf(text, sizeof text, "%.*g", more, static_cast<double>(v));
  }
  return text;
}

// C escapes, bytes above 127 in octal.
std::string escaped(std::string_view text) {
  std::string out;
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    switch (c) {
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      case '"':
      case '\'':
      case '\\':
        out += '\\';
        out += c;
        break;
      default:
        if (byte < 0x20 || byte >= 0x7f) {
          char octal[8];
          std::snprintf(octal, sizeof octal, "\\%03o", byte);
          out += octal;
        } else {
          out += c;
        }
    }
  }
  return out;
}

std::string string_text(std::string_view text) {
  constexpr size_t kTooLong = 80, kEnds = 10;
  const std::string all = escaped(text);
  if (all.size() < kTooLong) return cat('"', all, '"');
  return cat('"', all.substr(0, kEnds), "...", all.substr(all.size() - kEnds), '"');
}

/// Floats of a large constant may lie at any address (core/tensor/mapped_buffer.h).
template <class T>
T float_at(const Tensor& t, int64_t i) {
  T v;
  std::memcpy(&v, t.data<char>() + static_cast<size_t>(i) * sizeof(T), sizeof v);
  return v;
}

std::string element_text(const Tensor& t, int64_t i) {
  switch (t.dtype()) {
    case DType::kFloat:
      return message_number(float_at<float>(t, i));
    case DType::kDouble:
      return number_text(float_at<double>(t, i), 15, 17);
    case DType::kHalf:
      return message_number(static_cast<float>(float_at<half>(t, i)));
    case DType::kBFloat16:
      return message_number(static_cast<float>(float_at<bfloat16>(t, i)));
    case DType::kInt8:
    case DType::kQInt8:
      return std::to_string(t.data<int8_t>()[i]);
    case DType::kUInt8:
    case DType::kQUInt8:
      return std::to_string(t.data<uint8_t>()[i]);
    case DType::kInt16:
    case DType::kQInt16:
      return std::to_string(t.data<int16_t>()[i]);
    case DType::kUInt16:
    case DType::kQUInt16:
      return std::to_string(t.data<uint16_t>()[i]);
    case DType::kInt32:
    case DType::kQInt32:
      return std::to_string(t.data<int32_t>()[i]);
    case DType::kUInt32:
      return std::to_string(t.data<uint32_t>()[i]);
    case DType::kInt64:
      return std::to_string(t.data<int64_t>()[i]);
    case DType::kUInt64:
      return std::to_string(t.data<uint64_t>()[i]);
    case DType::kBool:
      return t.data<bool>()[i] ? "1" : "0";
    case DType::kString:
      return escaped(t.data<std::string>()[i]);
    default:
      return "?";
  }
}

// One dimension of the nested form; `next` counts the elements printed.
void add_dimension(const Tensor& t, int dim, int64_t limit, int64_t& next, std::string& out) {
  if (next >= limit) return;
  for (int64_t i = 0; i < t.shape().dim(dim); ++i) {
    if (next >= limit) {
      if (dim == t.shape().rank() - 1 && dim != 0) out += "...";
      return;
    }
    if (dim == t.shape().rank() - 1) {
      if (i > 0) out += ' ';
      out += element_text(t, next++);
    } else {
      out += '[';
      add_dimension(t, dim + 1, limit, next, out);
      out += ']';
    }
  }
}

std::string joined(const std::vector<std::string>& pieces, std::string_view separator) {
  std::string out;
  for (size_t i = 0; i < pieces.size(); ++i) append(out, i ? separator : std::string_view{}, pieces[i]);
  return out;
}

template <class T>
bool add_list(const AttrValue& value, std::string& out, auto text) {
  const auto* list = value.get_if<std::vector<T>>();
  if (!list) return false;
  constexpr size_t kTooLong = 30, kEnds = 5;
  std::vector<std::string> pieces;
  for (size_t i = 0; i < list->size(); ++i) pieces.push_back(text((*list)[i]));
  if (pieces.size() < kTooLong) {
    append(out, '[', joined(pieces, ", "), ']');
    return true;
  }
  const uint64_t hash = fingerprint64(joined(pieces, ","));
  pieces[kEnds] = "...";
  pieces.erase(pieces.begin() + kEnds + 1, pieces.end() - kEnds);
  append(out, '[', joined(pieces, ", "), "]{attr_hash=", hash, '}');
  return true;
}

std::string tensor_text(const Tensor& t) {
  constexpr int64_t kShown = 3;
  return cat("Tensor<type: ", dtype_tf_name(t.dtype()), " shape: ", t.shape().to_string(),
             " values: ", summarize_values(t, kShown), ">");
}

std::string func_text(const FuncValue& f) {
  std::vector<Attrs::Entry> entries;
  for (const auto& [name, value] : f.attrs) entries.emplace_back(name, &value);
  return cat(f.name, "[", summarize_attrs(Attrs(entries)), "]");
}

}  // namespace

std::string message_number(float v) { return number_text(v, 6, 9); }

std::string summarize_values(const Tensor& t, int64_t limit) {
  std::string out;
  int64_t next = 0;
  if (t.shape().is_scalar()) {
    if (limit > 0) out = element_text(t, next++);
  } else {
    add_dimension(t, 0, limit, next, out);
  }
  if (t.num_elements() > limit) out += "...";
  return out;
}

std::string summarize_attr(const AttrValue& value) {
  std::string out;
  if (value.type() == AttrType{AttrKind::kNone, true}) return "[]";
  if (value.type().list) {
    add_list<std::string>(value, out, string_text) ||
        add_list<int64_t>(value, out, [](int64_t v) { return std::to_string(v); }) ||
        add_list<float>(value, out, message_number) ||
        add_list<bool>(value, out, [](bool v) { return std::string(v ? "true" : "false"); }) ||
        add_list<DType>(value, out, dtype_enum_name) ||
        add_list<Shape>(value, out, [](const Shape& s) { return s.to_string(); }) ||
        add_list<Tensor>(value, out, tensor_text) || add_list<FuncValue>(value, out, func_text);
    return out;
  }
  switch (value.type().kind) {
    case AttrKind::kString:
      return string_text(value.get<std::string>());
    case AttrKind::kInt:
      return std::to_string(value.get<int64_t>());
    case AttrKind::kFloat:
      return message_number(value.get<float>());
    case AttrKind::kBool:
      return value.get<bool>() ? "true" : "false";
    case AttrKind::kType:
      return dtype_enum_name(value.get<DType>());
    case AttrKind::kShape:
      return value.get<Shape>().to_string();
    case AttrKind::kTensor:
      return tensor_text(value.get<Tensor>());
    case AttrKind::kFunc:
      return func_text(value.get<FuncValue>());
    case AttrKind::kPlaceholder:
      return cat("$", value.get<std::string>());
    case AttrKind::kNone:
      break;
  }
  return "<Unknown AttrValue type>";
}

std::string summarize_attrs(Attrs attrs) {
  std::vector<Attrs::Entry> sorted(attrs.entries().begin(), attrs.entries().end());
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string out;
  for (const auto& [name, value] : sorted) append(out, out.empty() ? "" : ", ", name, "=", summarize_attr(*value));
  return out;
}

}  // namespace emplace
