// ScaleAndTranslate, ScaleAndTranslateGrad: images scaled and moved, each pixel a weighted mean of those around the
// place that it comes from; with antialias of more of them, the smaller the result is (tf.image.resize).
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/cat.h"
#include "core/base/scratch_vector.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/image/resize.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/shape_math.h"

namespace emplace {
namespace {

/// The weight of a pixel at a distance; 0 from `radius` on.
struct Filter {
  std::string_view name;
  float radius;
  float (*weight)(float distance, float radius);
};

float lanczos(float x, float radius) {
  constexpr float kPi = 3.14159265359f;
  if (x > radius) return 0;
  if (x <= 1e-3f) return 1;
  return radius * std::sin(kPi * x) * std::sin(kPi * x / radius) / (kPi * kPi * x * x);
}
float gaussian(float x, float radius) {
  const float sigma = radius / 3;
  return x >= radius ? 0 : std::exp(-x * x / (2 * sigma * sigma));
}
float box(float x, float) { return x < 0.5f ? 1.0f : x == 0.5f ? 0.5f : 0.0f; }
float triangle(float x, float) { return x < 1 ? 1 - x : 0; }
float keys_cubic(float x, float) {
  if (x >= 2) return 0;
  return x >= 1 ? ((-0.5f * x + 2.5f) * x - 4.0f) * x + 2.0f : ((1.5f * x - 2.5f) * x) * x + 1.0f;
}
float mitchell_cubic(float x, float) {
  if (x >= 2) return 0;
  return x >= 1 ? (((-7.0f / 18.0f) * x + 2.0f) * x - 10.0f / 3.0f) * x + 16.0f / 9.0f
                : (((7.0f / 6.0f) * x - 2.0f) * x) * x + 8.0f / 9.0f;
}

constexpr Filter kFilters[] = {{"lanczos1", 1, lanczos},
                               {"lanczos3", 3, lanczos},
                               {"lanczos5", 5, lanczos},
                               {"gaussian", 1.5f, gaussian},
                               {"box", 1, box},
                               {"triangle", 1, triangle},
                               {"keyscubic", 2, keys_cubic},
                               {"mitchellcubic", 2, mitchell_cubic}};

/// For each number of a line of the result: from where on numbers of the input count, and how much each.
struct Spans {
  int64_t length = 0;  // weights of each
  ScratchVector<int64_t> starts;
  ScratchVector<float> weights;
};

/// How a line is scaled and moved.
struct Mapping {
  const Filter* filter;
  bool antialias;
  float scale, translation;
  int64_t in, out;
};

void fill_span(const Mapping& m, float at, float widened, int64_t number, Spans& spans) {
  const float reach = m.filter->radius * widened, narrowed = 1.0f / widened;
  const auto inside = [&](float place) {
    return std::min(static_cast<int64_t>(std::clamp(place, 0.0f, static_cast<float>(m.in - 1))), m.in - 1);
  };
  const int64_t begin = inside(std::ceil(at - reach - 0.5f)), end = inside(std::floor(at + reach - 0.5f)) + 1;
  float* weights = spans.weights.data() + number * spans.length;
  float total = 0;
  spans.starts[static_cast<size_t>(number)] = begin;
  const int64_t count = std::min(end - begin, spans.length);
  for (int64_t i = 0; i < count; ++i) {
    const float distance = std::abs((static_cast<float>(begin + i) + 0.5f - at) * narrowed);
    weights[i] = m.filter->weight(distance, m.filter->radius);
    total += weights[i];
  }
  const bool counts = std::abs(total) >= 1000.0f * std::numeric_limits<float>::min();
  const float share = counts ? 1.0f / total : 0.0f;
  for (int64_t i = 0; i < count; ++i) weights[i] = counts ? weights[i] * share : 0.0f;
}

/// Numbers that come from outside of the image are 0.
Spans spans_of(const Mapping& m) {
  const float back = static_cast<float>(1.0 / static_cast<double>(m.scale)), moved = -back * m.translation;
  const float widened = m.antialias ? std::max(back, 1.0f) : 1.0f;
  Spans spans;
  const float reach = std::min(std::ceil(m.filter->radius * widened), static_cast<float>(m.in));
  spans.length = std::min(2 * static_cast<int64_t>(reach) + 1, m.in);
  spans.starts.assign(static_cast<size_t>(m.out), 0);
  spans.weights.assign(static_cast<size_t>(m.out * spans.length), 0.0f);
  for (int64_t i = 0; i < m.out; ++i) {
    const float at = (static_cast<float>(i) + 0.5f) * back + moved;
    if (at >= 0 && at <= static_cast<float>(m.in)) fill_span(m, at, widened, i, spans);
  }
  return spans;
}

/// The other way round: what each number of the input gives to those of the result.
Spans turned(const Spans& spans, int64_t in, int64_t out) {
  struct Reach {
    int64_t first = -1, last = -1;
  };
  ScratchVector<Reach> reaches(static_cast<size_t>(in));
  const auto each = [&](const auto& f) {
    for (int64_t i = 0; i < out; ++i) {
      for (int64_t k = 0; k < spans.length; ++k) {
        const int64_t at = spans.starts[static_cast<size_t>(i)] + k;
        const float weight = spans.weights[static_cast<size_t>(i * spans.length + k)];
        if (weight != 0 && at < in) f(i, static_cast<size_t>(at), weight);
      }
    }
  };
  Spans back;
  each([&](int64_t i, size_t at, float) {
    if (reaches[at].first < 0) reaches[at].first = i;
    reaches[at].last = i;
    back.length = std::max(back.length, i - reaches[at].first + 1);
  });
  back.starts.assign(static_cast<size_t>(in), 0);
  back.weights.assign(static_cast<size_t>(in * back.length), 0.0f);
  for (size_t at = 0; at < reaches.size(); ++at) back.starts[at] = std::max<int64_t>(reaches[at].first, 0);
  each([&](int64_t i, size_t at, float weight) {
    back.weights[at * static_cast<size_t>(back.length) + static_cast<size_t>(i - reaches[at].first)] += weight;
  });
  return back;
}

/// to[0..n) = the weighted sum of lines of n numbers, `pitch` apart.
void add_up(const Spans& spans, int64_t number, int64_t limit, const float* lines, int64_t pitch, int64_t n,
            float* to) {
  std::fill_n(to, n, 0.0f);
  const int64_t start = spans.starts[static_cast<size_t>(number)];
  const float* weights = spans.weights.data() + number * spans.length;
  for (int64_t k = 0; k < std::min(spans.length, limit - start); ++k) {
    if (weights[k] == 0) continue;
    const float* line = lines + (start + k) * pitch;
    for (int64_t j = 0; j < n; ++j) to[j] += weights[k] * line[j];
  }
}

/// Rows first, then columns.
void gather(KernelContext& c, const float* in, const Shape& from, const Spans& rows, const Spans& columns,
            Tensor& out) {
  const Shape& to = out.shape();
  const int64_t depth = to.dim(3), wide = from.dim(2) * depth, image = from.dim(1) * wide, row = to.dim(2) * depth;
  const double cost = static_cast<double>(rows.length * wide + columns.length * row);
  c.parallel_for(to.dim(0) * to.dim(1), cost, [&](int64_t begin, int64_t end) {
    ScratchVector<float> line(static_cast<size_t>(wide));
    for (int64_t r = begin; r < end; ++r) {
      add_up(rows, r % to.dim(1), from.dim(1), in + r / to.dim(1) * image, wide, wide, line.data());
      float* pixel = out.data<float>() + r * row;
      for (int64_t x = 0; x < to.dim(2); ++x, pixel += depth)
        add_up(columns, x, from.dim(2), line.data(), depth, depth, pixel);
    }
  });
}

Status check_pair(const Tensor& t, std::string_view name) {
  if (t.shape().rank() != 1) return invalid_argument(cat(name, " must be 1-dimensional", t.shape().to_string()));
  if (t.num_elements() == 2) return ok_status();
  return invalid_argument(cat(name, " must have two elements", t.shape().to_string()));
}

class Scaling : public Kernel {
 public:
  explicit Scaling(const KernelInit& init) : antialias_(init.attrs.flag("antialias")) {
    const std::string& name = init.attrs.text("kernel_type");
    filter_ = std::find_if(std::begin(kFilters), std::end(kFilters), [&](const Filter& f) { return f.name == name; });
  }

 protected:
  /// Of `image` to height and width `out`, by inputs `scale` and `scale` + 1; dimension 1 or 2.
  Spans spans(KernelContext& c, int scale, const Shape& image, const Shape& out, int d) const {
    return spans_of(
        {filter_, antialias_, c.in<float>(scale)[d - 1], c.in<float>(scale + 1)[d - 1], image.dim(d), out.dim(d)});
  }
  Status check(KernelContext& c, int scale) const {
    if (filter_ == std::end(kFilters)) return invalid_argument("Unrecognized kernel type");
    RETURN_IF_ERROR(check_pair(c.input(scale), "scale"));
    RETURN_IF_ERROR(check_pair(c.input(scale + 1), "translation"));
    for (int i = 0; i < 2; ++i) {
      if (!(c.in<float>(scale)[i] > 0)) return invalid_argument("scale must be greater than zero.");
      if (!std::isfinite(c.in<float>(scale + 1)[i])) return invalid_argument("translation must be finite.");
    }
    return ok_status();
  }

  const Filter* filter_;
  const bool antialias_;
};

class ScaleAndTranslate final : public Scaling {
 public:
  using Scaling::Scaling;
  Status run(KernelContext& c) override {
    const Shape& image = c.input(0).shape();
    ASSIGN_OR_RETURN(const Shape out, resized_shape(image, c.input(1)));
    RETURN_IF_ERROR(check(c, 2));
    RETURN_IF_ERROR(ensure_output(c, 0, out));
    if (out.num_elements() == 0) return ok_status();
    Tensor scratch;
    ASSIGN_OR_RETURN(const float* pixels, float_pixels(c, 0, scratch));
    gather(c, pixels, image, spans(c, 2, image, out, 1), spans(c, 2, image, out, 2), c.output(0));
    return ok_status();
  }
};

class ScaleAndTranslateGrad final : public Scaling {
 public:
  using Scaling::Scaling;
  Status run(KernelContext& c) override {
    const Shape &grads = c.input(0).shape(), &image = c.input(1).shape();
    RETURN_IF_ERROR(check_resized_gradient(grads, image));
    RETURN_IF_ERROR(check(c, 2));
    RETURN_IF_ERROR(ensure_output(c, 0, image));
    if (image.num_elements() == 0) return ok_status();
    const Spans rows = turned(spans(c, 2, image, grads, 1), image.dim(1), grads.dim(1));
    const Spans columns = turned(spans(c, 2, image, grads, 2), image.dim(2), grads.dim(2));
    gather(c, c.in<float>(0), grads, rows, columns, c.output(0));
    return ok_status();
  }
};

Status pair_inputs(ShapeContext& c) {
  for (int i : {2, 3}) {
    ASSIGN_OR_RETURN(const Shape pair, c.with_rank(i, 1));
    RETURN_IF_ERROR(require_dim(dim_or_unknown(pair, 0), 2).take_status());
  }
  return ok_status();
}
Status scaled_shape(ShapeContext& c) {
  RETURN_IF_ERROR(pair_inputs(c));
  return resize_shape(c);
}
Status scaled_gradient_shape(ShapeContext& c) {
  RETURN_IF_ERROR(pair_inputs(c));
  c.set_output(0, c.input(1));
  return ok_status();
}

Status scaled_gradient(GradientContext& g) {
  g.set(0, g.add("ScaleAndTranslateGrad", {g.grad(0), g.input(0), g.input(2), g.input(3)},
                 g.copy_attrs({"kernel_type", "antialias"})));
  return g.status();
}

}  // namespace

OpDef scale_and_translate_op() {
  return OpDef("ScaleAndTranslate")
      .doc("Images scaled and moved; with antialias without losing pixels where they get smaller.")
      .shape(scaled_shape)
      .value_inputs({1})
      .cpu(kRealNumbers, make<ScaleAndTranslate>)
      .gradient(scaled_gradient);
}
OpDef scale_and_translate_grad_op() {
  return OpDef("ScaleAndTranslateGrad")
      .doc("The gradient of ScaleAndTranslate with respect to its images.")
      .shape(scaled_gradient_shape)
      .cpu<float>(make<ScaleAndTranslateGrad>);
}

}  // namespace emplace
