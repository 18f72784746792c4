/// The windows of 3-D pooling: TensorFlow's rules for ksize, strides and padding, and which cells of a volume each
/// window really covers. Volumes in NCDHW are seen as batch x channels volumes of one channel.
#pragma once

#include "core/ops/conv/volume_shape.h"
#include "core/ops/nn/pool_window.h"

namespace emplace {

/// The attrs of a 3-D pooling op.
struct VolumePoolAttrs {
  std::vector<int64_t> ksize, strides;
  std::string padding;
  VolumeLayout layout;
  static VolumePoolAttrs of(const Attrs& attrs);
};

/// The pooled shape of volumes (partly known sizes allowed), or why there is none. `name` is for the messages.
Result<Shape> pooled_volume_shape(const VolumePoolAttrs& pool, const Shape& volume, std::string_view name);

struct VolumeWindow {
  /// A box of cells: [begin, end) along each axis.
  struct Box {
    std::array<int64_t, 3> begin, end;
    int64_t cells() const;
  };

  int64_t batch = 0, channels = 0;
  std::array<PoolAxis, 3> axes;
  Shape out;  // in the op's layout

  /// Checks what TensorFlow's kernels check.
  static Result<VolumeWindow> of(const VolumePoolAttrs& pool, const Shape& volume, std::string_view name);

  int64_t cells() const { return axes[0].size * axes[1].size * axes[2].size; }  // of a volume
  int64_t windows() const { return axes[0].out * axes[1].out * axes[2].out; }   // of a volume
  int64_t window_cells() const;                                                 // at most
  /// The cells that window `i` of a volume, counted by rows, covers.
  Box box(int64_t i) const;
  /// Calls f(first element) for each cell of the box, by rows.
  template <class F>
  void for_cells(const Box& b, const F& f) const {
    for (int64_t z = b.begin[0]; z < b.end[0]; ++z) {
      for (int64_t y = b.begin[1]; y < b.end[1]; ++y) {
        for (int64_t x = b.begin[2]; x < b.end[2]; ++x) f(((z * axes[1].size + y) * axes[2].size + x) * channels);
      }
    }
  }
};

}  // namespace emplace
