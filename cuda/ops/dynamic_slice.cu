// XlaDynamicSlice, XlaDynamicUpdateSlice: boxes at places that the GPU knows.
#include "core/base/tiny_float.h"
#include "core/ops/array/dynamic_window.h"
#include "cuda/dims.h"
#include "cuda/typed.h"

namespace emplace::cuda {
namespace {

/// A box in a larger tensor.
struct Box {
  int rank = 0;
  int64_t size[kMaxDims] = {}, dim[kMaxDims] = {}, stride[kMaxDims] = {};

  static Result<Box> of(const Shape& box, const Shape& whole) {
    Box made;
    if (box.rank() > kMaxDims) return unimplemented("a box of so many dimensions on a GPU");
    made.rank = box.rank();
    int64_t stride = 1;
    for (int d = box.rank() - 1; d >= 0; --d) {
      made.size[d] = box.dim(d), made.dim[d] = whole.dim(d), made.stride[d] = stride;
      stride *= whole.dim(d);
    }
    return made;
  }
  /// Where element i of the box is in the whole.
  template <class I>
  __device__ __forceinline__ int64_t place(const I* places, int64_t i) const {
    int64_t at = 0;
    for (int d = rank - 1; d >= 0; --d) {
      const int64_t first = places[d] < 0 ? 0 : places[d] > dim[d] - size[d] ? dim[d] - size[d] : places[d];
      at += (i % size[d] + first) * stride[d];
      i /= size[d];
    }
    return at;
  }
};

template <class E, class I>
__global__ void take_box_kernel(const E* whole, const I* places, E* box, Box b, int64_t n) {
  EMPLACE_ROLLED for (int64_t i = thread_index(); i < n; i += thread_count()) box[i] = whole[b.place(places, i)];
}
template <class E, class I>
__global__ void put_box_kernel(const E* box, const I* places, E* whole, Box b, int64_t n) {
  EMPLACE_ROLLED for (int64_t i = thread_index(); i < n; i += thread_count()) whole[b.place(places, i)] = box[i];
}

/// Calls f with the places as what they are.
template <class F>
Status with_places(const Tensor& places, const F& f) {
  if (places.dtype() == DType::kInt32) return f(static_cast<const int32_t*>(places.raw()));
  return f(static_cast<const int64_t*>(places.raw()));
}

Status take_box(KernelContext& c) {
  const Tensor& x = c.input(0);
  ASSIGN_OR_RETURN(const Shape size, box_to_take(c));
  RETURN_IF_ERROR(ensure_output(c, 0, size));
  const int64_t n = c.output(0).num_elements();
  if (n == 0) return ok_status();
  ASSIGN_OR_RETURN(const Box box, Box::of(size, x.shape()));
  return with_places(c.input(1), [&]<class I>(const I* places) {
    return with_width(storage_size(x.dtype()), [&]<class E>(E) {
      return launch(Barriers::kNone, take_box_kernel<E, I>, grid_for(n), kThreads, 0, stream_of(c),
                    static_cast<const E*>(x.raw()), places, static_cast<E*>(c.output(0).raw()), box, n);
    });
  });
}

Status put_box(KernelContext& c) {
  const Tensor &x = c.input(0), &update = c.input(1);
  RETURN_IF_ERROR(check_box_to_put(c));
  RETURN_IF_ERROR(ensure_output(c, 0, x.shape()));
  void* const out = c.output(0).raw();
  if (x.size_bytes() > 0 && out != x.raw())
    CUDA_TRY(cudaMemcpyAsync(out, x.raw(), x.size_bytes(), cudaMemcpyDeviceToDevice, stream_of(c)));
  const int64_t n = update.num_elements();
  if (n == 0) return ok_status();
  ASSIGN_OR_RETURN(const Box box, Box::of(update.shape(), x.shape()));
  return with_places(c.input(2), [&]<class I>(const I* places) {
    return with_width(storage_size(x.dtype()), [&]<class E>(E) {
      return launch(Barriers::kNone, put_box_kernel<E, I>, grid_for(n), kThreads, 0, stream_of(c),
                    static_cast<const E*>(update.raw()), places, static_cast<E*>(out), box, n);
    });
  });
}

}  // namespace

void add_dynamic_slice(KernelTable& table) {
  table.add("XlaDynamicSlice", kNumbersAndBool | kTiny, stateless<take_box>);
  table.add("XlaDynamicUpdateSlice", kNumbersAndBool | kTiny, stateless<put_box>);
}

}  // namespace emplace::cuda
