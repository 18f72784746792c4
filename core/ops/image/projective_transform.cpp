// ImageProjectiveTransformV2, V3: images seen through a projection, that is turned, moved, sheared, scaled.
#include <algorithm>
#include <bit>
#include <cmath>

#include "core/base/cat.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/kit/with_real.h"

namespace emplace {
namespace {

/// What a pixel outside of the image is.
enum class Outside : uint8_t { kFill, kReflect, kWrap, kNearest };

struct ProjectionAttrs {
  bool nearest = false;
  Outside outside = Outside::kFill;
};

Result<ProjectionAttrs> projection_attrs(const Attrs& attrs) {
  constexpr std::pair<std::string_view, Outside> kModes[] = {{"CONSTANT", Outside::kFill},
                                                             {"REFLECT", Outside::kReflect},
                                                             {"WRAP", Outside::kWrap},
                                                             {"NEAREST", Outside::kNearest}};
  const std::string &interpolation = attrs.text("interpolation"), &fill_mode = attrs.text("fill_mode");
  if (interpolation != "NEAREST" && interpolation != "BILINEAR")
    return invalid_argument(cat("Invalid interpolation ", interpolation, ". Supported types: NEAREST, BILINEAR"));
  const auto* mode =
      std::find_if(std::begin(kModes), std::end(kModes), [&](const auto& m) { return m.first == fill_mode; });
  if (mode == std::end(kModes)) {
    return invalid_argument(cat("Invalid mode ", fill_mode, ". Supported types: CONSTANT, REFLECT, WRAP, NEAREST"));
  }
  return ProjectionAttrs{interpolation == "NEAREST", mode->second};
}

/// Towards zero; the lowest integer for what none is near, as x86 converts.
template <class I>
I whole(float x) {
  constexpr I kLowest = std::numeric_limits<I>::min();
  return x >= static_cast<float>(kLowest) && x < -static_cast<float>(kLowest) ? static_cast<I>(x) : kLowest;
}
template <class T>
T element_of(float x) {
  if constexpr (!std::is_integral_v<T>)
    return static_cast<T>(x);
  else
    return static_cast<T>(whole<std::conditional_t<sizeof(T) == 8, int64_t, int32_t>>(x));
}

/// Whole periods below `x`, in pixels: a float because of what numbers without a whole part give.
float periods(int64_t period, float x) {
  const auto count = static_cast<uint64_t>(whole<int64_t>(x));
  return static_cast<float>(std::bit_cast<int64_t>(static_cast<uint64_t>(period) * count));
}

float reflected(float at, int64_t size) {
  const auto n = static_cast<float>(size), twice = static_cast<float>(2 * size);
  if (at < 0) {
    if (size <= 1) return 0;
    if (at < twice) at = periods(2 * size, -at / twice) + at;
    return at < -n ? at + twice : -at - 1;
  }
  if (!(at > static_cast<float>(size - 1))) return at;
  if (size <= 1) return 0;
  at -= periods(2 * size, at / twice);
  return at >= n ? twice - at - 1 : at;
}

float wrapped(float at, int64_t size) {
  const auto last = static_cast<float>(size - 1);
  if (at < 0) {
    if (size <= 1) return 0;
    return at + periods(size, -at / last + 1);
  }
  if (!(at > last)) return at;
  return size <= 1 ? 0 : at - periods(size, at / last);
}

/// Where along an axis of `size` pixels, a place that may lie outside is looked for.
float brought_inside(float at, int64_t size, Outside outside) {
  if (outside == Outside::kFill) return at;
  if (outside == Outside::kReflect) at = reflected(at, size);
  if (outside == Outside::kWrap) at = wrapped(at, size);
  const float low = at < 0 ? 0 : at, last = static_cast<float>(size - 1);
  return last < low ? last : low;
}

/// One image, and where a row of the result begins.
struct Projection {
  ProjectionAttrs attrs;
  int64_t height, width, depth, out_width;
  const float* matrix;  // eight numbers
  float fill;
};

template <class T>
class Pixels {
 public:
  Pixels(const Projection& p, const void* image)
      : p_(p), image_(static_cast<const T*>(image)), fill_(element_of<T>(p.fill)) {}

  void row(int64_t y, T* to) const {
    const float* m = p_.matrix;
    const auto oy = static_cast<float>(y);
    for (int64_t x = 0; x < p_.out_width; ++x, to += p_.depth) {
      const auto ox = static_cast<float>(x);
      const float scale = m[6] * ox + m[7] * oy + 1.0f;
      if (scale == 0) {
        std::fill_n(to, p_.depth, fill_);
        continue;
      }
      const float at_x = (m[0] * ox + m[1] * oy + m[2]) / scale, at_y = (m[3] * ox + m[4] * oy + m[5]) / scale;
      const float in_x = brought_inside(at_x, p_.width, p_.attrs.outside);
      const float in_y = brought_inside(at_y, p_.height, p_.attrs.outside);
      if (p_.attrs.nearest)
        copy(std::round(in_y), std::round(in_x), to);
      else
        mix(in_y, in_x, to);
    }
  }

 private:
  /// Null outside of the image.
  const T* pixel(float row, float column) const {
    const auto y = whole<int64_t>(row), x = whole<int64_t>(column);
    const bool inside = y >= 0 && y < p_.height && x >= 0 && x < p_.width;
    return inside ? image_ + (y * p_.width + x) * p_.depth : nullptr;
  }
  void copy(float row, float column, T* to) const {
    const T* from = pixel(row, column);
    for (int64_t d = 0; d < p_.depth; ++d) to[d] = from ? from[d] : fill_;
  }
  void mix(float y, float x, T* to) const {
    const float top = std::floor(y), left = std::floor(x), low = top + 1, right = left + 1;
    const T *const a = pixel(top, left), *const b = pixel(top, right), *const c = pixel(low, left),
                   *const e = pixel(low, right);
    const auto value = [&](const T* from, int64_t d) { return static_cast<float>(from ? from[d] : fill_); };
    for (int64_t d = 0; d < p_.depth; ++d) {
      const float upper = (right - x) * value(a, d) + (x - left) * value(b, d);
      const float lower = (right - x) * value(c, d) + (x - left) * value(e, d);
      to[d] = element_of<T>((low - y) * upper + (y - top) * lower);
    }
  }

  const Projection& p_;
  const T* image_;
  T fill_;
};

using ProjectRow = void (*)(const Projection& p, const void* image, int64_t y, void* row);

template <class T>
void project_row(const Projection& p, const void* image, int64_t y, void* row) {
  Pixels<T>(p, image).row(y, static_cast<T*>(row));
}

Status projected_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(Shape images, c.with_rank(0, 4));
  ASSIGN_OR_RETURN(const Shape size, c.with_rank(2, 1));
  RETURN_IF_ERROR(require_dim(size.dim(0), 2).take_status());
  const Tensor* value = c.input_value(2);
  for (int i : {0, 1}) {
    const int64_t known = value ? int_at(*value, i) : -1;
    images.dim(i + 1) = known > 0 ? known : -1;  // others are for the kernel to refuse
  }
  c.set_output(0, images);
  return ok_status();
}

class ProjectiveTransform final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> create(const KernelInit& init) {
    ASSIGN_OR_RETURN(const ProjectionAttrs attrs, projection_attrs(init.attrs));
    const ProjectRow code =
        with_real(init.input_types[0], [](auto zero) -> ProjectRow { return project_row<decltype(zero)>; });
    return owned_kernel(new ProjectiveTransform(attrs, code));
  }

  Status run(KernelContext& c) override {
    RETURN_IF_ERROR(check(c));
    const Shape &image = c.input(0).shape(), &matrices = c.input(1).shape();
    const int64_t height = int_at(c.input(2), 0), width = int_at(c.input(2), 1);
    const Shape out{image.dim(0), height, width, image.dim(3)};
    RETURN_IF_ERROR(ensure_output(c, 0, out));
    if (c.output(0).num_elements() == 0) return ok_status();
    const float fill = c.num_inputs() > 3 ? c.in<float>(3)[0] : 0;
    const double cost = static_cast<double>(width) * (20 + 4 * static_cast<double>(image.dim(3)));
    c.parallel_for(out.dim(0) * height, cost, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t n = i / height;
        const float* matrix = c.in<float>(1) + (matrices.dim(0) == 1 ? 0 : 8 * n);
        const Projection p{attrs_, image.dim(1), image.dim(2), image.dim(3), width, matrix, fill};
        code_(p, element_at(c.input(0), n * p.height * p.width * p.depth), i % height,
              element_at(c.output(0), i * width * p.depth));
      }
    });
    return ok_status();
  }

 private:
  ProjectiveTransform(const ProjectionAttrs& attrs, ProjectRow code) : attrs_(attrs), code_(code) {}

  static Status check(const KernelContext& c) {
    const Shape &image = c.input(0).shape(), &matrices = c.input(1).shape();
    if (image.rank() != 4) return invalid_argument("Input images must have rank 4");
    if (matrices.rank() != 2 || matrices.dim(1) != 8 || (matrices.dim(0) != 1 && matrices.dim(0) != image.dim(0)))
      return invalid_argument("Input transform should be num_images x 8 or 1 x 8");
    if (c.num_inputs() > 3 && c.input(3).shape().rank() != 0)
      return invalid_argument(cat("fill_value must be a scalar", c.input(3).shape().to_string()));
    if (int_at(c.input(2), 0) <= 0 || int_at(c.input(2), 1) <= 0)
      return invalid_argument("output dimensions must be positive");
    return ok_status();
  }

  ProjectionAttrs attrs_;
  ProjectRow code_;
};

/// A part of a matrix's columns: v[:, begin:end], or v[:, begin:] with an end of 0 and that mask.
Value columns(GradientContext& g, Value v, int64_t begin, int64_t end, int64_t begin_mask) {
  constexpr std::string_view kName = "matrices_to_flat_transforms/strided_slice";
  return g.add("StridedSlice",
               {v, g.ints({0, begin}, cat(kName, "/stack")), g.ints({0, end}, cat(kName, "/stack_1")),
                g.ints({1, 1}, cat(kName, "/stack_2"))},
               {{"begin_mask", AttrValue::of(begin_mask)}, {"end_mask", AttrValue::of(int64_t{1})}}, kName);
}

/// The matrices of the projections that undo these.
Value inverse_transforms(GradientContext& g, Value transforms) {
  const auto named = [](std::string_view name) { return cat("flat_transforms_to_matrices/", name); };
  const Value flat = g.add("Reshape", {transforms, g.ints({-1, 8}, named("Const"))}, {}, named("Reshape"));
  const Value shape = g.shape(flat).fully_known()
                          ? g.ints({g.shape(flat).dim(0), 8}, named("Shape"))
                          : g.add("Shape", {flat}, {{"out_type", AttrValue::of(DType::kInt32)}}, named("Shape"));
  const std::string slice = named("strided_slice");
  const Value count =
      g.add("StridedSlice",
            {shape, g.ints({0}, slice + "/stack"), g.ints({1}, slice + "/stack_1"), g.ints({1}, slice + "/stack_2")},
            {{"shrink_axis_mask", AttrValue::of(int64_t{1})}}, slice);
  const Value column = g.add("Pack", {count, g.index(1, named("ones/packed/1"))}, {}, named("ones/packed"));
  const Value ones = g.add("Fill", {column, g.scalar(DType::kFloat, 1, named("ones/Const"))}, {}, named("ones"));
  const Value full = g.add("ConcatV2", {flat, ones, g.index(1, named("concat/axis"))}, {}, named("concat"));
  const Value matrices = g.add("Reshape", {full, g.ints({-1, 3, 3}, named("Const"))}, {}, named("Reshape"));
  const Value inverse = g.add("MatrixInverse", {matrices});
  const Value rows = g.add("Reshape", {inverse, g.ints({-1, 9}, "matrices_to_flat_transforms/Const")}, {},
                           "matrices_to_flat_transforms/Reshape");
  const Value scaled = g.add("RealDiv", {rows, columns(g, rows, 8, 9, 1)}, {}, "matrices_to_flat_transforms/truediv");
  return columns(g, scaled, 0, 8, 3);
}

/// As TensorFlow's: what arrives is projected back.
Status projection_gradient(GradientContext& g) {
  const Value transforms = inverse_transforms(g, g.input(1));
  const Value size = g.slice(g.shape_of(g.input(0)), 1, 3);
  std::vector<Value> inputs{g.grad(0), transforms, size};
  if (g.num_inputs() > 3) inputs.push_back(g.scalar(DType::kFloat, 0, cat(g.op(), "/fill_value")));
  g.set(0, g.add(g.op(), inputs, g.copy_attrs({"interpolation", "fill_mode"})));
  return g.status();
}

OpDef projection(std::string_view name, std::string_view doc) {
  constexpr DTypeSet kTypes{DType::kUInt8, DType::kInt32,    DType::kInt64, DType::kHalf,
                            DType::kFloat, DType::kBFloat16, DType::kDouble};
  return OpDef(name)
      .doc(doc)
      .shape(projected_shape)
      .value_inputs({2})
      .cpu(kTypes, ProjectiveTransform::create)
      .gradient(projection_gradient);
}

}  // namespace

OpDef image_projective_transform_v2_op() {
  return projection("ImageProjectiveTransformV2", "Images seen through a projection; zeros outside of them.");
}
OpDef image_projective_transform_v3_op() {
  return projection("ImageProjectiveTransformV3", "Images seen through a projection; `fill_value` outside of them.");
}

}  // namespace emplace
