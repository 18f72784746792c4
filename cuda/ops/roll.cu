// Roll: elements moved along axes; what leaves at one end comes in at the other.
#include <numeric>

#include "core/ops/array/roll_distances.h"
#include "cuda/broadcast.h"
#include "cuda/typed.h"

namespace emplace::cuda {
namespace {

constexpr int kMaxRolled = 8;

/// Axes that are rolled, innermost first, each together with those behind it that are not: rolling the one by s rolls
/// them all by s times their size. The last may be one that is not rolled.
struct RollPlan {
  int axes = 0;
  int64_t size[kMaxRolled] = {}, stride[kMaxRolled] = {};
  int64_t first[kMaxRolled] = {};  // where the axis's first element comes from
  IndexDivisor by_size[kMaxRolled];

  __device__ __forceinline__ int64_t source(int d, int64_t at) const {
    return at + first[d] < size[d] ? at + first[d] : at + first[d] - size[d];
  }
  /// The input's row, and its element in that row, that element i of the output is.
  __device__ __forceinline__ int64_t row_of(int64_t i, int64_t& column) const {
    int64_t rest = i;
    const int64_t inside = by_size[0].split(rest);
    int64_t row = i - inside;
    column = source(0, inside);
    for (int d = 1; d < axes; ++d) {
      const int64_t at = by_size[d].split(rest);
      row += (source(d, at) - at) * stride[d];
    }
    return row;
  }
};

/// A thread makes a pack of the output, from wherever its elements are.
template <class E>
__global__ void roll_kernel(const E* in, E* out, RollPlan plan, int64_t n) {
  constexpr int N = kPackSize<E>;
  const int64_t first = thread_index() * N;
  if (first >= n) return;
  int64_t column = 0, row = plan.row_of(first, column);
  Pack<E, N> pack;
  EMPLACE_UNROLL for (int k = 0; k < N; ++k) {
    pack.at[k] = in[row + column];
    if (first + k + 1 >= n) break;
    if (++column == plan.size[0]) column = 0;
    if (column == plan.first[0]) row = plan.row_of(first + k + 1, column);
  }
  store_pack(out, n, first, pack);
}

class Roll final : public Kernel {
 public:
  explicit Roll(const KernelInit&) {}
  Status run(KernelContext& c) override {
    RollDistances distances;
    RETURN_IF_ERROR(find_roll_distances(c, distances));
    const Tensor& in = c.input(0);
    const auto bytes = static_cast<int64_t>(storage_size(in.dtype()));
    if (in.num_elements() == 0) return ok_status();
    ASSIGN_OR_RETURN(RollPlan plan, plan_of(in.shape(), distances));
    // As the widest elements that rows, and what moves from their one end to the other, consist of.
    const int64_t width = std::gcd(std::gcd(plan.size[0] * bytes, plan.first[0] * bytes), int64_t{sizeof(Bytes16)});
    const int64_t n = in.num_elements() * bytes / width;
    plan.size[0] = plan.size[0] * bytes / width;
    plan.first[0] = plan.first[0] * bytes / width;
    for (int d = 0; d < plan.axes; ++d) {
      plan.stride[d] = plan.stride[d] * bytes / width;
      plan.by_size[d] = IndexDivisor(plan.size[d], n);
    }
    return with_width(static_cast<size_t>(width), [&]<class W>(W) {
      return launch(Barriers::kNone, roll_kernel<W>, grid_for_packs<W>(n), kThreads, 0, stream_of(c),
                    static_cast<const W*>(in.raw()), static_cast<W*>(c.output(0).raw()), plan, n);
    });
  }

 private:
  static Result<RollPlan> plan_of(const Shape& shape, const RollDistances& distances) {
    RollPlan plan;
    int64_t inside = 1, stride = 1;  // elements of the axes that are gathered, and of those that have been
    for (int d = shape.rank() - 1; d >= 0; --d) {
      const int64_t size = shape.dim(d) * inside, shift = distances[static_cast<size_t>(d)] * inside;
      inside = size;
      if (shift == 0 && d > 0) continue;
      if (plan.axes == kMaxRolled) return unimplemented("rolling more than 8 axes on a GPU");
      plan.size[plan.axes] = size;
      plan.first[plan.axes] = shift == 0 ? 0 : size - shift;
      plan.stride[plan.axes++] = stride;
      stride *= size;
      inside = 1;
    }
    return plan;
  }
};

}  // namespace

void add_roll(KernelTable& table) {
  constexpr DTypeSet kTypes = kFloating | kComplexes | DTypeSet{DType::kInt32, DType::kInt64, DType::kUInt32};
  table.add("Roll", kTypes, make<Roll>);
}

}  // namespace emplace::cuda
