#include "core/ops/nn/volume_window.h"

#include "core/base/cat.h"
#include "core/ops/kit/shape_math.h"

namespace emplace {

VolumePoolAttrs VolumePoolAttrs::of(const Attrs& attrs) {
  return {attrs.integers("ksize"), attrs.integers("strides"), attrs.text("padding"), volume_layout(attrs)};
}

Result<Shape> pooled_volume_shape(const VolumePoolAttrs& p, const Shape& volume_in, std::string_view name) {
  ASSIGN_OR_RETURN(Shape volume, require_rank(volume_in, 5));
  if (p.ksize.size() != 5) {
    return invalid_argument(cat(name, " requires the ksize attribute to contain 5 values, but got: ", p.ksize.size()));
  }
  if (p.strides.size() != 5) {
    return invalid_argument(
        cat(name, " requires the stride attribute to contain 5 values, but got: ", p.strides.size()));
  }
  for (const int axis : p.layout.space) {
    const auto at = static_cast<size_t>(axis);
    ASSIGN_OR_RETURN(const WindowAxis a, window_axis(volume.dim(axis), p.ksize[at], 1, p.strides[at], p.padding));
    volume.dim(axis) = a.out;
  }
  return volume;
}

Result<VolumeWindow> VolumeWindow::of(const VolumePoolAttrs& p, const Shape& volume, std::string_view name) {
  if (volume.rank() != 5) return invalid_argument("tensor_in must be 5-dimensional");
  VolumeWindow w;
  ASSIGN_OR_RETURN(w.out, pooled_volume_shape(p, volume, name));
  for (const int64_t k : p.ksize) {
    if (k <= 0) return invalid_argument("Sliding window ksize field must have non-negative dimensions");
  }
  const auto n = static_cast<size_t>(p.layout.n), c = static_cast<size_t>(p.layout.c);
  if (p.ksize[n] != 1 || p.strides[n] != 1)
    return unimplemented("Pooling is not yet supported on the batch dimension.");
  if (p.ksize[c] != 1 || p.strides[c] != 1)
    return unimplemented("Pooling is not yet supported on the depth dimension.");
  for (size_t i = 0; i < 3; ++i) {
    const int axis = p.layout.space[i];
    const auto at = static_cast<size_t>(axis);
    ASSIGN_OR_RETURN(const WindowAxis a, window_axis(volume.dim(axis), p.ksize[at], 1, p.strides[at], p.padding));
    w.axes[i] = {volume.dim(axis), a.out, p.ksize[at], p.strides[at], a.pad_before};
  }
  const bool last = p.layout.c == 4;
  w.channels = last ? volume.dim(4) : 1;
  ASSIGN_OR_RETURN(w.batch, multiply_dims(volume.dim(0), last ? 1 : volume.dim(1)));
  return w;
}

int64_t VolumeWindow::Box::cells() const {
  int64_t cells = 1;
  for (size_t i = 0; i < 3; ++i) cells *= std::max<int64_t>(end[i] - begin[i], 0);
  return cells;
}

int64_t VolumeWindow::window_cells() const {
  int64_t cells = 1;
  for (const PoolAxis& a : axes) cells *= std::min(a.window, a.size);
  return cells;
}

VolumeWindow::Box VolumeWindow::box(int64_t i) const {
  Box b;
  for (size_t axis = 3; axis-- > 0;) {
    const int64_t at = i % axes[axis].out;
    i /= axes[axis].out;
    b.begin[axis] = axes[axis].begin(at);
    b.end[axis] = axes[axis].end(at);
  }
  return b;
}

}  // namespace emplace
