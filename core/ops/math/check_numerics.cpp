// CheckNumerics, CheckNumericsV2: their input, if all of it is finite.
#include <atomic>
#include <cmath>

#include "core/base/cat.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/math/unsound.h"

namespace emplace {
namespace {

template <class T>
unsigned unsound_values(const T* values, int64_t begin, int64_t end) {
  unsigned found = 0;
  for (int64_t i = begin; i < end; ++i) {
    const auto v =
        static_cast<double>(static_cast<std::conditional_t<std::is_same_v<T, double>, double, float>>(values[i]));
    if (std::isfinite(v)) continue;
    found |= std::isnan(v) ? kNan : v < 0 ? kNegative : kPositive;
  }
  return found;
}

template <class T, bool with_signs>
class CheckNumerics final : public Kernel {
 public:
  explicit CheckNumerics(const KernelInit& init) : message_(init.attrs.text("message")) {}
  Status run(KernelContext& c) override {
    const T* values = c.in<T>(0);
    std::atomic<unsigned> found = 0;
    c.parallel_for(c.input(0).num_elements(), 0.5, [&](int64_t begin, int64_t end) {
      if (const unsigned here = unsound_values(values, begin, end)) found.fetch_or(here, std::memory_order_relaxed);
    });
    if (found != 0)
      return invalid_argument(cat(message_, " : Tensor had ", unsound_text(found, with_signs), " values"));
    c.forward_output(0, c.input(0));
    return ok_status();
  }

 private:
  std::string message_;
};

/// The attr is bytes to TensorFlow's Python, which writes them so into the message of the gradient's check.
std::string python_bytes(std::string_view text) {
  const char quote = text.find('\'') != text.npos && text.find('"') == text.npos ? '"' : '\'';
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out = cat("b", quote);
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '\n' || c == '\r' || c == '\t') {
      append(out, '\\', c == '\n' ? 'n' : c == '\r' ? 'r' : 't');
    } else if (code < 0x20 || code >= 0x7f) {
      append(out, "\\x", kDigits[code >> 4], kDigits[code & 15]);
    } else {
      if (c == '\\' || c == quote) out += '\\';
      out += c;
    }
  }
  return out + quote;
}

Status check_numerics_gradient(GradientContext& g) {
  const std::string message = cat("Not a number (NaN) or infinity (Inf) values detected in gradient. ",
                                  python_bytes(g.attrs().text("message")));
  g.set(0, g.add(g.op(), {g.grad(0)}, {{"message", AttrValue::of(message)}}));
  return g.status();
}

template <bool with_signs>
OpDef check_numerics(std::string_view name, std::string_view doc) {
  return OpDef(name)
      .doc(doc)
      .traits({.of_sums = OfSums::kKeeps})
      .shape(shape_unchanged)
      .template cpu<float>(make<CheckNumerics<float, with_signs>>)
      .template cpu<double>(make<CheckNumerics<double, with_signs>>)
      .template cpu<half>(make<CheckNumerics<half, with_signs>>)
      .template cpu<bfloat16>(make<CheckNumerics<bfloat16, with_signs>>)
      .provides_outputs()
      .gradient(check_numerics_gradient)
      .sample("tensor=f32[2,3] uniform(-2,2); message='here'");
}

}  // namespace

OpDef check_numerics_op() {
  return check_numerics<false>("CheckNumerics", "Its input; fails if an element is not a number or infinite.");
}
OpDef check_numerics_v2_op() {
  return check_numerics<true>("CheckNumericsV2",
                              "Its input; fails if an element is not a number or infinite, and says of which sign.");
}

}  // namespace emplace
