/// LibraryConv: the part of a convolution kernel that takes a library's plan where there is one, and brings
/// TensorFlow's filters
/// ([h, w, in, out]) into the layout that libraries want, or back.
#pragma once

#include "core/base/cat.h"
#include "cuda/conv_plan.h"
#include "cuda/kernel_table.h"
#include "cuda/launch.h"
#include "cuda/log.h"
#include "cuda/narrow.h"

namespace emplace::cuda {

/// Sizes of a filter; `last`: the library's is [out, taps, in], else [out, in, taps].
struct FilterSizes {
  int64_t taps, in, out;
  bool last;
  int64_t elements() const { return taps * in * out; }
  /// Of the library's element `i` in TensorFlow's filter.
  __device__ __forceinline__ int64_t tensorflow(int64_t i) const {
    const int64_t rest = i % (taps * in), channel = last ? rest % in : rest / taps,
                  tap = last ? rest / in : rest % taps;
    return (tap * in + channel) * out + i / (taps * in);
  }
};

template <class T>
__global__ void to_library_kernel(const T* filter, T* packed, FilterSizes s, int64_t n) {
  EMPLACE_ROLLED for (int64_t i = thread_index(); i < n; i += thread_count()) packed[i] = filter[s.tensorflow(i)];
}
template <class T>
__global__ void from_library_kernel(const T* packed, T* filter, FilterSizes s, int64_t n) {
  EMPLACE_ROLLED for (int64_t i = thread_index(); i < n; i += thread_count()) filter[s.tensorflow(i)] = packed[i];
}

template <class T>
class LibraryConv {
 public:
  LibraryConv(const KernelInit& init, ConvPass pass) : device_(device_of(init)), pass_(pass), node_(init.node_name) {}

  /// What run() takes, or the own kernel, which takes `own` bytes, in its place.
  Workspace workspace(int64_t own = 0) const {
    return {plan_ ? scratch_bytes(sizes_.elements() * static_cast<int64_t>(sizeof(T)), plan_->workspace_bytes()) : own};
  }

  /// For these sizes. Without a plan run() is not to be called.
  Status choose(const ConvShape& shape, ImageLayout layout) {
    plan_.reset();
    sizes_ = {shape.taps(), shape.filter_c, shape.out_c, layout.c == 3};
    if (std::is_integral_v<T> || shape.batch * shape.in_h * shape.in_w * shape.in_c == 0 ||
        shape.pixels() * sizes_.elements() == 0)
      return ok_status();
    auto found = ConvPlan::find(ConvProblem::of(pass_, dtype_of<T>, shape, sizes_.last), device_);
    if (found.ok()) plan_ = found.take();
    say(plan_ ? cat("cuDNN, ", plan_->workspace_bytes(), " bytes of workspace")
              : cat("emplace's own kernel: ", found.status().message()));
    return plan_ || found.status().code() == Code::kUnavailable ? ok_status() : found.take_status();
  }

  /// False: take the own kernel, now and from now on, since there is no memory for the library's.
  Result<bool> run(KernelContext& c, const T* image, const T* filter, const T* out) {
    if (!plan_) return false;
    Tensor packed, workspace;
    if (Status got = take_memory(c, packed, workspace); !got.ok()) {
      if (device_.deterministic || got.code() != Code::kResourceExhausted) return got;
      plan_.reset();
      say(cat("emplace's own kernel: ", got.message()));
      return false;
    }
    const int64_t n = sizes_.elements();
    T* const own = packed.data<T>();
    auto rearrange = [&](auto kernel, const T* from, T* to) {
      return launch(Barriers::kNone, kernel, grid_for(n), kThreads, 0, stream_of(c), from, to, sizes_, n);
    };
    const bool gradient = pass_ == ConvPass::kFilterGradient;
    if (!gradient) RETURN_IF_ERROR(rearrange(to_library_kernel<T>, filter, own));
    const ConvTensors tensors{const_cast<T*>(image), own, const_cast<T*>(out)};
    RETURN_IF_ERROR(plan_->run(stream_of(c), tensors, workspace.valid() ? workspace.raw() : nullptr));
    if (gradient) RETURN_IF_ERROR(rearrange(from_library_kernel<T>, own, const_cast<T*>(filter)));
    return true;
  }

 private:
  Status take_memory(KernelContext& c, Tensor& packed, Tensor& workspace) {
    ASSIGN_OR_RETURN(packed, c.allocate_scratch(dtype_of<T>, Shape{sizes_.elements()}));
    const auto bytes = static_cast<int64_t>(plan_->workspace_bytes());
    if (bytes == 0) return ok_status();
    ASSIGN_OR_RETURN(workspace, c.allocate_scratch(DType::kUInt8, Shape{bytes}));
    return ok_status();
  }
  void say(const std::string& what) {
    constexpr const char* kPasses[] = {"convolution", "gradient of a convolution's input",
                                       "gradient of a convolution's filter"};
    if (what != said_) cuda::say(LogLevel::kDebug, cat(node_, ": ", kPasses[static_cast<int>(pass_)], " by ", what));
    said_ = what;
  }

  const DeviceState& device_;
  ConvPass pass_;
  std::string node_, said_;
  FilterSizes sizes_{};
  std::shared_ptr<const ConvPlan> plan_;
};

}  // namespace emplace::cuda
