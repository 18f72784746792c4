#include "core/tensor/convert_kind.h"

#include <utility>

#include "core/base/cat.h"
#include "core/tensor/element.h"
#include "core/tensor/tiny.h"

namespace emplace {
namespace {

template <class T>
inline constexpr bool kInteger = std::is_integral_v<T> && !std::is_same_v<T, bool>;
template <class T>
inline constexpr bool kReal = kFloating.has(dtype_of<T>);
template <class T>
inline constexpr bool kComplexType = kComplexes.has(dtype_of<T>);

template <class From, class To>
constexpr bool keeps_kind() {
  if constexpr (kInteger<From>) return kInteger<To> || kReal<To> || kComplexType<To>;
  if constexpr (kReal<From>) return kReal<To> || kComplexType<To>;
  return kComplexType<From> && kComplexType<To>;
}

template <class T>
double as_double(T v) {
  if constexpr (kHalves.has(dtype_of<T>))
    return static_cast<double>(static_cast<float>(v));
  else
    return static_cast<double>(v);
}

template <class From, class To>
Status convert_all(const Tensor& from, const Tensor& to) {
  const From* in = from.data<From>();
  To* out = to.data<To>();
  for (int64_t i = 0; i < from.num_elements(); ++i) {
    if constexpr (kInteger<From> && kInteger<To>) {
      if (!std::in_range<To>(in[i]))
        return invalid_argument(
            cat("found ", in[i], " at position ", i, ", which does not fit ", dtype_name(to.dtype())));
      out[i] = static_cast<To>(in[i]);
    } else if constexpr (kComplexType<From>) {
      out[i] = To(in[i]);
    } else {
      out[i] = number_as<To>(as_double(in[i]));
    }
  }
  return ok_status();
}

}  // namespace

Result<Tensor> convert_keeping_kind(const Tensor& t, DType dtype) {
  if (t.dtype() == dtype) return t;
  if (plain_type(dtype) != dtype) {
    ASSIGN_OR_RETURN(const Tensor plain, convert_keeping_kind(t, plain_type(dtype)));
    return from_plain(plain, dtype);
  }
  Status status = invalid_argument(cat("found dtype ", dtype_name(t.dtype()), ", wanted ", dtype_name(dtype)));
  Tensor out;
  with_type(t.dtype(), [&]<class From>() {
    with_type(dtype, [&]<class To>() {
      if constexpr (keeps_kind<From, To>()) {
        Result<Tensor> allocated = Tensor::allocate(dtype, t.shape());
        status = allocated.status();
        if (!allocated.ok()) return;
        out = allocated.take();
        status = convert_all<From, To>(t, out);
      }
    });
  });
  RETURN_IF_ERROR(status);
  return out;
}

}  // namespace emplace
