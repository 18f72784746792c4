// ExtractImagePatches: each window of an image as a row of its pixels.
#include <algorithm>
#include <cstring>

#include "core/base/cat.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/conv/conv_shape.h"
#include "core/ops/image/image_patches.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/shape_math.h"

namespace emplace {
namespace {

constexpr std::string_view kAttrs[] = {"ksizes", "strides", "rates"};

Status check_counts(const Attrs& attrs) {
  for (const std::string_view name : kAttrs) {
    const std::vector<int64_t>& given = attrs.integers(name);
    if (given.size() != 4) {
      return invalid_argument(cat("ExtractImagePatches requires the ", name == "strides" ? "stride" : name,
                                  " attribute to contain 4 values, but got: ", given.size()));
    }
    for (const int64_t v : given) {
      if (v < INT32_MIN || v > INT32_MAX)
        return invalid_argument(cat("Attr ", name, " has value ", v, " out of range for an int32"));
    }
  }
  return ok_status();
}

Status patches_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Shape images, c.with_rank(0, 4));
  RETURN_IF_ERROR(check_counts(c.attrs()));
  ASSIGN_OR_RETURN(const ImagePatches patches, image_patches(c.attrs(), images));
  c.set_output(0, patches.out);
  return ok_status();
}

/// Copies bytes: a pixel is one run of them.
class ExtractImagePatches final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> create(const KernelInit& init) {
    RETURN_IF_ERROR(check_patch_attrs(init.attrs));
    return owned_kernel(new ExtractImagePatches(init.attrs));
  }
  Status run(KernelContext& c) override {
    ASSIGN_OR_RETURN(const ImagePatches p, image_patches(attrs_, c.input(0).shape()));
    RETURN_IF_ERROR(ensure_output(c, 0, p.out));
    if (c.output(0).num_elements() == 0) return ok_status();
    const int64_t pixel = p.depth * element_stride(c.input(0).dtype());
    const int64_t row = p.x.out * p.y.taps * p.x.taps * pixel;
    const double cost = 2.0 * static_cast<double>(p.x.out * p.y.taps * p.x.taps) + 0.05 * static_cast<double>(row);
    c.parallel_for(p.batch * p.y.out, cost, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const char* image = static_cast<const char*>(c.input(0).raw()) + i / p.y.out * p.y.in * p.x.in * pixel;
        copy_row(p, image, i % p.y.out, pixel, static_cast<char*>(c.output(0).raw()) + i * row);
      }
    });
    return ok_status();
  }

 private:
  static void copy_row(const ImagePatches& p, const char* image, int64_t oy, int64_t pixel, char* to) {
    for (int64_t ox = 0; ox < p.x.out; ++ox) {
      const int64_t left = ox * p.x.stride - p.x.before;
      for (int64_t k = 0; k < p.y.taps; ++k, to += p.x.taps * pixel) {
        const int64_t y = oy * p.y.stride - p.y.before + k * p.y.rate;
        if (y < 0 || y >= p.y.in)
          std::memset(to, 0, static_cast<size_t>(p.x.taps * pixel));
        else
          copy_taps(p.x, image + y * p.x.in * pixel, left, pixel, to);
      }
    }
  }
  /// Pixels of a row of the image from `left` on, `rate` apart; zeros for those that are not there.
  static void copy_taps(const PatchAxis& x, const char* row, int64_t left, int64_t pixel, char* to) {
    if (x.rate == 1 && left >= 0 && left + x.taps <= x.in) {
      std::memcpy(to, row + left * pixel, static_cast<size_t>(x.taps * pixel));
      return;
    }
    for (int64_t k = 0; k < x.taps; ++k, to += pixel) {
      const int64_t at = left + k * x.rate;
      if (at < 0 || at >= x.in)
        std::memset(to, 0, static_cast<size_t>(pixel));
      else
        std::memcpy(to, row + at * pixel, static_cast<size_t>(pixel));
    }
  }

  explicit ExtractImagePatches(const Attrs& attrs) : attrs_(attrs) {}
  Attrs attrs_;
};

/// A shape of values, and of numbers that are known now: those stand at `known`.
Value packed_shape(GradientContext& g, std::vector<Value> sizes,
                   std::initializer_list<std::pair<size_t, int64_t>> known) {
  for (const auto& [at, size] : known) sizes[at] = g.index(size, cat("Reshape/shape/", at), DType::kInt64);
  return g.add("Pack", sizes, {}, "Reshape/shape");
}

/// What arrived at each pixel of each window is added to the pixel that it was: patches of the pixels' numbers tell.
Status patches_gradient(GradientContext& g) {
  constexpr DType kLong = DType::kInt64;
  const auto unstack = [&](Value v, int64_t n) { return g.add("Unpack", {v}, {{"num", AttrValue::of(n)}}, "unstack"); };
  const Value in = unstack(g.shape_of(g.input(0), kLong), 4);
  const Value batch = in, height = in.output(1), width = in.output(2), depth = in.output(3);
  const Value out = unstack(g.slice(g.shape_of(g.output(0), kLong), 1, 3), 2);
  const std::vector<int64_t>& window = g.attrs().integers("ksizes");

  const Value pixels = g.mul(height, width);
  const Value end = g.add("AddV2", {pixels, g.index(1, "add/y", kLong)}, {}, "add");
  const Value start = g.scalar(DType::kFloat, 1, "range/start"), step = g.scalar(DType::kFloat, 1, "range/delta");
  const Value last = g.add("Cast", {end}, {{"DstT", AttrValue::of(DType::kFloat)}}, "range/Cast");
  const Value numbers =
      g.reshape(g.range(start, last, step), packed_shape(g, {{}, height, width, {}}, {{0, 1}, {3, 1}}));
  const Value from =
      g.cast(g.add("ExtractImagePatches", {numbers}, g.copy_attrs({"ksizes", "strides", "rates", "padding"})), kLong);

  const Value arrived = g.reshape(
      g.grad(0), packed_shape(g, {batch, out, out.output(1), {}, {}, depth}, {{3, window[1]}, {4, window[2]}}));
  const Value by_place = g.transpose(arrived, g.ints({1, 2, 3, 4, 0, 5}, "transpose/perm"));
  const Value rows = g.reshape(by_place, packed_shape(g, {{}, g.mul(batch, depth)}, {{0, -1}}));
  const Value places = g.add("Sub", {g.reshape(from, std::vector<int64_t>{-1}), g.index(1, "sub/y", kLong)}, {}, "sub");
  const Value sums = g.add("UnsortedSegmentSum", {rows, places, pixels});
  const Value image = g.reshape(sums, packed_shape(g, {height, width, batch, depth}, {}));
  g.set(0, g.transpose(image, g.ints({2, 0, 1, 3}, "transpose/perm")));
  return g.status();
}

}  // namespace

OpDef extract_image_patches_op() {
  return OpDef("ExtractImagePatches")
      .doc("The windows of images, the pixels of each in a row.")
      .shape(patches_shape)
      .cpu(kNumbers, ExtractImagePatches::create)
      .gradient(patches_gradient);
}

}  // namespace emplace
