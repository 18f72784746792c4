#include "core/ops/kit/row_ops.h"

#include <type_traits>

#include "core/base/assert.h"
#include "core/ops/kit/numeric.h"
#include "core/tensor/element.h"

namespace emplace {
namespace {

// What arithmetic is done in: the halves in float; integers as unsigned ones, so that they wrap, of at least 32 bits,
// because narrower ones are promoted to int, which may overflow.
template <class T>
auto wide(T x) {
  if constexpr (kIsHalf<T>)
    return static_cast<float>(x);
  else if constexpr (std::is_integral_v<T> && sizeof(T) < sizeof(uint32_t))
    return static_cast<uint32_t>(x);
  else if constexpr (std::is_integral_v<T>)
    return static_cast<std::make_unsigned_t<T>>(x);
  else
    return x;
}
// What is compared.
template <class T>
auto valued(T x) {
  if constexpr (kIsHalf<T>)
    return static_cast<float>(x);
  else
    return x;
}

struct Add {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(wide(a) + wide(b));
  }
};
struct Subtract {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(wide(a) - wide(b));
  }
};
struct Multiply {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(multiply(wide(a), wide(b)));
  }
};
struct Maximum {
  template <class T>
  static T apply(T a, T b) {
    return valued(a) > valued(b) ? a : b;
  }
};
struct Minimum {
  template <class T>
  static T apply(T a, T b) {
    return valued(a) < valued(b) ? a : b;
  }
};

template <class T, class F>
void apply(void* out_raw, const void* in_raw, int64_t n) {
  T* out = static_cast<T*>(out_raw);
  const T* in = static_cast<const T*>(in_raw);
  for (int64_t i = 0; i < n; ++i) out[i] = F::apply(out[i], in[i]);
}

template <class F, bool kOrdered = false>
RowOp choose(DType t) {
  RowOp chosen = nullptr;
  with_type(t, [&]<class T>() {
    if constexpr (!std::is_same_v<T, bool> && !std::is_same_v<T, std::string> && !(kOrdered && kIsComplex<T>)) {
      chosen = apply<T, F>;
    }
  });
  EMPLACE_ASSERT(chosen != nullptr, "the op is registered for number types only");
  return chosen;
}

}  // namespace

RowOp row_add(DType t) { return choose<Add>(t); }
RowOp row_subtract(DType t) { return choose<Subtract>(t); }
RowOp row_multiply(DType t) { return choose<Multiply>(t); }
RowOp row_maximum(DType t) { return choose<Maximum, true>(t); }
RowOp row_minimum(DType t) { return choose<Minimum, true>(t); }

}  // namespace emplace
