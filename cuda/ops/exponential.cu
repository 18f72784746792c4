// Exp, Log, Tanh.
#include <cmath>

#include "cuda/elementwise.h"

namespace emplace::cuda {
namespace {

struct Exp {
  template <class T>
  EMPLACE_HD static T apply(T x) { return std::exp(x); }
};
struct Log {
  template <class T>
  EMPLACE_HD static T apply(T x) { return std::log(x); }
};
struct Tanh {
  template <class T>
  EMPLACE_HD static T apply(T x) { return std::tanh(x); }
};

}  // namespace

void add_exponential(KernelTable& table) {
  table.add("Exp", kFloating, elementwise<Exp, float, double, half, bfloat16>);
  table.add("Log", kFloating, elementwise<Log, float, double, half, bfloat16>);
  table.add("Tanh", kFloating, elementwise<Tanh, float, double, half, bfloat16>);
}

}  // namespace emplace::cuda
