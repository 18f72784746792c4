// NonMaxSuppressionV3 and V4: boxes in the order of their scores, then one block that takes one after the other and
// strikes out what it overlaps. How many are left only the device knows: they wait.
#include "core/ops/image/boxes.h"
#include "cuda/dims.h"
#include "cuda/sort.h"
#include "cuda/typed.h"

namespace emplace::cuda {
namespace {

constexpr int kScoreBits = 33;
constexpr uint64_t kNotWanted = uint64_t{1} << 32;  // the key of a score that is not above the limit: behind all others

/// Keys whose order is that of the scores, the best first.
__global__ void score_keys_kernel(const float* scores, uint64_t* keys, float limit, int64_t n) {
  EMPLACE_ROLLED for (int64_t i = thread_index(); i < n; i += thread_count()) {
    keys[i] = scores[i] > limit ? ~ascending_bits(scores[i]) & (kNotWanted - 1) : kNotWanted;
  }
}

/// The boxes in that order, and which of them cannot be chosen.
__global__ void sorted_boxes_kernel(const float* corners, const uint64_t* keys, const int32_t* places, ImageBox* boxes,
                                    bool* out, int64_t n) {
  EMPLACE_ROLLED for (int64_t i = thread_index(); i < n; i += thread_count()) {
    boxes[i] = ImageBox::at(corners + int64_t{4} * places[i]);
    out[i] = keys[i] >= kNotWanted;
  }
}

/// By one block. `drops`: what cannot be compared is left out; the CPU's kernel gives it a score of 0. chosen[0] is how
/// many there are, those behind it are their numbers.
__global__ void choose_kernel(const ImageBox* boxes, const int32_t* places, bool* out, int32_t* chosen, float limit,
                              bool drops, int64_t most, int64_t n) {
  EMPLACE_BLOCK_SHARED(int64_t, slots, [kThreads]);
  const auto first_of_all = [&](int64_t mine) {
    return combine_block(mine, slots, [](int64_t a, int64_t b) { return a < b ? a : b; });
  };
  int64_t left = threadIdx.x;
  while (left < n && out[left]) left += kThreads;
  int64_t at = first_of_all(left), count = 0;
  for (; at < n && count < most; ++count) {
    if (threadIdx.x == 0) chosen[count + 1] = places[at];
    const ImageBox best = boxes[at];
    left = n;
    for (int64_t i = at + 1 + threadIdx.x; i < n; i += kThreads) {
      if (out[i]) continue;
      const float similarity = overlap(boxes[i], best);
      if (similarity > limit || (drops && similarity != similarity))
        out[i] = true;
      else if (left == n)
        left = i;
    }
    at = first_of_all(left);
  }
  if (threadIdx.x == 0) chosen[0] = static_cast<int32_t>(count);
}

class Suppress final : public Kernel {
 public:
  explicit Suppress(const KernelInit& init) {
    if (init.attrs.find("iou_threshold")) overlap_limit_ = init.attrs.number("iou_threshold");
    pads_ = init.attrs.find("pad_to_max_output_size") && init.attrs.flag("pad_to_max_output_size");
  }
  Status prepare(KernelContext& c) override {
    boxes_ = c.input(1).num_elements();
    return ok_status();
  }
  Workspace workspace() const override {
    return {std::max(sort_scratch_bytes(boxes_),
                     scratch_bytes(8 * boxes_, 4 * boxes_, sizeof(ImageBox) * static_cast<size_t>(boxes_), boxes_,
                                   4 * (boxes_ + 1)))};
  }

  Status run(KernelContext& c) override {
    ASSIGN_OR_RETURN(const SuppressionLimits limits, suppression_limits<float>(c, overlap_limit_));
    RETURN_IF_ERROR(check_boxes(c.input(0).shape(), c.input(1).shape()));
    if (limits.most < 0) return invalid_argument("output size must be non-negative");
    const int64_t n = c.input(1).num_elements(), most = std::min(limits.most, n);
    Tensor chosen;
    int32_t count = 0;
    if (most > 0) {
      ASSIGN_OR_RETURN(chosen, choose(c, limits, n, most));
      ASSIGN_OR_RETURN(count, read_back(c, chosen.data<int32_t>()));
    }
    const int64_t size = pads_ ? limits.most : count;
    RETURN_IF_ERROR(ensure_output(c, 0, Shape{size}));
    auto* boxes = c.output(0).data<int32_t>();
    const auto bytes = static_cast<size_t>(count) * sizeof(int32_t);
    if (count > 0) {
      CUDA_TRY(cudaMemcpyAsync(boxes, chosen.data<int32_t>() + 1, bytes, cudaMemcpyDeviceToDevice, stream_of(c)));
    }
    if (size > count) {
      const auto rest = static_cast<size_t>(size - count) * sizeof(int32_t);
      CUDA_TRY(cudaMemsetAsync(boxes + count, 0, rest, stream_of(c)));
    }
    if (c.num_outputs() < 2) return ok_status();
    if (count == 0) return enqueue_zero(c, 1);
    CUDA_TRY(cudaMemcpyAsync(c.output(1).raw(), chosen.raw(), sizeof count, cudaMemcpyDeviceToDevice, stream_of(c)));
    return ok_status();
  }

 private:
  static Status enqueue_zero(KernelContext& c, int output) {
    CUDA_TRY(cudaMemsetAsync(c.output(output).raw(), 0, c.output(output).size_bytes(), stream_of(c)));
    return ok_status();
  }
  static Result<Tensor> choose(KernelContext& c, const SuppressionLimits& limits, int64_t n, int64_t most) {
    const cudaStream_t stream = stream_of(c);
    ASSIGN_OR_RETURN(Tensor keys, c.allocate_scratch(DType::kUInt64, Shape{n}));
    RETURN_IF_ERROR(launch(Barriers::kNone, score_keys_kernel, grid_for(n), kThreads, 0, stream, c.in<float>(1),
                           keys.data<uint64_t>(), limits.score_limit, n));
    ASSIGN_OR_RETURN(const Sorted sorted, sort_keys(c, std::move(keys), n, kScoreBits));
    ASSIGN_OR_RETURN(Tensor boxes, c.allocate_scratch(DType::kFloat, Shape{n, 4}));
    ASSIGN_OR_RETURN(Tensor out, c.allocate_scratch(DType::kBool, Shape{n}));
    ASSIGN_OR_RETURN(Tensor chosen, c.allocate_scratch(DType::kInt32, Shape{most + 1}));
    auto* box = reinterpret_cast<ImageBox*>(boxes.raw());
    RETURN_IF_ERROR(launch(Barriers::kNone, sorted_boxes_kernel, grid_for(n), kThreads, 0, stream, c.in<float>(0),
                           sorted.key(), sorted.place(), box, out.data<bool>(), n));
    RETURN_IF_ERROR(launch(Barriers::kBlock, choose_kernel, dim3(1), kThreads, 0, stream, box, sorted.place(),
                           out.data<bool>(), chosen.data<int32_t>(), limits.overlap_limit, limits.score_limit >= 0,
                           most, n));
    return chosen;
  }

  float overlap_limit_ = 0.5f;
  bool pads_ = false;
  int64_t boxes_ = 0;
};

}  // namespace

void add_suppression(KernelTable& table) {
  constexpr DTypeSet kBoxes{DType::kFloat};
  for (auto op : {"NonMaxSuppressionV3", "NonMaxSuppressionV4"}) table.add_waiting(op, kBoxes, make<Suppress>);
}

}  // namespace emplace::cuda
