// DrawBoundingBoxes and DrawBoundingBoxesV2: frames of boxes, a pixel wide, over copies of images.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "core/base/cat.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/shape_math.h"

namespace emplace {
namespace {

/// A colour of up to four channels.
using FrameColor = std::array<float, 4>;

/// TensorFlow's, where no colours are given; of one channel the first is white.
constexpr FrameColor kFrameColors[] = {{1, 1, 0, 1},     {0, 0, 1, 1},   {1, 0, 0, 1},   {0, 1, 0, 1}, {.5f, 0, .5f, 1},
                                       {.5f, .5f, 0, 1}, {.5f, 0, 0, 1}, {0, 0, .5f, 1}, {0, 1, 1, 1}, {1, 0, 1, 1}};

Status drawn_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(Shape images, c.with_rank_at_least(0, 3));
  c.set_output(0, std::move(images));
  return ok_status();
}

Status check_drawing(const KernelContext& c) {
  const Shape &images = c.input(0).shape(), &boxes = c.input(1).shape();
  if (images.rank() != 4) return invalid_argument("The rank of the images should be 4");
  if (boxes.rank() != 3) return invalid_argument("The rank of the boxes tensor should be 3");
  if (images.dim(0) != boxes.dim(0)) return invalid_argument("The batch sizes should be the same");
  const int64_t depth = images.dim(3);
  if (depth != 4 && depth != 1 && depth != 3)
    return invalid_argument("Channel depth should be either 1 (GRY), 3 (RGB), or 4 (RGBA)");
  if (boxes.dim(2) != 4) {
    return invalid_argument(cat("The size of the third dimension of the box must be 4. Received: ", boxes.dim(2)));
  }
  if (c.num_inputs() < 3) return ok_status();
  const Shape& colors = c.input(2).shape();
  if (colors.rank() != 2) return invalid_argument("colors must be a 2-D matrix" + colors.to_string());
  if (colors.dim(1) >= depth) return ok_status();
  return invalid_argument("colors must have equal or more channels than the image provided: " + colors.to_string());
}

std::vector<FrameColor> frame_colors(const KernelContext& c, int64_t depth) {
  std::vector<FrameColor> colors;
  for (int64_t i = 0;
       c.num_inputs() > 2 && i < c.input(2).num_elements() / std::max<int64_t>(1, c.input(2).shape().dim(1)); ++i) {
    colors.emplace_back();
    std::copy_n(c.in<float>(2) + i * c.input(2).shape().dim(1), depth, colors.back().begin());
  }
  if (!colors.empty()) return colors;
  colors.assign(std::begin(kFrameColors), std::end(kFrameColors));
  if (depth == 1) {
    for (FrameColor& color : colors) color[0] = 1;
  }
  return colors;
}

/// The two ends of a box along an axis of `size` pixels.
struct Side {
  int64_t begin, end, size;

  Side(float from, float to, int64_t pixels) : begin(pixel(from, pixels)), end(pixel(to, pixels)), size(pixels) {}
  bool seen() const { return begin <= end && begin < size && end >= 0; }
  int64_t first() const { return std::max<int64_t>(begin, 0); }
  int64_t last() const { return std::min(end, size - 1); }

 private:
  // What no integer holds is the least one, as x86 converts it.
  static int64_t pixel(float at, int64_t pixels) {
    const float place = at * static_cast<float>(pixels - 1);
    return std::abs(place) < 0x1p63f ? static_cast<int64_t>(place) : INT64_MIN;
  }
};

template <class T>
void draw_frame(T* image, const Side& rows, const Side& columns, int64_t depth, const FrameColor& color) {
  auto dot = [&](int64_t row, int64_t column) {
    T* pixel = image + (row * columns.size + column) * depth;
    for (int64_t k = 0; k < depth; ++k) pixel[k] = static_cast<T>(color[static_cast<size_t>(k)]);
  };
  for (int64_t x = columns.first(); x <= columns.last(); ++x) {
    if (rows.begin >= 0) dot(rows.begin, x);
    if (rows.end < rows.size) dot(rows.end, x);
  }
  for (int64_t y = rows.first(); y <= rows.last(); ++y) {
    if (columns.begin >= 0) dot(y, columns.begin);
    if (columns.end < columns.size) dot(y, columns.end);
  }
}

template <class T>
Status draw_boxes_cpu(KernelContext& c) {
  RETURN_IF_ERROR(check_drawing(c));
  const Shape& images = c.input(0).shape();
  const int64_t height = images.dim(1), width = images.dim(2), depth = images.dim(3), boxes = c.input(1).shape().dim(1);
  copy_elements(*c.parallel_, c.input(0).dtype(), c.input(0).raw(), c.output(0).raw(), c.output(0).num_elements());
  const std::vector<FrameColor> colors = frame_colors(c, depth);
  for (int64_t i = 0; i < images.dim(0) * boxes; ++i) {
    const float* box = c.in<float>(1) + 4 * i;
    const Side rows(box[0], box[2], height), columns(box[1], box[3], width);
    if (!rows.seen() || !columns.seen()) continue;
    draw_frame(c.out<T>(0) + i / boxes * height * width * depth, rows, columns, depth,
               colors[static_cast<size_t>(i % boxes) % colors.size()]);
  }
  return ok_status();
}

OpDef drawing(std::string_view name, std::string_view doc) {
  return OpDef(name)
      .doc(doc)
      .shape(drawn_shape)
      .cpu<float>(stateless<draw_boxes_cpu<float>>)
      .cpu<half>(stateless<draw_boxes_cpu<half>>);
}

}  // namespace

OpDef draw_bounding_boxes_op() {
  return drawing("DrawBoundingBoxes", "Images with frames around boxes, in ten colours.").not_differentiable();
}
OpDef draw_bounding_boxes_v2_op() {
  return drawing("DrawBoundingBoxesV2", "Images with frames around boxes, in the colours given.");
}

}  // namespace emplace
