// AsString: numbers, truth values and texts as texts of a certain form.
#include <complex>
#include <cstdio>

#include "core/base/cat.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"

namespace emplace {
namespace {

constexpr int64_t kWidest = 1 << 20;  // of what is asked for: a graph of a few bytes cannot take all memory

template <class... A>
std::string formatted(const std::string& form, A... values) {
  const int length = std::snprintf(nullptr, 0, form.c_str(), values...);
  std::string out(static_cast<size_t>(length), ' ');
  std::snprintf(out.data(), out.size() + 1, form.c_str(), values...);
  return out;
}

bool has_form(DType t) { return t == DType::kString || (kFloating | kComplexes).has(t); }

class AsString final : public Kernel {
 public:
  explicit AsString(const KernelInit& init)
      : type_(init.input_types[0]),
        precision_(init.attrs.integer("precision")),
        width_(init.attrs.integer("width")),
        scientific_(init.attrs.flag("scientific")),
        shortest_(init.attrs.flag("shortest")),
        fill_(init.attrs.text("fill")) {}

  Status run(KernelContext& c) override {
    RETURN_IF_ERROR(check());
    RETURN_IF_ERROR(ensure_output(c, 0, c.input(0).shape()));
    for (int64_t i = 0; i < c.input(0).num_elements(); ++i) c.out<std::string>(0)[i] = text(c.input(0), i);
    return ok_status();
  }

 private:
  Status check() const {
    if (fill_.size() > 1) return invalid_argument("Fill string must be one or fewer characters");
    if (scientific_ && shortest_) return invalid_argument("Cannot select both scientific and shortest notation");
    if (!has_form(type_) && (scientific_ || shortest_)) {
      return invalid_argument(cat("scientific and shortest format not supported for datatype ", dtype_tf_name(type_)));
    }
    if (!has_form(type_) && precision_ >= 0)
      return invalid_argument(cat("precision not supported for datatype ", dtype_tf_name(type_)));
    if (!fill_.empty() && std::string_view(" +-0").find(fill_[0]) == std::string_view::npos)
      return invalid_argument(cat("Fill argument not supported: \"", fill_, "\""));
    if (width_ > kWidest || precision_ > kWidest)
      return resource_exhausted(cat("texts wider than ", kWidest, " characters"));
    return ok_status();
  }

  /// "%08.2", without what says of which type.
  std::string form(bool with_precision) const {
    std::string out = "%" + fill_;
    if (width_ >= 0) append(out, width_);
    if (with_precision && precision_ >= 0) append(out, ".", precision_);
    return out;
  }
  std::string number_form() const { return form(true) + (shortest_ ? "g" : scientific_ ? "e" : "f"); }

  std::string real(double x) const { return formatted(number_form(), x); }
  template <class T>
  std::string pair(const T& z) const {
    return formatted(cat("(", number_form(), ",", number_form(), ")"), static_cast<double>(z.real()),
                     static_cast<double>(z.imag()));
  }
  template <class T>
  std::string integer(const Tensor& t, int64_t i) const {
    if constexpr (std::is_signed_v<T>) return formatted(form(false) + "lld", static_cast<long long>(t.data<T>()[i]));
    return formatted(form(false) + "llu", static_cast<unsigned long long>(t.data<T>()[i]));
  }
  std::string words(const std::string& text) const {
    const auto width = static_cast<size_t>(std::max<int64_t>(width_, 0));
    const std::string blanks(width > text.size() ? width - text.size() : 0, ' ');
    return fill_ == "-" ? text + blanks : blanks + text;
  }

  std::string text(const Tensor& t, int64_t i) const {
    switch (t.dtype()) {
      case DType::kFloat:
        return real(static_cast<double>(t.data<float>()[i]));
      case DType::kDouble:
        return real(t.data<double>()[i]);
      case DType::kHalf:
        return real(static_cast<double>(static_cast<float>(t.data<half>()[i])));
      case DType::kBFloat16:
        return real(static_cast<double>(static_cast<float>(t.data<bfloat16>()[i])));
      case DType::kComplex64:
        return pair(t.data<std::complex<float>>()[i]);
      case DType::kComplex128:
        return pair(t.data<std::complex<double>>()[i]);
      case DType::kBool:
        return t.data<bool>()[i] ? "true" : "false";
      case DType::kString:
        return words(t.data<std::string>()[i]);
      default:
        return integer_text(t, i);
    }
  }
  std::string integer_text(const Tensor& t, int64_t i) const {
    switch (t.dtype()) {
      case DType::kInt8:
        return integer<int8_t>(t, i);
      case DType::kInt16:
        return integer<int16_t>(t, i);
      case DType::kInt32:
        return integer<int32_t>(t, i);
      case DType::kInt64:
        return integer<int64_t>(t, i);
      case DType::kUInt8:
        return integer<uint8_t>(t, i);
      case DType::kUInt16:
        return integer<uint16_t>(t, i);
      case DType::kUInt32:
        return integer<uint32_t>(t, i);
      default:
        return integer<uint64_t>(t, i);
    }
  }

  const DType type_;
  const int64_t precision_, width_;
  const bool scientific_, shortest_;
  const std::string fill_;
};

}  // namespace

OpDef as_string_op() {
  return OpDef("AsString")
      .doc("Each element as text, with a width, digits and notation as C's printf has them.")
      .shape(shape_unchanged)
      .cpu(kAllData, make<AsString>)
      .not_differentiable();
}

}  // namespace emplace
