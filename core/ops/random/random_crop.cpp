// RandomCrop, SampleDistortedBoundingBox, SampleDistortedBoundingBoxV2, StatelessSampleDistortedBoundingBox: parts of
// images that are drawn, and where to cut them.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "core/base/cat.h"
#include "core/base/scratch_vector.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/numeric.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/random/random_state.h"

namespace emplace {
namespace {

constexpr DTypeSet kBoxTypes = kSigned | DTypeSet{DType::kUInt8};
constexpr DTypeSet kCropTypes = kBoxTypes | kFloatDouble;

Status crop_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Shape image, c.with_rank(0, 3));
  RETURN_IF_ERROR(ShapeContext::merge(c.input(1), Shape{2}).take_status());
  Shape out{-1, -1, image.dim(2)};
  for (const int i : {0, 1}) {
    if (const Tensor* size = c.input_value(1)) out.dim(i) = std::max<int64_t>(-1, int_at(*size, i));
  }
  c.set_output(0, out);
  return ok_status();
}

class RandomCrop final : public Kernel {
 public:
  explicit RandomCrop(const KernelInit& init) : state_(init) {}
  Status run(KernelContext& c) override {
    const Tensor& image = c.input(0);
    RETURN_IF_ERROR(check(image.shape(), c.input(1)));
    const int64_t height = int_at(c.input(1), 0), width = int_at(c.input(1), 1);
    const int64_t rows = image.shape().dim(0), columns = image.shape().dim(1), depth = image.shape().dim(2);
    RETURN_IF_ERROR(ensure_output(c, 0, Shape{height, width, depth}));
    const PhiloxStream stream = state_.reserve(1);
    PhiloxWords words(stream, 0);
    const int64_t x = width < columns ? static_cast<int64_t>(words.next()) % (columns - width + 1) : 0;
    const int64_t y = height < rows ? static_cast<int64_t>(words.next()) % (rows - height + 1) : 0;
    copy_rows(*c.parallel_, image.dtype(), element_at(image, (y * columns + x) * depth), columns * depth,
              c.output(0).raw(), width * depth, height, width * depth);
    return ok_status();
  }

 private:
  static Status check(const Shape& image, const Tensor& size) {
    if (image.rank() != 3) return invalid_argument(cat("input must be 3-dimensional", image.to_string()));
    if (size.shape().rank() != 1)
      return invalid_argument(cat("shape_t must be 1-dimensional", size.shape().to_string()));
    if (size.num_elements() != 2) {
      return invalid_argument(cat("shape_t must have two elements", size.shape().to_string()));
    }
    static constexpr std::string_view kNames[] = {"height", "width"};
    for (const int i : {1, 0}) {
      const int64_t wanted = int_at(size, i), given = image.dim(i);
      if (wanted < 0) return invalid_argument(cat("a crop of negative ", kNames[i], ": ", wanted));
      if (given < wanted) {
        return failed_precondition(cat(kNames[i], " must be >= target_", kNames[i], ": ", kNames[i], " = ", given,
                                       ", target_", kNames[i], " = ", wanted));
      }
    }
    return ok_status();
  }

  RandomState state_;
};

Status box_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Shape image_size, c.with_rank(0, 1));
  ASSIGN_OR_RETURN(const Shape boxes, c.with_rank(1, 3));
  if (c.num_inputs() > 2) RETURN_IF_ERROR(c.with_rank(2, 0).take_status());
  Shape seed{2};
  if (c.num_inputs() > 3) {
    ASSIGN_OR_RETURN(seed, c.with_rank(3, 1));
  }
  RETURN_IF_ERROR(require_dim(image_size.dim(0), 3).take_status());
  RETURN_IF_ERROR(require_dim(boxes.dim(2), 4).take_status());
  RETURN_IF_ERROR(require_dim(seed.dim(0), 2).take_status());
  c.set_output(0, Shape{3});
  c.set_output(1, Shape{3});
  c.set_output(2, Shape{1, 1, 4});
  return ok_status();
}

// As x86 converts: what is no int32 becomes the least one.
int32_t cut(double v) { return v > -2147483649.0 && v < 2147483648.0 ? static_cast<int32_t>(v) : INT32_MIN; }
// By way of 64 bits, of which the low ones are kept.
int32_t nearest(float v) {
  return std::fabs(v) < 0x1p62f ? static_cast<int32_t>(std::llrint(static_cast<double>(v))) : 0;
}

float area_of(int32_t width, int32_t height) { return static_cast<float>(multiply(width, height)); }

struct PixelBox {
  int32_t left = 0, top = 0, right = 0, bottom = 0;
  float area() const { return area_of(subtract(right, left), subtract(bottom, top)); }
  float shared_with(const PixelBox& o) const {
    const PixelBox both{std::max(left, o.left), std::max(top, o.top), std::min(right, o.right),
                        std::min(bottom, o.bottom)};
    return both.left > both.right || both.top > both.bottom ? 0.0f : both.area();
  }
};

/// A number in [0, n) of which all are equally likely: words that would make the first ones likelier are passed over.
int32_t uniform_below(PhiloxWords& words, int32_t n) {
  const auto count = static_cast<uint32_t>(n);  // 2^32 less for what wrapped around
  if (count == 0) return static_cast<int32_t>(words.next() * count);
  if ((count & (count - 1)) == 0) return static_cast<int32_t>(words.next() & (count - 1));
  const uint32_t uneven = UINT32_MAX % count + 1;
  uint32_t word = words.next();
  while (word < uneven) word = words.next();
  return static_cast<int32_t>(word % count);
}

/// What boxes are drawn from.
struct BoxRange {
  int32_t height, width;
  float least_area, most_area;  // of the image's
};

/// Draws a box of that form; nothing where rounding leaves none that fits. In TensorFlow's order, roundings included:
/// the numbers that are drawn depend on them.
std::optional<PixelBox> draw_box(const BoxRange& r, float ratio, PhiloxWords& words) {
  if (r.most_area <= 0 || ratio <= 0 || r.width <= 0 || r.height <= 0 || r.least_area > r.most_area) return {};
  const float least = r.least_area * static_cast<float>(r.width) * static_cast<float>(r.height);
  const float most = r.most_area * static_cast<float>(r.width) * static_cast<float>(r.height);
  const auto width_of = [&](int32_t height) { return nearest(static_cast<float>(height) * ratio); };
  const auto wide = [&](int32_t height) {
    const float width = static_cast<float>(height) * ratio;
    return width < 0x1p62f && std::llrint(static_cast<double>(width)) > r.width;
  };
  int32_t height = nearest(std::sqrt(least / ratio)), highest = nearest(std::sqrt(most / ratio));
  if (wide(highest)) {
    constexpr float kGap = 0.0000001f;
    highest = cut((static_cast<double>(r.width) + 0.5 - static_cast<double>(kGap)) / static_cast<double>(ratio));
    if (wide(highest)) highest = subtract(highest, 1);
  }
  highest = std::min(highest, r.height);
  height = std::min(height, highest);
  if (height < highest) height = add(height, uniform_below(words, add(subtract(highest, height), 1)));
  int32_t width = width_of(height);
  float area = area_of(width, height);
  if (area < least) {
    height = add(height, 1);
    width = width_of(height);
    area = area_of(width, height);
  }
  if (area > most) {
    height = subtract(height, 1);
    width = width_of(height);
    area = area_of(width, height);
  }
  if (area < least || area > most || width > r.width || height > r.height || width <= 0 || height <= 0) return {};
  PixelBox box;
  if (height < r.height) box.top = uniform_below(words, r.height - height);
  if (width < r.width) box.left = uniform_below(words, r.width - width);
  box.right = box.left + width;
  box.bottom = box.top + height;
  return box;
}

/// The attrs that the three ops have in common.
struct BoxAttrs {
  float least_ratio, most_ratio, least_area, most_area;
  int64_t attempts;
  bool may_use_image;

  static Result<BoxAttrs> of(const Attrs& attrs) {
    const std::vector<float>&ratios = attrs.numbers("aspect_ratio_range"), &areas = attrs.numbers("area_range");
    if (ratios.size() != 2) return invalid_argument("Aspect ratio range field must specify 2 dimensions");
    if (!(ratios[0] > 0 && ratios[1] > 0)) {
      return invalid_argument(cat("Aspect ratio range must be non-negative: [", ratios[0], ", ", ratios[1], "]"));
    }
    if (areas.size() != 2) return invalid_argument("Area range field must specify 2 dimensions");
    const std::string area_text = cat("[", areas[0], ", ", areas[1], "]");
    if (!(areas[0] > 0 && areas[1] > 0)) return invalid_argument(cat("Area range must be non-negative: ", area_text));
    if (!(areas[0] <= 1 && areas[1] <= 1))
      return invalid_argument(cat("Area range must be less then or equal to 1.0: ", area_text));
    const int64_t attempts = attrs.integer("max_attempts");
    if (attempts < INT32_MIN || attempts > INT32_MAX)
      return invalid_argument(cat("Attr max_attempts has value ", attempts, " out of range for an int32"));
    if (attempts <= 0) return invalid_argument(cat("Max attempts must be non-negative: ", attempts));
    return BoxAttrs{ratios[0], ratios[1], areas[0], areas[1], attempts, attrs.flag("use_image_if_no_bounding_boxes")};
  }
};

Status check_covered(float covered) {
  if (covered >= 0) return ok_status();
  return invalid_argument(cat("Min object covered must be non-negative: ", covered));
}

/// The objects that a box should cover some of, in pixels.
Result<ScratchVector<PixelBox>> objects_of(const Tensor& boxes, int32_t height, int32_t width, bool may_use_image) {
  if (boxes.shape().rank() != 3) {
    return invalid_argument(
        cat("input boxes must be 3-dimensional [batch, num_boxes, coords]: ", boxes.shape().to_string()));
  }
  if (boxes.shape().dim(2) != 4) {
    return invalid_argument(cat("bounding boxes must have shape [4] or [*, 4], got ", boxes.shape().to_string()));
  }
  ScratchVector<PixelBox> objects;
  const float* corner = boxes.data<float>();
  const auto x = [&](float v) { return cut(static_cast<double>(v * static_cast<float>(width))); };
  const auto y = [&](float v) { return cut(static_cast<double>(v * static_cast<float>(height))); };
  for (int64_t i = 0; i < boxes.num_elements() / 4; ++i, corner += 4) {
    for (int k = 0; k < 4; ++k) {
      if (corner[k] >= 0 && corner[k] <= 1) continue;
      return invalid_argument(cat("All bounding box coordinates must be in [0.0, 1.0]: ", corner[k]));
    }
    objects.push_back({x(corner[1]), y(corner[0]), x(corner[3]), y(corner[2])});
  }
  if (!objects.empty()) return objects;
  if (!may_use_image) {
    return invalid_argument(
        "No bounding boxes provided as input. One must enable use_image_if_no_bounding_boxes if you wish to not "
        "provide any bounding boxes.");
  }
  objects.push_back({0, 0, width, height});
  return objects;
}

bool covers(const PixelBox& box, const ScratchVector<PixelBox>& objects, float covered) {
  if (box.area() < 1) return false;
  return std::any_of(objects.begin(), objects.end(),
                     [&](const PixelBox& o) { return !(o.area() < 1) && box.shared_with(o) / o.area() >= covered; });
}

class DistortedBox : public Kernel {
 public:
  explicit DistortedBox(const BoxAttrs& attrs) : attrs_(attrs) {}

 protected:
  Status draw(KernelContext& c, const PhiloxStream& stream, float covered) const {
    ASSIGN_OR_RETURN(const int32_t height, size_at(c.input(0), 0, "height"));
    ASSIGN_OR_RETURN(const int32_t width, size_at(c.input(0), 1, "width"));
    ASSIGN_OR_RETURN(const auto objects, objects_of(c.input(1), height, width, attrs_.may_use_image));
    const PixelBox box = first_that_covers(stream, height, width, objects, covered);
    const int32_t begin[] = {box.top, box.left, 0}, size[] = {box.bottom - box.top, box.right - box.left, -1};
    for (int i = 0; i < 3; ++i) {
      store(c.output(0), i, begin[i]);
      store(c.output(1), i, size[i]);
    }
    const auto rows = static_cast<float>(height), columns = static_cast<float>(width);
    float* part = c.out<float>(2);
    part[0] = static_cast<float>(box.top) / rows, part[1] = static_cast<float>(box.left) / columns;
    part[2] = static_cast<float>(box.bottom) / rows, part[3] = static_cast<float>(box.right) / columns;
    return ok_status();
  }
  static Status check_size(const Tensor& size) {
    if (size.shape().rank() != 1)
      return invalid_argument(cat("image_size must be 1-dimensional", size.shape().to_string()));
    if (size.num_elements() == 3) return ok_status();
    return invalid_argument(cat("image_size must contain 3 elements", size.shape().to_string()));
  }
  /// Input 2.
  static Result<float> covered_of(const Tensor& covered) {
    if (covered.shape().rank() != 0)
      return invalid_argument(cat("min_object_covered must be 0-D, got shape ", covered.shape().to_string()));
    RETURN_IF_ERROR(check_covered(*covered.data<float>()));
    return *covered.data<float>();
  }
  const BoxAttrs attrs_;

 private:
  /// What the type has no room for is cut off.
  static void store(Tensor& t, int i, int64_t v) {
    std::memcpy(element_at(t, i), &v, static_cast<size_t>(element_stride(t.dtype())));
  }
  static int64_t load(const Tensor& t, int i) {
    if (t.dtype() == DType::kInt8) return t.data<int8_t>()[i];
    if (t.dtype() == DType::kUInt8) return t.data<uint8_t>()[i];
    return int_at(t, i);
  }
  static Result<int32_t> size_at(const Tensor& size, int i, std::string_view name) {
    RETURN_IF_ERROR(check_size(size));
    const int64_t n = load(size, i);
    if (n < 0 || n >= INT32_MAX) return invalid_argument(cat("image ", name, " cannot be >= int32 max, got ", n));
    return static_cast<int32_t>(n);
  }
  /// The whole image after so many attempts.
  PixelBox first_that_covers(const PhiloxStream& stream, int32_t height, int32_t width,
                             const ScratchVector<PixelBox>& objects, float covered) const {
    PhiloxWords words(stream, 0);
    for (int64_t i = 0; i < attrs_.attempts; ++i) {
      const float ratio = uniform_float(words.next()) * (attrs_.most_ratio - attrs_.least_ratio) + attrs_.least_ratio;
      const auto box = draw_box({height, width, attrs_.least_area, attrs_.most_area}, ratio, words);
      if (box && covers(*box, objects, covered)) return *box;
    }
    return {0, 0, width, height};
  }
};

class StatefulBox final : public DistortedBox {
 public:
  static Result<std::unique_ptr<Kernel>> create(const KernelInit& init) {
    const bool by_attr = init.input_types.size() == 2;
    const float covered = by_attr ? init.attrs.number("min_object_covered") : 0.0f;
    RETURN_IF_ERROR(check_covered(covered));
    ASSIGN_OR_RETURN(const BoxAttrs attrs, BoxAttrs::of(init.attrs));
    return owned_kernel(new StatefulBox(init, attrs, covered));
  }
  Status run(KernelContext& c) override {
    const PhiloxStream stream = state_.reserve(static_cast<uint64_t>(attrs_.attempts));
    float covered = covered_;
    if (c.num_inputs() > 2) {
      ASSIGN_OR_RETURN(covered, covered_of(c.input(2)));
    }
    return draw(c, stream, covered);
  }

 private:
  StatefulBox(const KernelInit& init, const BoxAttrs& attrs, float covered)
      : DistortedBox(attrs), state_(init), covered_(covered) {}
  RandomState state_;
  const float covered_;
};

class StatelessBox final : public DistortedBox {
 public:
  static Result<std::unique_ptr<Kernel>> create(const KernelInit& init) {
    ASSIGN_OR_RETURN(const BoxAttrs attrs, BoxAttrs::of(init.attrs));
    return owned_kernel(new StatelessBox(attrs));
  }
  explicit StatelessBox(const BoxAttrs& attrs) : DistortedBox(attrs) {}
  Status run(KernelContext& c) override {
    if (c.input(3).shape().rank() != 1)
      return invalid_argument(cat("seed must have shape [2], not ", c.input(3).shape().to_string()));
    ASSIGN_OR_RETURN(const PhiloxStream stream, philox_from_seed(c.input(3)));
    ASSIGN_OR_RETURN(const float covered, covered_of(c.input(2)));
    return draw(c, stream, covered);
  }
};

}  // namespace

OpDef random_crop_op() {
  return OpDef("RandomCrop")
      .doc("A part of an image, of the size that is asked for, from where chance says.")
      .traits({.random = true})
      .shape(crop_shape)
      .value_inputs({1})
      .cpu(kCropTypes, make<RandomCrop>)
      .not_differentiable();
}
OpDef sample_distorted_bounding_box_op() {
  return OpDef("SampleDistortedBoundingBox")
      .doc("A part of an image that covers some of an object: where it begins, its size, and its corners.")
      .traits({.random = true})
      .shape(box_shape)
      .cpu(kBoxTypes, StatefulBox::create)
      .not_differentiable();
}
OpDef sample_distorted_bounding_box_v2_op() {
  return OpDef("SampleDistortedBoundingBoxV2")
      .doc("A part of an image that covers some of an object: where it begins, its size, and its corners.")
      .traits({.random = true})
      .shape(box_shape)
      .cpu(kBoxTypes, StatefulBox::create)
      .not_differentiable();
}
OpDef stateless_sample_distorted_bounding_box_op() {
  return OpDef("StatelessSampleDistortedBoundingBox")
      .doc("A part of an image that covers some of an object, which depends on the seed alone.")
      .shape(box_shape)
      .kernel_attr("T")
      .cpu(kBoxTypes, StatelessBox::create);
}

}  // namespace emplace
