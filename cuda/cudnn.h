/// cuDNN's descriptors of a convolution: tensors, operation, and a graph of that one operation. They need no GPU.
#pragma once

#include <string>
#include <utility>

#include "cuda/conv_plan.h"
#include "cuda/cudnn_api.h"

namespace emplace::cuda::cudnn {

/// Loaded at the first call. Unavailable says what is missing.
const Result<Functions>& functions();

/// Sets attributes until finalize(). Failed calls give Unavailable if cuDNN does not support what was asked, else
/// Internal.
class Descriptor {
 public:
  Descriptor() = default;
  static Result<Descriptor> make(const Functions& f, Kind kind);
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept : f_(other.f_), handle_(std::exchange(other.handle_, nullptr)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(f_, other.f_);
    std::swap(handle_, other.handle_);
    return *this;
  }

  Status set(Attribute attribute, Type type, int64_t count, const void* values);
  template <class T>
  Status set(Attribute attribute, Type type, const T& value) {
    return set(attribute, type, 1, &value);
  }
  Status set(Attribute attribute, const Descriptor& other) { return set(attribute, Type::kDescriptor, other.handle_); }
  Status get(Attribute attribute, Type type, int64_t room, int64_t& count, void* values) const;
  Status finalize();
  DescriptorHandle handle() const { return handle_; }

 private:
  Descriptor(const Functions& f, DescriptorHandle handle) : f_(&f), handle_(handle) {}
  const Functions* f_ = nullptr;
  DescriptorHandle handle_ = nullptr;
};

/// OK, or what failed in cuDNN's words.
Status status_of(const Functions& f, StatusCode code, const char* call);

/// In ConvTensors' order.
inline constexpr int64_t kIds[3] = {'x', 'w', 'y'};

struct ConvGraph {
  Descriptor image, filter, out, convolution, operation, graph;
};
/// `handle` may be null as long as nothing is to be run. Internal: cuDNN refuses the sizes.
Result<ConvGraph> conv_graph(const Functions& f, const ConvProblem& problem, Handle handle = nullptr);

}  // namespace emplace::cuda::cudnn
