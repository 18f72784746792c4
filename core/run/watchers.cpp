#include "core/run/watchers.h"

#include <cmath>
#include <complex>

#include "core/base/cat.h"
#include "core/tensor/element.h"

namespace emplace {
namespace {

enum class Finiteness { kFinite, kNan, kInfinite };

Finiteness finiteness(double v) {
  return std::isfinite(v) ? Finiteness::kFinite : std::isnan(v) ? Finiteness::kNan : Finiteness::kInfinite;
}
Finiteness finiteness(float v) { return finiteness(static_cast<double>(v)); }
Finiteness finiteness(half v) { return finiteness(static_cast<float>(v)); }
Finiteness finiteness(bfloat16 v) { return finiteness(static_cast<float>(v)); }
template <class T>
Finiteness finiteness(std::complex<T> v) {
  Finiteness real = finiteness(v.real());
  return real == Finiteness::kFinite ? finiteness(v.imag()) : real;
}

template <class T>
concept MayBeNonFinite = requires(T v) {
  finiteness(v);
}
&&!std::is_integral_v<T>;

}  // namespace

std::string non_finite_text(const Tensor& tensor) {
  int64_t nans = 0, infinities = 0, first = -1;
  with_type(tensor.dtype(), [&]<class T>() {
    if constexpr (MayBeNonFinite<T>) {
      const T* data = tensor.data<T>();
      for (int64_t i = 0; i < tensor.num_elements(); ++i) {
        Finiteness found = finiteness(data[i]);
        if (found == Finiteness::kFinite) continue;
        ++(found == Finiteness::kNan ? nans : infinities);
        if (first < 0) first = i;
      }
    }
  });
  if (first < 0) return {};
  std::string what = nans > 0 ? cat(nans, " NaN") : "";
  if (infinities > 0) append(what, what.empty() ? "" : " and ", infinities, " infinite");
  return cat(what, " of ", tensor.num_elements(), " elements, first at flat index ", first);
}

constexpr std::string_view kEagerConst = "_EagerConst";  // built here, by TensorFlow: a constant that goes to a device

void EagerLog::starting(const ObservedInstruction& what) {
  if (!what.is_copy()) say(graph_.op(what.node), what.device);
}

Status EagerLog::finished(const ObservedInstruction& what, std::span<const Tensor>) {
  if (what.is_copy() || !graph_.traits(what.node).constant || !constants_.insert(what.node).second) return ok_status();
  const std::optional<DeviceName> asked = DeviceName::parse(requested_device(graph_, options_, what.node));
  if (!asked || asked->type != "CPU" || asked->id.value_or(0) != 0) say(kEagerConst, what.device);
  return ok_status();
}

void EagerLog::say(std::string_view op, DeviceId device) const {
  write_(cat("Executing op ", op, " in device ", devices_.at(device).name));
}

Status NumericsCheck::finished(const ObservedInstruction& what, std::span<const Tensor> outputs) {
  if (what.is_copy()) return ok_status();
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].valid() || is_ref(outputs[i].dtype())) continue;
    std::string text = non_finite_text(outputs[i]);
    if (text.empty() || !seen_.insert(what.node).second) continue;
    std::string message = cat(graph_.name(what.node), ":", i, " (", graph_.op(what.node), " on ",
                              devices_.at(what.device).name, "): ", text);
    if (stop_) return failed_precondition(std::move(message)).blamed(Blame::kMismatch).at_node(graph_.name(what.node));
    report_(message);
  }
  return ok_status();
}

}  // namespace emplace
