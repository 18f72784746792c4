// NonMaxSuppressionV2 to V4: boxes in the order of their scores, then one block that takes one after the other and
// strikes out what it overlaps. How many are left only the device knows: they wait.
#include "core/ops/image/boxes.h"
#include "cuda/dims.h"
#include "cuda/sort.h"
#include "cuda/typed.h"

namespace emplace::cuda {
namespace {

constexpr int kScoreBits = 33;
// Keys of scores; the best has the least.
constexpr uint64_t kInfiniteScore = 0x007fffff, kNoScore = 0x7fffffff;
constexpr uint64_t kNotWanted = uint64_t{1} << 32;  // of a score that is not above the limit: behind all others

__global__ void score_keys_kernel(const float* scores, uint64_t* keys, float limit, int64_t n) {
  EMPLACE_ROLLED for (int64_t i = thread_index(); i < n; i += thread_count()) {
    keys[i] = scores[i] > limit ? ~ascending_bits(scores[i]) & (kNotWanted - 1) : kNotWanted;
  }
}

enum class BoxState : uint8_t {
  kOpen,
  kOut,       // or chosen
  kDeferred,  // cannot be compared with one that was chosen, which makes its score 0
};

/// The boxes in that order, and which of them cannot be chosen.
__global__ void sorted_boxes_kernel(const float* corners, const uint64_t* keys, const int32_t* places, ImageBox* boxes,
                                    BoxState* states, int64_t n) {
  EMPLACE_ROLLED for (int64_t i = thread_index(); i < n; i += thread_count()) {
    boxes[i] = ImageBox::at(corners + int64_t{4} * places[i]);
    states[i] = keys[i] >= kNotWanted ? BoxState::kOut : BoxState::kOpen;
  }
}

struct SortedBoxes {
  const ImageBox* boxes;
  const int32_t* places;
  const uint64_t* keys;
  BoxState* states;
  float limit;  // of what may overlap
  bool drops;   // a score of 0 is not above the limit
  int64_t n;

  enum class Turn { kBegin, kAboveNothing, kNothing, kBelowNothing };
  static constexpr int64_t kNever = int64_t{1} << 62;

  /// Where box i stands among those whose turn it is; kNever: it is not among them. Boxes without a score come by
  /// their numbers, which is not their order here where some were deferred.
  __device__ __forceinline__ int64_t rank(int64_t i, Turn turn) const {
    if (states[i] == BoxState::kOut) return kNever;
    const bool has_none = states[i] == BoxState::kDeferred || keys[i] == kNoScore;
    if (turn == Turn::kNothing) return has_none ? int64_t{places[i]} << 32 | i : kNever;
    return has_none || (keys[i] < kNoScore) != (turn == Turn::kAboveNothing) ? kNever : i;
  }
  /// After `best` was chosen.
  __device__ __forceinline__ void compare(int64_t i, const ImageBox& best) const {
    if (states[i] == BoxState::kOut) return;
    const float similarity = overlap(boxes[i], best);
    if (similarity > limit)
      states[i] = BoxState::kOut;
    else if (similarity != similarity && keys[i] < kNoScore)
      states[i] = drops || keys[i] == kInfiniteScore ? BoxState::kOut : BoxState::kDeferred;
  }
};

/// By one block, of which a thread looks at every 256th box only. chosen[0] is how many there are, those behind it are
/// their numbers.
__global__ void choose_kernel(SortedBoxes all, int32_t* chosen, int64_t most) {
  EMPLACE_BLOCK_SHARED(int64_t, slots, [kThreads]);
  constexpr int64_t kPlace = (int64_t{1} << 32) - 1;
  int64_t count = 0, first = SortedBoxes::kNever;
  auto turn = SortedBoxes::Turn::kBegin;
  while (count < most) {
    const bool found = first != SortedBoxes::kNever;
    ImageBox best = {};
    int64_t mine = SortedBoxes::kNever, begin = 0;
    if (found) {
      const int64_t at = first & kPlace;
      best = all.boxes[at];
      if (threadIdx.x == 0) chosen[count + 1] = all.places[at];
      if (at % kThreads == threadIdx.x) all.states[at] = BoxState::kOut;
      if (all.drops) begin = at / kThreads * kThreads;  // nobody before it is left
      ++count;
    } else {
      if (turn == SortedBoxes::Turn::kBelowNothing) break;
      turn = static_cast<SortedBoxes::Turn>(static_cast<int>(turn) + 1);
    }
    EMPLACE_ROLLED for (int64_t i = begin + threadIdx.x; i < all.n; i += kThreads) {
      if (found) all.compare(i, best);
      const int64_t rank = all.rank(i, turn);
      mine = rank < mine ? rank : mine;
    }
    first = combine_block(mine, slots, [](int64_t a, int64_t b) { return a < b ? a : b; });
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
    ASSIGN_OR_RETURN(Tensor states, c.allocate_scratch(DType::kUInt8, Shape{n}));
    ASSIGN_OR_RETURN(Tensor chosen, c.allocate_scratch(DType::kInt32, Shape{most + 1}));
    auto* box = reinterpret_cast<ImageBox*>(boxes.raw());
    auto* state = reinterpret_cast<BoxState*>(states.raw());
    RETURN_IF_ERROR(launch(Barriers::kNone, sorted_boxes_kernel, grid_for(n), kThreads, 0, stream, c.in<float>(0),
                           sorted.key(), sorted.place(), box, state, n));
    const SortedBoxes all{box, sorted.place(), sorted.key(), state, limits.overlap_limit, limits.score_limit >= 0, n};
    RETURN_IF_ERROR(
        launch(Barriers::kBlock, choose_kernel, dim3(1), kThreads, 0, stream, all, chosen.data<int32_t>(), most));
    return chosen;
  }

  float overlap_limit_ = 0.5f;
  bool pads_ = false;
  int64_t boxes_ = 0;
};

}  // namespace

void add_suppression(KernelTable& table) {
  constexpr DTypeSet kBoxes{DType::kFloat};
  for (auto op : {"NonMaxSuppressionV2", "NonMaxSuppressionV3", "NonMaxSuppressionV4"})
    table.add_waiting(op, kBoxes, make<Suppress>);
}

}  // namespace emplace::cuda
