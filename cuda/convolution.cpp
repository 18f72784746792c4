// Part of cuda/conv_plan.h: who makes the plan of a problem, and the plans that are kept.
#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <utility>

#include "core/base/cat.h"
#include "cuda/conv_plan.h"
#ifdef EMPLACE_STANDIN
#include "cuda/standin/convolution.h"
#else
#include "cuda/cudnn_plan.h"
#endif

namespace emplace::cuda {
namespace {

int64_t pad_after(int64_t in, int64_t window, int64_t dilation, int64_t stride, int64_t pad_before, int64_t out) {
  return std::max<int64_t>(0, (out - 1) * stride + (window - 1) * dilation + 1 - in - pad_before);
}

auto key_of(const ConvProblem& p, const DeviceState& d) {
  const ConvShape& s = p.shape;
  return std::array{static_cast<int64_t>(p.pass),
                    static_cast<int64_t>(p.type),
                    int64_t{p.channels_last},
                    p.pad_bottom,
                    p.pad_right,
                    s.batch,
                    s.in_h,
                    s.in_w,
                    s.in_c,
                    s.window_h,
                    s.window_w,
                    s.filter_c,
                    s.out_h,
                    s.out_w,
                    s.out_c,
                    s.stride_h,
                    s.stride_w,
                    s.dilation_h,
                    s.dilation_w,
                    s.pad_top,
                    s.pad_left,
                    int64_t{d.device},
                    int64_t{d.place},
                    int64_t{d.stream_priority},
                    int64_t{d.deterministic},
                    int64_t{d.tf32},
                    d.workspace_limit};
}

}  // namespace

ConvProblem ConvProblem::of(ConvPass pass, DType type, const ConvShape& s, bool channels_last) {
  return {pass,
          type,
          s,
          channels_last,
          pad_after(s.in_h, s.window_h, s.dilation_h, s.stride_h, s.pad_top, s.out_h),
          pad_after(s.in_w, s.window_w, s.dilation_w, s.stride_w, s.pad_left, s.out_w)};
}

Result<std::shared_ptr<const ConvPlan>> ConvPlan::find(const ConvProblem& problem, const DeviceState& device) {
  using Plan = std::shared_ptr<const ConvPlan>;
  constexpr size_t kMostKept = 4096;
  static std::mutex mutex;
  static auto* const kKept =
      new std::map<decltype(key_of(problem, device)), Result<Plan>>;  // lives as long as the library
  const auto key = key_of(problem, device);
  std::lock_guard lock(mutex);
  if (auto found = kKept->find(key); found != kKept->end()) return found->second;
  if (kKept->size() == kMostKept) kKept->clear();
#ifdef EMPLACE_STANDIN
  Result<Plan> made = standin::conv_plan(problem, device);
#else
  Result<Plan> made = cudnn::make_plan(problem, device);
#endif
  return kKept->emplace(key, std::move(made)).first->second;
}

}  // namespace emplace::cuda
