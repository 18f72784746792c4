// ResizeBicubic, its gradient, and ResizeArea: pixels from sixteen around a place, or as the mean of an area.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "core/base/scratch_vector.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/image/resize.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/shape_math.h"

namespace emplace {
namespace {

/// Weights of the two nearer and the two farther pixels, at 1024 places between two (TensorFlow's table). `a`: of the
/// cubic, -0.75, or -0.5 (Keys) where pixels have centres.
class CubicTable {
 public:
  static constexpr int64_t kPlaces = 1024;
  explicit CubicTable(double a) {
    for (int64_t i = 0; i <= kPlaces; ++i) {
      const auto x = static_cast<double>(static_cast<float>(i) / static_cast<float>(kPlaces)), far = x + 1;
      near_[static_cast<size_t>(i)] = static_cast<float>(((a + 2) * x - (a + 3)) * x * x + 1);
      far_[static_cast<size_t>(i)] = static_cast<float>(((a * far - 5 * a) * far + 8 * a) * far - 4 * a);
    }
  }
  float near(int64_t place) const { return near_[static_cast<size_t>(place)]; }
  float far(int64_t place) const { return far_[static_cast<size_t>(place)]; }

 private:
  std::array<float, kPlaces + 1> near_{}, far_{};
};

const CubicTable& cubic_table(bool keys) {
  static const CubicTable plain(-0.75), centred(-0.5);
  return keys ? centred : plain;
}

/// The four pixels that one is made from, and their weights.
struct Cubic {
  std::array<int64_t, 4> pixels;
  std::array<float, 4> weights;
};

Cubic cubic_at(float at, int64_t size, bool keys) {
  const float floor = std::floor(at);
  const auto first = static_cast<int64_t>(floor) - 1;
  const auto place = static_cast<int64_t>(std::lrint((at - floor) * static_cast<float>(CubicTable::kPlaces)));
  const CubicTable& table = cubic_table(keys);
  const int64_t other = CubicTable::kPlaces - place;
  Cubic c{{}, {table.far(place), table.near(place), table.near(other), table.far(other)}};
  float sum = 0;
  for (size_t i = 0; i < 4; ++i) {
    const int64_t pixel = first + static_cast<int64_t>(i);
    c.pixels[i] = std::clamp<int64_t>(pixel, 0, size - 1);
    if (keys && c.pixels[i] != pixel) c.weights[i] = 0;  // outside: the others share its weight
    sum += c.weights[i];
  }
  if (keys && std::abs(sum) >= 1000 * std::numeric_limits<float>::min()) {
    const float inverse = 1 / sum;
    for (float& w : c.weights) w *= inverse;
  }
  return c;
}

ScratchVector<Cubic> cubics(const ResizeAttrs& attrs, int64_t in, int64_t out) {
  const float scale = attrs.scale(in, out);
  ScratchVector<Cubic> all;
  all.reserve(static_cast<size_t>(out));
  for (int64_t i = 0; i < out; ++i) {
    const float at =
        attrs.half_pixel_centers ? (static_cast<float>(i) + 0.5f) * scale - 0.5f : static_cast<float>(i) * scale;
    all.push_back(cubic_at(at, in, attrs.half_pixel_centers));
  }
  return all;
}

class ResizeBicubic final : public Kernel {
 public:
  explicit ResizeBicubic(const KernelInit& init) : attrs_(ResizeAttrs::of(init.attrs)) {}
  Status run(KernelContext& c) override {
    RETURN_IF_ERROR(attrs_.check());
    const Shape& in = c.input(0).shape();
    ASSIGN_OR_RETURN(const Shape out, resized_shape(in, c.input(1)));
    RETURN_IF_ERROR(ensure_output(c, 0, out));
    if (c.output(0).num_elements() == 0) return ok_status();
    Tensor scratch;
    ASSIGN_OR_RETURN(const float* pixels, float_pixels(c, 0, scratch));
    const auto rows = cubics(attrs_, in.dim(1), out.dim(1)), columns = cubics(attrs_, in.dim(2), out.dim(2));
    const int64_t channels = in.dim(3), line = in.dim(2) * channels, row = out.dim(2) * channels, height = out.dim(1);
    c.parallel_for(out.dim(0) * height, 4.0 * static_cast<double>(row + line), [&](int64_t begin, int64_t end) {
      ScratchVector<float> mixed(static_cast<size_t>(line));
      for (int64_t r = begin; r < end; ++r) {
        mix_rows(pixels + r / height * in.dim(1) * line, rows[static_cast<size_t>(r % height)], mixed);
        mix_columns(mixed.data(), columns, channels, c.out<float>(0) + r * row);
      }
    });
    return ok_status();
  }

 private:
  static void mix_rows(const float* image, const Cubic& y, ScratchVector<float>& mixed) {
    const auto line = static_cast<int64_t>(mixed.size());
    const float *a = image + y.pixels[0] * line, *b = image + y.pixels[1] * line, *p = image + y.pixels[2] * line,
                *q = image + y.pixels[3] * line;
    for (size_t i = 0; i < mixed.size(); ++i)
      mixed[i] = a[i] * y.weights[0] + b[i] * y.weights[1] + p[i] * y.weights[2] + q[i] * y.weights[3];
  }
  static void mix_columns(const float* line, const ScratchVector<Cubic>& columns, int64_t channels, float* out) {
    for (const Cubic& x : columns) {
      for (int64_t k = 0; k < channels; ++k) {
        auto part = [&](size_t i) { return line[x.pixels[i] * channels + k] * x.weights[i]; };
        *out++ = part(0) + part(1) + part(2) + part(3);
      }
    }
  }
  ResizeAttrs attrs_;
};

template <class T>
class ResizeBicubicGrad final : public Kernel {
 public:
  explicit ResizeBicubicGrad(const KernelInit& init) : attrs_(ResizeAttrs::of(init.attrs)) {}
  Status run(KernelContext& c) override {
    RETURN_IF_ERROR(attrs_.check());
    const Shape &grads = c.input(0).shape(), &image = c.input(1).shape();
    RETURN_IF_ERROR(check_resized_gradient(grads, image));
    RETURN_IF_ERROR(ensure_output(c, 0, image));
    fill_zeros(*c.parallel_, c.output(0));
    if (c.output(0).num_elements() == 0 || c.input(0).num_elements() == 0) return ok_status();
    const auto rows = cubics(attrs_, image.dim(1), grads.dim(1)), columns = cubics(attrs_, image.dim(2), grads.dim(2));
    const int64_t size = c.output(0).num_elements() / image.dim(0), pieces = c.input(0).num_elements() / image.dim(0);
    c.parallel_for(image.dim(0), 20.0 * static_cast<double>(pieces), [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b)
        spread(c.in<float>(0) + b * pieces, c.out<T>(0) + b * size, image, rows, columns);
    });
    return ok_status();
  }

 private:
  static void spread(const float* grad, T* out, const Shape& image, const ScratchVector<Cubic>& rows,
                     const ScratchVector<Cubic>& columns) {
    for (const Cubic& y : rows) {
      for (const Cubic& x : columns) {
        for (int64_t k = 0; k < image.dim(3); ++k, ++grad) {
          for (size_t i = 0; i < 4; ++i) {
            for (size_t j = 0; j < 4; ++j) {
              T& to = out[(y.pixels[i] * image.dim(2) + x.pixels[j]) * image.dim(3) + k];
              to += static_cast<T>(*grad) * static_cast<T>(y.weights[i]) * static_cast<T>(x.weights[j]);
            }
          }
        }
      }
    }
  }
  ResizeAttrs attrs_;
};

/// The pixels that one covers along an axis, and how much of each.
struct Area {
  ScratchVector<int64_t> pixels;
  ScratchVector<float> parts;

  // An image of one pixel has no extent where corners lie on corners: it is that pixel.
  Area(float begin, float end, float scale, int64_t size) {
    if (scale == 0) {
      pixels.push_back(0);
      parts.push_back(1);
      return;
    }
    const auto last = static_cast<int64_t>(std::ceil(end));
    for (auto i = static_cast<int64_t>(std::floor(begin)); i < last; ++i) {
      const auto low = static_cast<float>(i), high = static_cast<float>(i + 1);
      pixels.push_back(std::clamp<int64_t>(i, 0, size - 1));
      if (low < begin)
        parts.push_back(high > end ? scale : high - begin);
      else
        parts.push_back(high > end ? end - low : 1.0f);
    }
  }
};

std::vector<Area> areas(const ResizeAttrs& attrs, int64_t in, int64_t out) {
  const float scale = attrs.scale(in, out);
  std::vector<Area> all;
  for (int64_t i = 0; i < out; ++i)
    all.emplace_back(static_cast<float>(i) * scale, static_cast<float>(i + 1) * scale, scale, in);
  return all;
}

class ResizeArea final : public Kernel {
 public:
  explicit ResizeArea(const KernelInit& init) : attrs_{init.attrs.flag("align_corners"), false} {}
  Status run(KernelContext& c) override {
    const Shape& in = c.input(0).shape();
    ASSIGN_OR_RETURN(const Shape out, resized_shape(in, c.input(1)));
    RETURN_IF_ERROR(ensure_output(c, 0, out));
    if (c.output(0).num_elements() == 0) return ok_status();
    Tensor scratch;
    ASSIGN_OR_RETURN(const float* pixels, float_pixels(c, 0, scratch));
    const std::vector<Area> rows = areas(attrs_, in.dim(1), out.dim(1)), columns = areas(attrs_, in.dim(2), out.dim(2));
    auto extent = [&](int axis) {
      const float scale = attrs_.scale(in.dim(axis), out.dim(axis));
      return scale == 0 ? 1.0f : scale;
    };
    const float whole = 1.0f / (extent(1) * extent(2));
    const int64_t channels = in.dim(3), image = in.dim(1) * in.dim(2) * channels, row = out.dim(2) * channels;
    const double cost = 2.0 * static_cast<double>(image) / static_cast<double>(out.dim(1)) + static_cast<double>(row);
    c.parallel_for(out.dim(0) * out.dim(1), cost, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        mean_row(pixels + r / out.dim(1) * image, in, rows[static_cast<size_t>(r % out.dim(1))], columns, whole,
                 c.out<float>(0) + r * row);
      }
    });
    return ok_status();
  }

 private:
  static void mean_row(const float* image, const Shape& in, const Area& y, const std::vector<Area>& columns,
                       float whole, float* out) {
    const int64_t channels = in.dim(3);
    for (const Area& x : columns) {
      for (int64_t k = 0; k < channels; ++k) {
        float sum = 0;
        for (size_t i = 0; i < y.pixels.size(); ++i) {
          const float* line = image + y.pixels[i] * in.dim(2) * channels + k;
          float part = 0;
          for (size_t j = 0; j < x.pixels.size(); ++j) part += line[x.pixels[j] * channels] * x.parts[j];
          sum += part * y.parts[i];
        }
        *out++ = sum * whole;
      }
    }
  }
  ResizeAttrs attrs_;
};

Status bicubic_grad_shape(ShapeContext& c) {
  c.set_output(0, c.input(1));
  return ok_status();
}

Status bicubic_gradient(GradientContext& g) {
  const DType type = g.type(g.input(0));
  if (type != DType::kFloat && type != DType::kDouble) return ok_status();  // as TensorFlow: none
  g.set(0, g.add("ResizeBicubicGrad", {g.grad(0), g.input(0)}, g.copy_attrs({"align_corners", "half_pixel_centers"})));
  return g.status();
}

}  // namespace

OpDef resize_bicubic_op() {
  return OpDef("ResizeBicubic")
      .doc("Images scaled to a height and width, each pixel from sixteen by cubics; the result is float.")
      .shape(resize_shape)
      .cpu(kRealNumbers, make<ResizeBicubic>)
      .value_inputs({1})
      .gradient(bicubic_gradient);
}
OpDef resize_bicubic_grad_op() {
  return OpDef("ResizeBicubicGrad")
      .doc("The gradient of ResizeBicubic: each pixel's gradient to the sixteen it was made from.")
      .shape(bicubic_grad_shape)
      .cpu<float>(make<ResizeBicubicGrad<float>>)
      .cpu<double>(make<ResizeBicubicGrad<double>>)
      .not_differentiable();
}
OpDef resize_area_op() {
  return OpDef("ResizeArea")
      .doc("Images scaled to a height and width, each pixel the mean of the area it covers; the result is float.")
      .shape(resize_shape)
      .cpu(kRealNumbers, make<ResizeArea>)
      .value_inputs({1});
}

}  // namespace emplace
