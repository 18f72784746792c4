// Complex, Real, Imag, ComplexAbs, Angle: complex numbers made of two real ones, and taken apart.
#include "cuda/elementwise.h"

namespace emplace::cuda {
namespace {

struct RealPart {
  template <class T>
  EMPLACE_HD static auto apply(T x) {
    return x.re;
  }
};
struct ImaginaryPart {
  template <class T>
  EMPLACE_HD static auto apply(T x) {
    return x.im;
  }
};
struct Magnitude {
  template <class T>
  EMPLACE_HD static auto apply(T x) {
    return magnitude(x);
  }
};
struct Direction {
  template <class T>
  EMPLACE_HD static auto apply(T x) {
    return std::atan2(x.im, x.re);
  }
};
struct OfParts {
  template <class T>
  EMPLACE_HD static Complex<T> apply(T re, T im) {
    return {re, im};
  }
};

}  // namespace

void add_parts(KernelTable& table) {
  table.add("Real", kComplexes, elementwise<RealPart, complex64, complex128>);
  table.add("Imag", kComplexes, elementwise<ImaginaryPart, complex64, complex128>);
  table.add("ComplexAbs", kComplexes, elementwise<Magnitude, complex64, complex128>);
  table.add("Angle", kComplexes, elementwise<Direction, complex64, complex128>);
  table.add("Complex", kFloatDouble, elementwise<OfParts, float, double>);
}

}  // namespace emplace::cuda
