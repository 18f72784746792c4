// Copies between boxes of elements with strides of their own, fills, and the ops that consist of these alone.
#include "cuda/moving.h"

#include <cstring>
#include <vector>

#include "core/base/tiny_float.h"
#include "core/ops/state/variable_state.h"
#include "cuda/broadcast.h"
#include "cuda/typed.h"

namespace emplace::cuda {
namespace {

constexpr int kMaxAxes = 12;

/// Innermost axis first. Strides in elements.
struct Box {
  int axes = 0;
  int64_t elements = 1;
  int64_t size[kMaxAxes] = {}, in_stride[kMaxAxes] = {}, out_stride[kMaxAxes] = {};
  FastDivisor divisor[kMaxAxes];

  void add(const Mover::Axis& a) {
    size[axes] = a.size;
    in_stride[axes] = a.in_stride;
    out_stride[axes] = a.out_stride;
    if (a.size < (int64_t{1} << 31)) divisor[axes] = FastDivisor(static_cast<uint32_t>(a.size));
    elements *= a.size;
    ++axes;
  }
  __device__ __forceinline__ void offsets(int64_t i, int64_t& in, int64_t& out) const {
    const bool small = elements < (int64_t{1} << 31);
    for (int d = 0; d < axes; ++d) {
      const int64_t next = small ? divisor[d].divide(static_cast<uint32_t>(i)) : i / size[d];
      const int64_t index = i - next * size[d];
      in += index * in_stride[d];
      out += index * out_stride[d];
      i = next;
    }
  }
};

template <class E>
__global__ void copy_kernel(const E* in, E* out, Box box) {
  EMPLACE_ROLLED for (int64_t i = thread_index(); i < box.elements; i += thread_count()) {
    int64_t from = 0, to = 0;
    box.offsets(i, from, to);
    out[to] = in[from];
  }
}

/// A side of the squares that a plane is cut into, and the elements beside each row of one that keep columns out of
/// each other's banks of shared memory.
template <class E>
inline constexpr int kSquare = sizeof(E) <= 4 ? 64 : 32;
template <class E>
inline constexpr int kBeside = sizeof(E) < 4 ? 4 / static_cast<int>(sizeof(E)) : 1;

/// A plane whose rows are consecutive in `in` and whose columns are consecutive in `out`.
struct Plane {
  Mover::Axis along_in, along_out;
  FastDivisor squares_in, squares_out;  // of its axes
};

/// Once per element of `outer`. Squares go through shared memory, so that both sides use whole cache lines. A thread
/// loads all that it moves before it stores any.
template <class E>
__global__ void transpose_kernel(const E* in, E* out, Plane plane, Box outer) {
  constexpr int kSide = kSquare<E>, kStep = static_cast<int>(kThreads) / kSide, kOwn = kSide / kStep;
  EMPLACE_BLOCK_SHARED(E, square, [kSide][kSide + kBeside<E>]);
  const int column = static_cast<int>(threadIdx.x) % kSide, row = static_cast<int>(threadIdx.x) / kSide;
  const uint32_t line = plane.squares_in.divide(blockIdx.x), number = plane.squares_out.divide(line);
  const int64_t i0 = int64_t{blockIdx.x - line * plane.squares_in.divisor} * kSide,
                o0 = int64_t{line - number * plane.squares_out.divisor} * kSide;
  int64_t from = 0, to = 0;
  outer.offsets(number, from, to);
  const E* source = in + from + i0 + column + (o0 + row) * plane.along_out.in_stride;
  E* target = out + to + o0 + column + (i0 + row) * plane.along_in.out_stride;
  E own[kOwn] = {};
  if (i0 + column < plane.along_in.size) {
    EMPLACE_UNROLL for (int k = 0; k < kOwn; ++k) {
      if (o0 + row + k * kStep < plane.along_out.size) own[k] = source[k * kStep * plane.along_out.in_stride];
    }
  }
  EMPLACE_UNROLL for (int k = 0; k < kOwn; ++k) square[row + k * kStep][column] = own[k];
  __syncthreads();
  if (o0 + column >= plane.along_out.size) return;
  EMPLACE_UNROLL for (int k = 0; k < kOwn; ++k) {
    if (i0 + row + k * kStep < plane.along_in.size)
      target[k * kStep * plane.along_in.out_stride] = square[column][row + k * kStep];
  }
}

/// A thread makes one pack.
template <int N, class E>
__global__ void fill_kernel(E value, E* out, int64_t n) {
  const int64_t first = thread_index() * N;
  if (first >= n) return;
  Pack<E, N> pack;
  for (int j = 0; j < N; ++j) pack.at[j] = value;
  store_pack(out, n, first, pack);
}

/// Outermost first: without axes of size 1, and with neighbours merged that are one axis on both sides.
std::vector<Mover::Axis> merged(std::span<const Mover::Axis> axes) {
  std::vector<Mover::Axis> out;
  for (const Mover::Axis& a : axes) {
    if (a.size == 1) continue;
    if (!out.empty() && out.back().in_stride == a.size * a.in_stride &&
        out.back().out_stride == a.size * a.out_stride) {
      out.back() = {out.back().size * a.size, a.in_stride, a.out_stride};
    } else {
      out.push_back(a);
    }
  }
  return out;
}

/// Runs of elements as fewer, wider ones: what their bytes can be divided into, up to 16.
size_t widen_elements(std::vector<Mover::Axis>& axes, size_t bytes, const void* in, void* out) {
  if (axes.empty() || axes.back().in_stride != 1 || axes.back().out_stride != 1) return bytes;
  const auto places = reinterpret_cast<uintptr_t>(in) | reinterpret_cast<uintptr_t>(out);
  while (bytes < 16) {
    bool even = places % (2 * bytes) == 0 && axes.back().size % 2 == 0;
    for (size_t i = 0; i + 1 < axes.size(); ++i) even &= axes[i].in_stride % 2 == 0 && axes[i].out_stride % 2 == 0;
    if (!even) break;
    for (size_t i = 0; i + 1 < axes.size(); ++i)
      axes[i] = {axes[i].size, axes[i].in_stride / 2, axes[i].out_stride / 2};
    axes.back().size /= 2;
    bytes *= 2;
  }
  return bytes;
}

/// Of the axes, the one along which `in` is read without gaps, if `out` is written so along another: else -1.
int plane_axis(const std::vector<Mover::Axis>& axes) {
  if (axes.size() < 2 || axes.back().out_stride != 1 || axes.back().in_stride <= 1 || axes.back().size < 8) return -1;
  for (size_t i = 0; i + 1 < axes.size(); ++i) {
    if (axes[i].in_stride == 1 && axes[i].size >= 8) return static_cast<int>(i);
  }
  return -1;
}

template <class E>
Status copy_box(cudaStream_t stream, const std::vector<Mover::Axis>& axes, const void* in, void* out) {
  Box box;
  const int plane = plane_axis(axes);
  for (size_t i = axes.size(); i-- > 0;) {
    const bool in_plane = plane >= 0 && (i + 1 == axes.size() || static_cast<int>(i) == plane);
    if (!in_plane) box.add(axes[i]);
  }
  const auto* from = static_cast<const E*>(in);
  auto* to = static_cast<E*>(out);
  if (plane < 0)
    return launch(Barriers::kNone, copy_kernel<E>, grid_for(box.elements), kThreads, 0, stream, from, to, box);
  const Mover::Axis along_in = axes[static_cast<size_t>(plane)], along_out = axes.back();
  constexpr int64_t kSide = kSquare<E>;
  const int64_t squares_in = (along_in.size + kSide - 1) / kSide, squares_out = (along_out.size + kSide - 1) / kSide;
  const int64_t blocks = box.elements * squares_in * squares_out;
  if (blocks > kMaxBlocks) return unimplemented("a transposition of so many elements on a GPU");
  const Plane work{along_in, along_out, FastDivisor(static_cast<uint32_t>(squares_in)),
                   FastDivisor(static_cast<uint32_t>(squares_out))};
  return launch(Barriers::kBlock, transpose_kernel<E>, dim3(static_cast<unsigned>(blocks)), kThreads, 0, stream, from,
                to, work, box);
}

/// Calls f while copies and fills go to the stream.
template <class F>
Status with_mover(KernelContext& c, const F& f) {
  StreamMover mover(stream_of(c));
  Parallel* const before = std::exchange(c.parallel_, &mover);
  Status status = f();
  c.parallel_ = before;
  RETURN_IF_ERROR(status);
  return mover.status();
}

class Moving final : public Kernel {
 public:
  explicit Moving(std::unique_ptr<Kernel> moves) : moves_(std::move(moves)) {}
  Status prepare(KernelContext& c) override {
    return with_mover(c, [&] { return moves_->prepare(c); });
  }
  Workspace workspace() const override { return moves_->workspace(); }
  Status run(KernelContext& c) override {
    return with_mover(c, [&] { return moves_->run(c); });
  }

 private:
  std::unique_ptr<Kernel> moves_;
};

}  // namespace

Status enqueue_copy(cudaStream_t stream, DType type, std::span<const Mover::Axis> axes, const void* in, void* out) {
  std::vector<Mover::Axis> simple = merged(axes);
  if (simple.empty()) simple.push_back({1, 1, 1});
  const size_t bytes = storage_size(type);
  if (simple.size() == 1 && simple[0].in_stride == 1 && simple[0].out_stride == 1) {
    CUDA_TRY(cudaMemcpyAsync(out, in, static_cast<size_t>(simple[0].size) * bytes, cudaMemcpyDeviceToDevice, stream));
    return ok_status();
  }
  if (simple.size() > kMaxAxes) return unimplemented("moving a tensor of more than 12 dimensions on a GPU");
  return with_width(widen_elements(simple, bytes, in, out),
                    [&]<class E>(E) { return copy_box<E>(stream, simple, in, out); });
}

Status enqueue_zeros(cudaStream_t stream, DType type, void* out, int64_t n) {
  if (n == 0) return ok_status();
  CUDA_TRY(cudaMemsetAsync(out, 0, static_cast<size_t>(n) * storage_size(type), stream));
  return ok_status();
}

void StreamMover::copy(DType type, std::span<const Axis> axes, const void* in, void* out) {
  if (status_.ok()) status_ = enqueue_copy(stream_, type, axes, in, out);
}

void StreamMover::fill(DType type, const void* value, void* out, int64_t n) {
  if (!status_.ok() || n == 0) return;
  status_ = with_width(storage_size(type), [&]<class E>(E element) {
    std::memcpy(&element, value, sizeof element);
    constexpr int N = kPackSize<E>;
    const bool packs = reinterpret_cast<uintptr_t>(out) % (N * sizeof(E)) == 0;
    return launch(Barriers::kNone, packs ? fill_kernel<N, E> : fill_kernel<1, E>,
                  grid_for(n, kThreads * (packs ? N : 1)), kThreads, 0, stream_, element, static_cast<E*>(out), n);
  });
}

void StreamMover::add(DType type, std::span<const Axis> axes, const void* in, void* out) {
  if (status_.ok()) status_ = enqueue_sum(stream_, type, axes, in, out);
}

void StreamMover::multiply(DType type, int64_t m, int64_t n, int64_t k, const void* a, const void* b, void* out) {
  if (status_.ok()) status_ = enqueue_product(stream_, type, {m, n, k}, a, b, out);
}

void StreamMover::run_erased(int64_t, double, Body, const void*) {
  if (status_.ok()) status_ = internal_error("a kernel that moves elements looked at them");
}

Status own_variable(KernelContext& c, Variable& variable) {
  return with_mover(c, [&] { return own_value(c, variable); });
}

Result<std::unique_ptr<Kernel>> moving(const KernelInit& init) {
  if (!init.cpu_maker) return internal_error("no CPU kernel to move with");
  ASSIGN_OR_RETURN(auto moves, init.cpu_maker(init));
  return owned_kernel(new Moving(std::move(moves)));
}

void add_moving(KernelTable& table) {
  constexpr DTypeSet kFloat8{DType::kFloat8E5M2, DType::kFloat8E4M3FN};
  constexpr DTypeSet kTypes = kNumbersAndBool | kFloat8 | DTypeSet{DType::kQInt8};
  // Shape arithmetic: every argument is in host memory.
  constexpr DTypeSet kHostInt32{DType::kInt32};
  constexpr DTypeSet kData = kTypes.without(kHostInt32);
  for (auto op : {"Concat", "ConcatV2", "Fill", "Pack", "Pad", "PadV2", "ReverseV2", "Slice", "SplitV", "StridedSlice",
                  "StridedSliceGrad", "BroadcastTo"}) {
    table.add(op, kData, moving);
    table.add_host_code(op, kHostInt32);
  }
  for (auto op : {"BatchToSpaceND",   "DepthToSpace",    "Diag",           "DiagPart",
                  "DynamicStitch",    "MatrixDiag",      "MatrixDiagPart", "MatrixDiagPartV2",
                  "MatrixDiagPartV3", "MatrixDiagV2",    "MatrixDiagV3",   "MatrixSetDiag",
                  "MatrixSetDiagV2",  "MatrixSetDiagV3", "MirrorPad",      "SpaceToBatchND",
                  "SpaceToDepth",     "Split",           "Tile",           "Transpose"}) {
    table.add(op, kTypes, moving);
  }
  for (auto op : {"OnesLike", "ZerosLike"}) {
    table.add(op, kData, moving);
    table.add_host_code(op, kHostInt32);
  }
  constexpr DTypeSet kHostIntegers{DType::kInt32, DType::kInt64};
  table.add("Unpack", kTypes.without(kHostIntegers), moving);
  table.add_host_code("Unpack", kHostIntegers);
  // Elements of lists and arrays lie in the memory of whoever makes them.
  for (auto op :
       {"TensorArrayConcatV3", "TensorArrayGatherV3", "TensorArrayReadV3", "TensorArrayScatterV3", "TensorArraySplitV3",
        "TensorArrayV3", "TensorArrayWriteV3", "TensorListConcatV2", "TensorListFromTensor", "TensorListGather",
        "TensorListGetItem", "TensorListPopBack", "TensorListScatter", "TensorListScatterIntoExistingList",
        "TensorListScatterV2", "TensorListSplit", "TensorListStack"}) {
    table.add(op, kNumbersAndBool, moving);
  }
  constexpr DTypeSet kLists{DType::kVariant};
  for (auto op : {"AddN", "TensorListPopBack", "ZerosLike"}) table.add(op, kLists, moving);
  table.add("ConjugateTranspose", kTypes.without(kComplexes), moving);
  // What is no copy in these the mover does all the same: it adds borders, it multiplies matrices.
  table.add("MirrorPadGrad", kFloating, moving);
  table.add("Einsum", kFloating | kComplexes, moving);
  constexpr DTypeSet kQuantized{DType::kQInt8, DType::kQUInt8, DType::kQInt16, DType::kQUInt16, DType::kQInt32};
  table.add("Bitcast", kTypes | kQuantized, moving);
  table.add("Assign", kTypes, moving);
  table.add("AssignVariableOp", kTypes | kQuantized | kTiny, moving);
  table.add("Fill", DTypeSet{DType::kInt4, DType::kUInt4}, moving);
  table.add("Empty", kTypes, moving);
  table.add("ParallelConcat", kFloating, moving);
}

}  // namespace emplace::cuda
