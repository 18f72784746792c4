#include "core/run/watchers.h"

#include <cmath>
#include <complex>

#include "core/base/cat.h"
#include "core/tensor/element.h"

namespace emplace {
namespace {

enum class Kind { kFinite, kNan, kInfinite };

Kind kind_of(double v) { return std::isfinite(v) ? Kind::kFinite : std::isnan(v) ? Kind::kNan : Kind::kInfinite; }
Kind kind_of(float v) { return kind_of(static_cast<double>(v)); }
Kind kind_of(half v) { return kind_of(static_cast<float>(v)); }
Kind kind_of(bfloat16 v) { return kind_of(static_cast<float>(v)); }
template <class T>
Kind kind_of(std::complex<T> v) {
  Kind real = kind_of(v.real());
  return real == Kind::kFinite ? kind_of(v.imag()) : real;
}

template <class T>
concept MayBeNonFinite = requires(T v) {
  kind_of(v);
}
&&!std::is_integral_v<T>;

}  // namespace

std::string non_finite_text(const Tensor& tensor) {
  int64_t nans = 0, infinities = 0, first = -1;
  with_type(tensor.dtype(), [&]<class T>() {
    if constexpr (MayBeNonFinite<T>) {
      const T* data = tensor.data<T>();
      for (int64_t i = 0; i < tensor.num_elements(); ++i) {
        Kind kind = kind_of(data[i]);
        if (kind == Kind::kFinite) continue;
        ++(kind == Kind::kNan ? nans : infinities);
        if (first < 0) first = i;
      }
    }
  });
  if (first < 0) return {};
  std::string what = nans > 0 ? cat(nans, " NaN") : "";
  if (infinities > 0) append(what, what.empty() ? "" : " and ", infinities, " infinite");
  return cat(what, " of ", tensor.num_elements(), " elements, first at flat index ", first);
}

void EagerLog::starting(const ObservedInstruction& what) {
  if (what.is_copy()) return;
  write_(cat("Executing op ", graph_.op(what.node), " in device ", devices_.at(what.device).name));
}

Status NumericsCheck::finished(const ObservedInstruction& what, std::span<const Tensor> outputs) {
  if (what.is_copy()) return ok_status();
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].valid() || is_ref(outputs[i].dtype())) continue;
    std::string text = non_finite_text(outputs[i]);
    if (text.empty() || !seen_.insert(what.node).second) continue;
    std::string message = cat(graph_.name(what.node), ":", i, " (", graph_.op(what.node), " on ",
                              devices_.at(what.device).name, "): ", text);
    if (stop_) return failed_precondition(std::move(message)).blamed(Blame::kMismatch);
    report_(message);
  }
  return ok_status();
}

}  // namespace emplace
