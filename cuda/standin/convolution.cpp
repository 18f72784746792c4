#include "cuda/standin/convolution.h"

#include <cstdlib>
#include <cstring>
#include <vector>

#include "cuda/arithmetic.h"
#include "cuda/error.h"
#include "cuda/standin/streams.h"

namespace emplace::standin {

using namespace cuda;

namespace {

constexpr size_t kWorkspaceBytes = 1000;

/// Where an element lies, in images and (as [out, in, h, w]) filters.
struct Strides {
  int64_t n, c, h, w;
  Strides(int64_t channels, int64_t height, int64_t width, bool last)
      : n(channels * height * width),
        c(last ? 1 : height * width),
        h(last ? width * channels : width),
        w(last ? channels : 1) {}
  int64_t at(int64_t image, int64_t channel, int64_t y, int64_t x) const {
    return image * n + channel * c + y * h + x * w;
  }
};

template <class T>
void convolve(const ConvProblem& p, const ConvTensors& t) {
  const ConvShape& s = p.shape;
  const Strides image(s.in_c, s.in_h, s.in_w, p.channels_last),
      filter(s.filter_c, s.window_h, s.window_w, p.channels_last);
  const Strides out(s.out_c, s.out_h, s.out_w, p.channels_last);
  T* const data[] = {static_cast<T*>(t.image), static_cast<T*>(t.filter), static_cast<T*>(t.out)};
  const int64_t sizes[] = {s.batch * image.n, s.out_c * filter.n, s.batch * out.n};
  const size_t written = p.pass == ConvPass::kForward ? 2 : p.pass == ConvPass::kInputGradient ? 0 : 1;
  std::vector<Wide<T>> sums(static_cast<size_t>(sizes[written]));
  const int64_t group_out = s.out_c / s.groups();
  for (int64_t n = 0; n < s.batch; ++n)
    for (int64_t k = 0; k < s.out_c; ++k)
      for (int64_t i = 0; i < s.out_h * s.out_w; ++i)
        for (int64_t tap = 0; tap < s.taps(); ++tap) {
          const int64_t y = i / s.out_w * s.stride_h - s.pad_top + tap / s.window_w * s.dilation_h;
          const int64_t x = i % s.out_w * s.stride_w - s.pad_left + tap % s.window_w * s.dilation_w;
          if (x < 0 || y < 0 || x >= s.in_w || y >= s.in_h) continue;
          for (int64_t c = 0; c < s.filter_c; ++c) {
            const int64_t at[] = {image.at(n, k / group_out * s.filter_c + c, y, x),
                                  filter.at(k, c, tap / s.window_w, tap % s.window_w),
                                  out.at(n, k, i / s.out_w, i % s.out_w)};
            const size_t a = written == 0 ? 1 : 0, b = written == 2 ? 1 : 2;
            sums[static_cast<size_t>(at[written])] += widen(data[a][at[a]]) * widen(data[b][at[b]]);
          }
        }
  for (size_t i = 0; i < sums.size(); ++i) data[written][i] = narrow<T>(sums[i]);
}

class Loop final : public ConvPlan {
 public:
  explicit Loop(const ConvProblem& problem) : problem_(problem) {}
  size_t workspace_bytes() const override { return kWorkspaceBytes; }
  Status run(cudaStream_t stream, const ConvTensors& tensors, void* workspace) const override {
    auto work = [=, p = problem_] {
      std::memset(workspace, 0x5c, kWorkspaceBytes);
      switch (p.type) {
        case DType::kDouble:
          return convolve<double>(p, tensors);
        case DType::kHalf:
          return convolve<half>(p, tensors);
        case DType::kBFloat16:
          return convolve<bfloat16>(p, tensors);
        default:
          return convolve<float>(p, tensors);
      }
    };
    return status_of(enqueue(stream, {work}), "the stand-in's convolution");
  }

 private:
  ConvProblem problem_;
};

}  // namespace

Result<std::shared_ptr<const ConvPlan>> conv_plan(const ConvProblem& problem, const DeviceState&) {
  if (!std::getenv("EMPLACE_STANDIN_CUDNN")) return unavailable("no cuDNN on the stand-in");
  return std::shared_ptr<const ConvPlan>(std::make_shared<Loop>(problem));
}

}  // namespace emplace::standin
