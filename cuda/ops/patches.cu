// ExtractImagePatches, ExtractVolumePatches: windows of images and volumes, the pixels of each in a row.
#include <numeric>

#include "core/ops/image/image_patches.h"
#include "cuda/broadcast.h"
#include "cuda/typed.h"

namespace emplace::cuda {
namespace {

struct PatchPlan {
  PatchAxis y, x;
  int64_t depth;
  IndexDivisor by_depth, by_taps_x, by_taps_y, by_out_x, by_out_y;
};

/// Of window `o`, the pixel at tap `k`, or -1 outside of the image.
__device__ __forceinline__ int64_t pixel_at(const PatchAxis& axis, int64_t o, int64_t k) {
  const int64_t at = o * axis.stride - axis.before + k * axis.rate;
  return at < axis.in ? at : -1;
}

template <class E>
__global__ void patches_kernel(const E* images, E* out, PatchPlan p, int64_t n) {
  EMPLACE_ROLLED for (int64_t i = thread_index(); i < n; i += thread_count()) {
    int64_t rest = i;
    const int64_t channel = p.by_depth.split(rest), tap_x = p.by_taps_x.split(rest), tap_y = p.by_taps_y.split(rest);
    const int64_t out_x = p.by_out_x.split(rest), out_y = p.by_out_y.split(rest);
    const int64_t y = pixel_at(p.y, out_y, tap_y), x = pixel_at(p.x, out_x, tap_x);
    out[i] = y < 0 || x < 0 ? E{} : images[((rest * p.y.in + y) * p.x.in + x) * p.depth + channel];
  }
}

class ExtractImagePatches final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> create(const KernelInit& init) {
    RETURN_IF_ERROR(check_patch_attrs(init.attrs));
    return owned_kernel(new ExtractImagePatches(init.attrs));
  }
  Status run(KernelContext& c) override {
    const Tensor& images = c.input(0);
    ASSIGN_OR_RETURN(const ImagePatches p, image_patches(attrs_, images.shape()));
    RETURN_IF_ERROR(ensure_output(c, 0, p.out));
    if (p.out.num_elements() == 0) return ok_status();
    // As the widest elements that pixels consist of.
    const auto bytes = p.depth * static_cast<int64_t>(storage_size(images.dtype()));
    const int64_t width = std::gcd(bytes, int64_t{sizeof(Bytes16)}), depth = bytes / width;
    const int64_t n = p.out.num_elements() / p.depth * depth;
    const PatchPlan plan{p.y,
                         p.x,
                         depth,
                         IndexDivisor(depth, n),
                         IndexDivisor(p.x.taps, n),
                         IndexDivisor(p.y.taps, n),
                         IndexDivisor(p.x.out, n),
                         IndexDivisor(p.y.out, n)};
    return with_width(static_cast<size_t>(width), [&]<class W>(W) {
      return launch(Barriers::kNone, patches_kernel<W>, grid_for(n), kThreads, 0, stream_of(c),
                    static_cast<const W*>(images.raw()), static_cast<W*>(c.output(0).raw()), plan, n);
    });
  }

 private:
  explicit ExtractImagePatches(const Attrs& attrs) : attrs_(attrs) {}
  Attrs attrs_;
};

struct VolumePatchPlan {
  PatchAxis z, y, x;
  int64_t depth;
  IndexDivisor by_depth, by_taps_x, by_taps_y, by_taps_z, by_out_x, by_out_y, by_out_z;
};

template <class E>
__global__ void volume_patches_kernel(const E* volumes, E* out, VolumePatchPlan p, int64_t n) {
  EMPLACE_ROLLED for (int64_t i = thread_index(); i < n; i += thread_count()) {
    int64_t rest = i;
    const int64_t channel = p.by_depth.split(rest);
    const int64_t tap_x = p.by_taps_x.split(rest), tap_y = p.by_taps_y.split(rest), tap_z = p.by_taps_z.split(rest);
    const int64_t out_x = p.by_out_x.split(rest), out_y = p.by_out_y.split(rest), out_z = p.by_out_z.split(rest);
    const int64_t z = pixel_at(p.z, out_z, tap_z), y = pixel_at(p.y, out_y, tap_y), x = pixel_at(p.x, out_x, tap_x);
    const int64_t cell = ((rest * p.z.in + z) * p.y.in + y) * p.x.in + x;
    out[i] = z < 0 || y < 0 || x < 0 ? E{} : volumes[cell * p.depth + channel];
  }
}

class ExtractVolumePatches final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> create(const KernelInit& init) {
    RETURN_IF_ERROR(check_volume_patch_attrs(init.attrs));
    return owned_kernel(new ExtractVolumePatches(init.attrs));
  }
  Status run(KernelContext& c) override {
    const Tensor& volumes = c.input(0);
    ASSIGN_OR_RETURN(const VolumePatches p, volume_patches(attrs_, volumes.shape()));
    RETURN_IF_ERROR(ensure_output(c, 0, p.out));
    if (p.out.num_elements() == 0) return ok_status();
    const auto bytes = p.depth * static_cast<int64_t>(storage_size(volumes.dtype()));
    const int64_t width = std::gcd(bytes, int64_t{sizeof(Bytes16)}), depth = bytes / width;
    const int64_t n = p.out.num_elements() / p.depth * depth;
    const auto by = [&](int64_t size) { return IndexDivisor(size, n); };
    const VolumePatchPlan plan{p.z,          p.y,          p.x,         depth,       by(depth),  by(p.x.taps),
                               by(p.y.taps), by(p.z.taps), by(p.x.out), by(p.y.out), by(p.z.out)};
    return with_width(static_cast<size_t>(width), [&]<class W>(W) {
      return launch(Barriers::kNone, volume_patches_kernel<W>, grid_for(n), kThreads, 0, stream_of(c),
                    static_cast<const W*>(volumes.raw()), static_cast<W*>(c.output(0).raw()), plan, n);
    });
  }

 private:
  explicit ExtractVolumePatches(const Attrs& attrs) : attrs_(attrs) {}
  Attrs attrs_;
};

}  // namespace

void add_patches(KernelTable& table) {
  table.add("ExtractImagePatches", kFloating | kComplexes, ExtractImagePatches::create);
  table.add("ExtractVolumePatches", kFloating, ExtractVolumePatches::create);
}

}  // namespace emplace::cuda
