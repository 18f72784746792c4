// CropAndResize and its gradients: boxes of images, all brought to one size.
#include <algorithm>
#include <cmath>

#include "core/base/cat.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/image/resize.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/numeric.h"
#include "core/ops/kit/shape_math.h"

namespace emplace {
namespace {

Status crop_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Shape image, c.with_rank(0, 4));
  ASSIGN_OR_RETURN(const Shape boxes, c.with_rank(1, 2));
  ASSIGN_OR_RETURN(const Shape numbers, c.with_rank(2, 1));
  ASSIGN_OR_RETURN(const Shape size, c.with_rank(3, 1));
  RETURN_IF_ERROR(require_dim(dim_or_unknown(boxes, 1), 4).take_status());
  RETURN_IF_ERROR(require_dim(dim_or_unknown(size, 0), 2).take_status());
  ASSIGN_OR_RETURN(const int64_t count, ShapeContext::merge_dim(dim_or_unknown(boxes, 0), dim_or_unknown(numbers, 0)));
  const Tensor* crop = c.input_value(3);
  const int64_t height = crop ? int_at(*crop, 0) : -1, width = crop ? int_at(*crop, 1) : -1;
  if (crop && (height <= 0 || width <= 0)) return invalid_argument("crop dimensions must be positive");
  c.set_output(0, Shape{count, height, width, dim_or_unknown(image, 3)});
  return ok_status();
}

/// Where `n` samples between two ends of a line of `size` pixels lie.
struct Samples {
  float first, step;

  Samples(float begin, float end, int64_t size, int64_t n) {
    const auto last = static_cast<float>(size - 1);
    step = n > 1 ? (end - begin) * last / static_cast<float>(n - 1) : 0;
    first = n > 1 ? begin * last : 0.5f * (begin + end) * last;
  }
  float at(int64_t i) const { return first + static_cast<float>(i) * step; }
};

/// A pixel of the result between four of the image, whose first elements' numbers are `corners`: the upper two, the
/// lower two; `across` and `down` are how far it lies from the first.
struct Between {
  int64_t corners[4];
  float across, down;
};

/// What is done with elements of the image's type.
struct PixelCode {
  void (*copy)(const void* image, int64_t at, int64_t depth, float* to);
  void (*mix)(const void* image, const Between& between, int64_t depth, float* to);
};

template <class T>
void copy_pixel(const void* image, int64_t at, int64_t depth, float* to) {
  const T* from = static_cast<const T*>(image) + at;
  for (int64_t d = 0; d < depth; ++d) to[d] = static_cast<float>(from[d]);
}

template <class T>
void mix_pixels(const void* image, const Between& between, int64_t depth, float* to) {
  for (int64_t d = 0; d < depth; ++d) {
    const auto value = [&](int corner) {
      return static_cast<float>(static_cast<const T*>(image)[between.corners[corner] + d]);
    };
    const float upper = value(0) + (value(1) - value(0)) * between.across;
    const float lower = value(2) + (value(3) - value(2)) * between.across;
    to[d] = upper + (lower - upper) * between.down;
  }
}

class CropAndResize final : public Kernel {
 public:
  CropAndResize(const KernelInit& init, const PixelCode& code)
      : nearest_(init.attrs.text("method") == "nearest"),
        outside_(init.attrs.number("extrapolation_value")),
        code_(code) {}

  Status run(KernelContext& c) override {
    const Shape &image = c.input(0).shape(), &out = c.output(0).shape();
    for (int64_t b = 0; b < out.dim(0); ++b) {
      const int64_t number = int_at(c.input(2), b);
      if (number < 0 || number >= image.dim(0))
        return out_of_range(cat("box_index has values outside [0, batch_size): ", number, " of ", image.dim(0)));
    }
    if (image.dim(1) <= 0 || image.dim(2) <= 0) return invalid_argument("image dimensions must be positive");
    const double cost = 4.0 * static_cast<double>(out.dim(2) * out.dim(3)) + 10;
    c.parallel_for(out.dim(0) * out.dim(1), cost, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) crop_row(c, row / out.dim(1), row % out.dim(1));
    });
    return ok_status();
  }

 private:
  void crop_row(KernelContext& c, int64_t box, int64_t y) const {
    const Shape &image = c.input(0).shape(), &out = c.output(0).shape();
    const float* corners = c.in<float>(1) + 4 * box;
    const float in_y = Samples(corners[0], corners[2], image.dim(1), out.dim(1)).at(y);
    const Samples columns(corners[1], corners[3], image.dim(2), out.dim(2));
    const int64_t depth = image.dim(3), first = int_at(c.input(2), box) * image.dim(1);
    const auto pixel = [&](float row, float column) {
      return ((first + static_cast<int64_t>(row)) * image.dim(2) + static_cast<int64_t>(column)) * depth;
    };
    float* to = c.out<float>(0) + (box * out.dim(1) + y) * out.dim(2) * depth;
    const bool row_inside = in_y >= 0 && in_y <= static_cast<float>(image.dim(1) - 1);
    for (int64_t x = 0; x < out.dim(2); ++x, to += depth) {
      const float in_x = columns.at(x);
      if (!row_inside || !(in_x >= 0 && in_x <= static_cast<float>(image.dim(2) - 1))) {
        std::fill_n(to, depth, outside_);
      } else if (nearest_) {
        code_.copy(c.input(0).raw(), pixel(std::round(in_y), std::round(in_x)), depth, to);
      } else {
        const float top = std::floor(in_y), left = std::floor(in_x), low = std::ceil(in_y), right = std::ceil(in_x);
        const Between between{
            {pixel(top, left), pixel(top, right), pixel(low, left), pixel(low, right)}, in_x - left, in_y - top};
        code_.mix(c.input(0).raw(), between, depth, to);
      }
    }
  }

  const bool nearest_;
  const float outside_;
  const PixelCode code_;
};

template <class T>
Result<std::unique_ptr<Kernel>> make_crop(const KernelInit& init) {
  return owned_kernel(new CropAndResize(init, {copy_pixel<T>, mix_pixels<T>}));
}

/// What the two gradients have in common: where the pixels of boxes lie that are inside of their image.
struct Crops {
  int64_t boxes, height, width, depth, image_height, image_width;
  const float* corners;
  const int32_t* numbers;

  /// Calls f(box, y, x, row, column) for them, box by box.
  template <class F>
  void each(const F& f) const {
    for (int64_t b = 0; b < boxes; ++b) {
      const float* corner = corners + 4 * b;
      const Samples rows(corner[0], corner[2], image_height, height), columns(corner[1], corner[3], image_width, width);
      for (int64_t y = 0; y < height; ++y) {
        const float row = rows.at(y);
        if (!(row >= 0 && row <= static_cast<float>(image_height - 1))) continue;
        for (int64_t x = 0; x < width; ++x) {
          const float column = columns.at(x);
          if (column >= 0 && column <= static_cast<float>(image_width - 1)) f(b, y, x, row, column);
        }
      }
    }
  }
};

Result<Crops> crops_of(const KernelContext& c, const Shape& grads, const Shape& image, int boxes, int numbers) {
  if (grads.rank() != 4) return invalid_argument("grads image must be 4-D");
  if (image.rank() != 4) return invalid_argument("input image must be 4-D");
  const Shape& corners = c.input(boxes).shape();
  if (corners.rank() != 2 || corners.dim(1) != 4) return invalid_argument("boxes must have 4 columns");
  if (corners.dim(0) != grads.dim(0) || c.input(numbers).num_elements() != grads.dim(0))
    return invalid_argument("boxes and grads have incompatible shape");
  if (grads.dim(3) != image.dim(3)) return invalid_argument("image_size and grads are incompatible");
  const Crops crops{grads.dim(0), grads.dim(1), grads.dim(2),       grads.dim(3),
                    image.dim(1), image.dim(2), c.in<float>(boxes), c.in<int32_t>(numbers)};
  for (int64_t b = 0; b < crops.boxes; ++b) {
    if (crops.numbers[b] < 0 || crops.numbers[b] >= image.dim(0))
      return out_of_range(
          cat("box_index has values outside [0, batch_size): ", crops.numbers[b], " of ", image.dim(0)));
  }
  return crops;
}

/// Two neighbours along an axis and the share of the farther one.
struct Neighbours {
  int64_t low, high;
  float part;
  explicit Neighbours(float at)
      : low(static_cast<int64_t>(std::floor(at))),
        high(static_cast<int64_t>(std::ceil(at))),
        part(at - std::floor(at)) {}
};

/// Each pixel's gradient goes to those that it was made from.
template <class T>
class CropGradImage final : public Kernel {
 public:
  explicit CropGradImage(const KernelInit& init) : nearest_(init.attrs.text("method") == "nearest") {}
  Status run(KernelContext& c) override {
    ASSIGN_OR_RETURN(const Shape image, shape_of_values(c.input(3)));
    ASSIGN_OR_RETURN(const Crops crops, crops_of(c, c.input(0).shape(), image, 1, 2));
    RETURN_IF_ERROR(ensure_output(c, 0, image));
    fill_zeros(*c.parallel_, c.output(0));
    const float* grad = c.in<float>(0);
    crops.each([&](int64_t b, int64_t y, int64_t x, float row, float column) {
      const float* from = grad + ((b * crops.height + y) * crops.width + x) * crops.depth;
      T* pixels = c.out<T>(0) + crops.numbers[b] * image.dim(1) * image.dim(2) * crops.depth;
      auto give = [&](int64_t i, int64_t j, float share) {
        T* to = pixels + (i * image.dim(2) + j) * crops.depth;
        for (int64_t d = 0; d < crops.depth; ++d) to[d] = to[d] + T(from[d] * share);
      };
      if (nearest_) return give(static_cast<int64_t>(std::round(row)), static_cast<int64_t>(std::round(column)), 1);
      const Neighbours v(row), h(column);
      give(v.low, h.low, (1 - h.part) * (1 - v.part));
      give(v.low, h.high, h.part * (1 - v.part));
      give(v.high, h.low, (1 - h.part) * v.part);
      give(v.high, h.high, h.part * v.part);
    });
    return ok_status();
  }

 private:
  bool nearest_;
};

/// How the sums of pixels change as the corners of their boxes move: by the slope of the image there.
Status crop_grad_boxes(KernelContext& c) {
  const Shape& image = c.input(1).shape();
  ASSIGN_OR_RETURN(const Crops crops, crops_of(c, c.input(0).shape(), image, 2, 3));
  fill_zeros(*c.parallel_, c.output(0));
  float* out = c.out<float>(0);
  Tensor scratch;
  ASSIGN_OR_RETURN(const float* all, float_pixels(c, 1, scratch));
  // Of sample `i` of `n` along an axis of `size` pixels: the part of a move that it makes with the box's beginning, and
  // with its end.
  auto moves = [](int64_t i, int64_t n, int64_t size, float slope, float& begin, float& end) {
    const auto last = static_cast<float>(size - 1);
    const float with_end = n > 1 ? static_cast<float>(i) * last / static_cast<float>(n - 1) : 0.5f * last;
    begin += slope * (last - with_end);
    end += slope * with_end;
  };
  crops.each([&](int64_t b, int64_t y, int64_t x, float row, float column) {
    const float* grad = c.in<float>(0) + ((b * crops.height + y) * crops.width + x) * crops.depth;
    const float* pixels = all + crops.numbers[b] * image.dim(1) * image.dim(2) * crops.depth;
    const Neighbours v(row), h(column);
    for (int64_t d = 0; d < crops.depth; ++d) {
      auto pixel = [&](int64_t i, int64_t j) { return pixels[(i * image.dim(2) + j) * crops.depth + d]; };
      const float a = pixel(v.low, h.low), e = pixel(v.low, h.high), p = pixel(v.high, h.low),
                  q = pixel(v.high, h.high);
      const float down = ((1 - h.part) * (p - a) + h.part * (q - e)) * grad[d];
      const float across = ((1 - v.part) * (e - a) + v.part * (q - p)) * grad[d];
      moves(y, crops.height, crops.image_height, down, out[4 * b], out[4 * b + 2]);
      moves(x, crops.width, crops.image_width, across, out[4 * b + 1], out[4 * b + 3]);
    }
  });
  return ok_status();
}

Status crop_grad_image_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(Shape image, shape_from_input(c, 3));
  ASSIGN_OR_RETURN(image, require_rank(image, 4));
  c.set_output(0, std::move(image));
  return ok_status();
}
Status crop_grad_boxes_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(Shape boxes, c.with_rank(2, 2));
  c.set_output(0, std::move(boxes));
  return ok_status();
}

Status crop_gradient(GradientContext& g) {
  const DType type = g.type(g.input(0));
  if (type == DType::kHalf || type == DType::kFloat || type == DType::kDouble) {
    GradientContext::AttrList attrs = g.copy_attrs({"method"});
    attrs.emplace_back("T", AttrValue::of(type));
    g.set(0, g.add("CropAndResizeGradImage", {g.grad(0), g.input(1), g.input(2), g.shape_of(g.input(0))}, attrs));
  }
  g.set(1, g.add("CropAndResizeGradBoxes", {g.grad(0), g.input(0), g.input(1), g.input(2)}));
  return g.status();
}

template <class... T>
OpDef with_images(OpDef op) {
  // NOLINTBEGIN(bugprone-use-after-move): cpu() gives back what it is called on.
  (static_cast<void>(std::move(op).template cpu<T>(make_crop<T>)), ...);
  return op;
  // NOLINTEND(bugprone-use-after-move)
}

}  // namespace

OpDef crop_and_resize_op() {
  return with_images<float, double, half, bfloat16, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t,
                     uint64_t>(OpDef("CropAndResize")
                                   .doc("Boxes of images, each of one of them, brought to one size.")
                                   .shape(crop_shape)
                                   .kernel_attr("T")
                                   .value_inputs({3})
                                   .gradient(crop_gradient));
}

OpDef crop_and_resize_grad_image_op() {
  return OpDef("CropAndResizeGradImage")
      .doc("The gradient of CropAndResize for its images.")
      .shape(crop_grad_image_shape)
      .value_inputs({3})
      .cpu<float>(make<CropGradImage<float>>)
      .cpu<double>(make<CropGradImage<double>>)
      .cpu<half>(make<CropGradImage<half>>);
}
OpDef crop_and_resize_grad_boxes_op() {
  return OpDef("CropAndResizeGradBoxes")
      .doc("The gradient of CropAndResize for its boxes.")
      .shape(crop_grad_boxes_shape)
      .kernel_attr("T")
      .cpu(kRealNumbers, stateless<crop_grad_boxes>);
}

}  // namespace emplace
