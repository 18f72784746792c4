// CombinedNonMaxSuppression: non-maximum suppression of each class of each image, and the best of all classes.
#include <algorithm>
#include <array>
#include <queue>

#include "core/base/cat.h"
#include "core/base/scratch_vector.h"
#include "core/op/op_def.h"
#include "core/ops/image/boxes.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/shape_math.h"

namespace emplace {
namespace {

Status combined_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Shape boxes, c.with_rank(0, 4));
  ASSIGN_OR_RETURN(const Shape scores, c.with_rank(1, 3));
  for (int i = 2; i < 6; ++i) RETURN_IF_ERROR(c.with_rank(i, 0).take_status());
  RETURN_IF_ERROR(ShapeContext::merge_dim(boxes.dim(0), scores.dim(0)).take_status());
  RETURN_IF_ERROR(ShapeContext::merge_dim(boxes.dim(1), scores.dim(1)).take_status());
  RETURN_IF_ERROR(require_dim(boxes.dim(3), 4).take_status());
  const int64_t of_box = boxes.dim(2), classes = scores.dim(2);
  if (of_box >= 0 && classes >= 0 && of_box != 1 && of_box != classes) {
    return invalid_argument(
        cat("third dimension of boxes must be either 1 or equal to the third dimension of scores, got ", of_box,
            " and ", classes));
  }
  ASSIGN_OR_RETURN(int64_t size, dim_from_scalar(c, 3));
  if (size == 0) return invalid_argument("max_total_size should be > 0");
  ASSIGN_OR_RETURN(const int64_t of_class, dim_from_scalar(c, 2));
  if (c.attrs().flag("pad_per_class")) {
    if (of_class == 0) return invalid_argument("max_output_size_per_class must be > 0 if pad_per_class is set to true");
    const bool known = of_class >= 0 && classes >= 0 && size >= 0;
    size = known ? std::min(size, of_class * classes) : -1;
  }
  const int64_t batch = boxes.dim(0);
  c.set_output(0, Shape{batch, size, 4});
  c.set_output(1, Shape{batch, size});
  c.set_output(2, Shape{batch, size});
  c.set_output(3, Shape{batch});
  return ok_status();
}

/// A box that was chosen for its class.
struct Detection {
  int32_t box = -1;  // there is none
  float score = -1;
  int32_t of_class = -1;
  std::array<float, 4> corners{};
};

/// Of one class in one image: each box is so far from the next, and each score.
struct ClassBoxes {
  const float* corners;
  const float* scores;
  int64_t corners_step, scores_step, count;
  int32_t of_class;
};

struct Suggested {
  int32_t box;
  float score;
  bool operator<(const Suggested& better) const { return score < better.score; }
};

/// Writes to `found` at most `most` boxes, best first. Of equal ones those come first that the C++ library's heap puts
/// there, as in TensorFlow.
void suppress_class(const ClassBoxes& all, float overlap_limit, float score_limit, int64_t most, Detection* found) {
  std::priority_queue<Suggested, ScratchVector<Suggested>> candidates;
  for (int64_t i = 0; i < all.count; ++i) {
    const float score = all.scores[i * all.scores_step];
    if (score > score_limit) candidates.push({static_cast<int32_t>(i), score});
  }
  ScratchVector<ImageBox> chosen;
  for (; static_cast<int64_t>(chosen.size()) < most && !candidates.empty(); candidates.pop()) {
    const Suggested next = candidates.top();
    const float* corners = all.corners + next.box * all.corners_step;
    const ImageBox box = ImageBox::at(corners);
    const bool hidden = std::any_of(chosen.rbegin(), chosen.rend(),
                                    [&](const ImageBox& other) { return overlap(box, other) > overlap_limit; });
    if (hidden) continue;
    found[chosen.size()] = {next.box, next.score, all.of_class, {corners[0], corners[1], corners[2], corners[3]}};
    chosen.push_back(box);
  }
}

struct CombinedLimits {
  int64_t of_class = 0, total = 0;
  float overlap = 0, score = 0;
};

Result<CombinedLimits> combined_limits(const KernelContext& c) {
  constexpr std::string_view kNames[] = {"max_size_per_class", "max_total_size", "iou_threshold", "score_threshold"};
  for (int i = 2; i < 6; ++i) RETURN_IF_ERROR(scalar_limit(c, i, kNames[i - 2]));
  const CombinedLimits limits{*c.in<int32_t>(2), *c.in<int32_t>(3), *c.in<float>(4), *c.in<float>(5)};
  if (limits.of_class <= 0) return invalid_argument(cat("max_size_per_class must be positive, got ", limits.of_class));
  if (limits.total <= 0) return invalid_argument(cat("max_total_size must be > 0, got ", limits.total));
  if (!(limits.overlap >= 0 && limits.overlap <= 1))
    return invalid_argument(cat("iou_threshold must be in [0, 1], got ", limits.overlap));
  return limits;
}

Status check_combined(const Shape& boxes, const Shape& scores) {
  const auto wrong = [&](std::string_view what) {
    return invalid_argument(
        cat(what, ": boxes have shape ", boxes.to_string(), ", scores have shape ", scores.to_string()));
  };
  if (boxes.rank() != 4) return wrong("boxes must be 4-D");
  if (scores.rank() != 3) return wrong("scores must be 3-D");
  if (boxes.dim(0) != scores.dim(0)) return wrong("boxes and scores must have same batch size");
  if (boxes.dim(1) != scores.dim(1)) return wrong("scores has incompatible shape");
  if (boxes.dim(2) != 1 && boxes.dim(2) != scores.dim(2))
    return wrong("third dimension of boxes must be either 1 or num classes");
  if (boxes.dim(3) != 4) return wrong("boxes must have 4 columns");
  if (boxes.dim(1) > INT32_MAX || scores.dim(2) > INT32_MAX) return unimplemented("so many boxes or classes");
  return ok_status();
}

class CombinedSuppression final : public Kernel {
 public:
  explicit CombinedSuppression(const KernelInit& init)
      : pads_(init.attrs.flag("pad_per_class")), clips_(init.attrs.flag("clip_boxes")) {}
  Status run(KernelContext& c) override {
    const Shape &boxes = c.input(0).shape(), &scores = c.input(1).shape();
    ASSIGN_OR_RETURN(const CombinedLimits limits, combined_limits(c));
    RETURN_IF_ERROR(check_combined(boxes, scores));
    const int64_t batch = boxes.dim(0), count = boxes.dim(1), of_box = boxes.dim(2), classes = scores.dim(2);
    const int64_t size =
        pads_ ? std::min(limits.total, std::min<int64_t>(INT32_MAX, limits.of_class * classes)) : limits.total;
    RETURN_IF_ERROR(ensure_output(c, 0, Shape{batch, size, 4}));
    for (const int i : {1, 2}) RETURN_IF_ERROR(ensure_output(c, i, Shape{batch, size}));
    RETURN_IF_ERROR(ensure_output(c, 3, Shape{batch}));
    const int64_t most = std::min(limits.of_class, count);
    c.parallel_for(batch, 50.0 * static_cast<double>(count * classes + size), [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        ScratchVector<Detection> found(static_cast<size_t>(most * classes));
        for (int64_t k = 0; k < classes; ++k) {
          const ClassBoxes all{c.in<float>(0) + (b * count * of_box + (of_box > 1 ? k : 0)) * 4,
                               c.in<float>(1) + b * count * classes + k,
                               of_box * 4,
                               classes,
                               count,
                               static_cast<int32_t>(k)};
          suppress_class(all, limits.overlap, limits.score, most, found.data() + k * most);
        }
        write(c, b, size, found);
      }
    });
    return ok_status();
  }

 private:
  /// The best of all classes; zeros behind them.
  void write(KernelContext& c, int64_t b, int64_t size, ScratchVector<Detection>& found) const {
    std::sort(found.begin(), found.end(), [](const Detection& x, const Detection& y) { return x.score > y.score; });
    const auto there = std::count_if(found.begin(), found.end(), [](const Detection& d) { return d.box >= 0; });
    const int64_t valid = std::min<int64_t>(size, there);
    c.out<int32_t>(3)[b] = static_cast<int32_t>(valid);
    float *corners = c.out<float>(0) + b * size * 4, *scores = c.out<float>(1) + b * size,
          *classes = c.out<float>(2) + b * size;
    for (int64_t i = 0; i < size; ++i) {
      const Detection d = i < valid ? found[static_cast<size_t>(i)] : Detection{-1, 0, 0, {}};
      scores[i] = d.score;
      classes[i] = static_cast<float>(d.of_class);
      for (const float v : d.corners) *corners++ = clips_ ? std::max(std::min(v, 1.0f), 0.0f) : v;
    }
  }

  const bool pads_, clips_;
};

}  // namespace

OpDef combined_non_max_suppression_op() {
  return OpDef("CombinedNonMaxSuppression")
      .doc("Of each image the boxes with the best scores of all classes, without those that overlap a better one.")
      .shape(combined_shape)
      .value_inputs({2, 3})
      .cpu(make<CombinedSuppression>);
}

}  // namespace emplace
