// ExtractGlimpse, ExtractGlimpseV2: a window of each image of a batch, where its offsets say; zeros beyond the image.
#include <algorithm>

#include "core/base/cat.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/shape_math.h"

namespace emplace {
namespace {

Status glimpse_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Shape images, c.with_rank(0, 4));
  ASSIGN_OR_RETURN(const Shape size, c.with_rank(1, 1));
  RETURN_IF_ERROR(require_dim(size.dim(0), 2).take_status());
  ASSIGN_OR_RETURN(const Shape offsets, c.with_rank(2, 2));
  RETURN_IF_ERROR(require_dim(offsets.dim(1), 2).take_status());
  ASSIGN_OR_RETURN(const int64_t batch, ShapeContext::merge_dim(images.dim(0), offsets.dim(0)));
  Shape out{batch, -1, -1, images.dim(3)};
  if (const Tensor* value = c.input_value(1)) {
    for (const int i : {0, 1}) {
      const int64_t known = int_at(*value, i);
      if (known < 0) return invalid_argument(cat("Dimension size must be non-negative, got ", known));
      out.dim(i + 1) = known;
    }
  }
  c.set_output(0, out);
  return ok_status();
}

/// Along one axis: cells [from, from + count) of the image stand in the window from `at` on.
struct GlimpseAxis {
  int64_t from = 0, at = 0, count = 0;
  GlimpseAxis(float offset, int64_t window, int64_t size) {
    // As x86 cuts it: what no integer is lies far outside.
    const int64_t begin = offset > -0x1p62f && offset < 0x1p62f ? static_cast<int64_t>(offset) : INT64_MIN / 2;
    from = std::max<int64_t>(begin, 0);
    count = begin < 0 ? std::max<int64_t>(0, window + begin) : window;
    at = window - count;
    count = std::max<int64_t>(0, std::min(count, size - from));
  }
};

class ExtractGlimpse final : public Kernel {
 public:
  explicit ExtractGlimpse(const KernelInit& init)
      : second_(init.op == "ExtractGlimpseV2"),
        centered_(init.attrs.flag("centered")),
        normalized_(init.attrs.flag("normalized")),
        uniform_(init.attrs.flag("uniform_noise")),
        noise_(init.attrs.text("noise")) {}
  Status run(KernelContext& c) override {
    RETURN_IF_ERROR(check_noise());
    RETURN_IF_ERROR(check_shapes(c));
    const Shape& images = c.input(0).shape();
    const int64_t height = int_at(c.input(1), 0), width = int_at(c.input(1), 1);
    const int64_t batch = images.dim(0), depth = images.dim(3);
    const Shape out{batch, height, width, depth};
    RETURN_IF_ERROR(ensure_output(c, 0, out));
    if (out.num_elements() == 0) return ok_status();
    for (int64_t b = 0; b < batch && noise_ != "zero"; ++b) {
      const GlimpseAxis y = axis(c, b, 0, height), x = axis(c, b, 1, width);
      if (y.count == height && x.count == width) continue;
      return unimplemented(cat("the window of image ", b, " reaches out of it, where noise '", noise_,
                               "' fills it with numbers that TensorFlow draws without a seed: noise 'zero' does not"));
    }
    c.parallel_for(batch, 0.3 * static_cast<double>(height * width * depth), [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        const GlimpseAxis y = axis(c, b, 0, height), x = axis(c, b, 1, width);
        const float* image = c.in<float>(0) + b * images.dim(1) * images.dim(2) * depth;
        float* to = c.out<float>(0) + b * height * width * depth;
        std::fill_n(to, height * width * depth, 0.0f);
        for (int64_t r = 0; r < y.count; ++r) {
          std::copy_n(image + ((y.from + r) * images.dim(2) + x.from) * depth, x.count * depth,
                      to + ((y.at + r) * width + x.at) * depth);
        }
      }
    });
    return ok_status();
  }

 private:
  Status check_noise() const {
    if (uniform_ && !noise_.empty() && noise_ != "uniform") {
      return invalid_argument(
          cat("The uniform_noise and noise should not be specified at the same time, got noise '", noise_, "'"));
    }
    if (noise_.empty() || noise_ == "uniform" || noise_ == "gaussian" || noise_ == "zero") return ok_status();
    return invalid_argument(cat("The noise could only be uniform, gaussian, or zero, got ", noise_));
  }
  static Status check_shapes(const KernelContext& c) {
    const Shape &images = c.input(0).shape(), &offsets = c.input(2).shape();
    if (images.rank() != 4) return invalid_argument(cat("input must be 4-dimensional, got shape ", images.to_string()));
    if (!(c.input(1).shape() == Shape{2})) {
      return invalid_argument(
          cat("window size must be a vector of two elements, got shape ", c.input(1).shape().to_string()));
    }
    if (!(offsets == Shape{images.dim(0), 2})) {
      return invalid_argument(cat("offsets must be a matrix of y and x for each of ", images.dim(0),
                                  " images, got shape ", offsets.to_string()));
    }
    for (const int i : {0, 1}) {
      if (int_at(c.input(1), i) < 0)
        return invalid_argument(cat("window size must not be negative, got ", int_at(c.input(1), i)));
    }
    return ok_status();
  }
  /// Of image b: 0 is the vertical one.
  GlimpseAxis axis(const KernelContext& c, int64_t b, int i, int64_t window) const {
    const int64_t size = c.input(0).shape().dim(i + 1);
    const auto pixels = static_cast<float>(size), wide = static_cast<float>(window);
    float offset = c.in<float>(2)[b * 2 + i];
    if (normalized_) offset *= pixels;
    if (second_ && centered_ && !normalized_) return {offset + pixels / 2, window, size};
    if (centered_) offset = offset / 2 + pixels / 2;
    if (centered_ || !second_) offset -= wide / 2;
    return {offset, window, size};
  }

  const bool second_, centered_, normalized_, uniform_;
  const std::string noise_;
};

OpDef glimpse(std::string_view name, std::string_view doc) {
  return OpDef(name).doc(doc).shape(glimpse_shape).value_inputs({1}).cpu(make<ExtractGlimpse>);
}

}  // namespace

OpDef extract_glimpse_op() {
  return glimpse("ExtractGlimpse", "A window of each image, around its offsets; zeros beyond the image.")
      .not_differentiable();
}
OpDef extract_glimpse_v2_op() {
  return glimpse("ExtractGlimpseV2", "A window of each image: where it begins, or what it is around, its offsets say.");
}

}  // namespace emplace
