// NonMaxSuppression and its versions 2 to 5: of boxes that overlap, the one with the best score.
#include <algorithm>
#include <cmath>
#include <optional>
#include <queue>

#include "core/base/cat.h"
#include "core/base/scratch_vector.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/finite.h"
#include "core/ops/kit/shape_math.h"

namespace emplace {
namespace {

/// Corners in any order; no area: overlaps nothing. As Eigen's mini and maxi: the first of two where one is no number.
struct Box {
  float top, left, bottom, right;

  template <class T>
  static Box at(const T* p) {
    const auto a = static_cast<float>(p[0]), b = static_cast<float>(p[1]), c = static_cast<float>(p[2]),
               d = static_cast<float>(p[3]);
    return {std::min(a, c), std::min(b, d), std::max(a, c), std::max(b, d)};
  }
  float area() const { return (bottom - top) * (right - left); }
};

/// Intersection over union.
float overlap(const Box& a, const Box& b) {
  const float area_a = a.area(), area_b = b.area();
  if (area_a <= 0 || area_b <= 0) return 0;
  const float height = std::max(std::min(a.bottom, b.bottom) - std::max(a.top, b.top), 0.0f);
  const float width = std::max(std::min(a.right, b.right) - std::max(a.left, b.left), 0.0f);
  const float common = height * width;
  return common / (area_a + area_b - common);
}

/// Numbers of type T, as floats that hold nothing else.
template <class T>
float rounded(float x) {
  return static_cast<float>(T(x));
}

template <class T>
struct Suppression {
  float overlap_limit = 0.5f, score_limit = static_cast<float>(Finite<T>::lowest()), sigma = 0;
  int64_t most = 0;

  bool soft() const { return sigma > 0; }
  /// By which a score is multiplied for another, chosen box with this overlap.
  float weight(float similarity) const {
    if (!soft() && !(similarity <= overlap_limit)) return 0;
    const float scale = soft() ? rounded<T>(-0.5f / sigma) : 0;
    return rounded<T>(std::exp(rounded<T>(rounded<T>(scale * similarity) * similarity)));
  }
};

struct Candidate {
  int32_t box;
  float score;
  int32_t compared;  // with that many of the chosen ones

  /// Is `other` better?
  bool operator<(const Candidate& other) const {
    return score < other.score || (score == other.score && box > other.box);
  }
};

struct Chosen {
  ScratchVector<int32_t> boxes;
  ScratchVector<float> scores;
};

/// The candidate's score goes down by what it overlaps of what was chosen since it was compared. False: it is out.
template <class T>
bool compare(Candidate& candidate, const Chosen& chosen, const ScratchVector<Box>& boxes, const Suppression<T>& how) {
  for (auto i = static_cast<int32_t>(chosen.boxes.size()) - 1; i >= candidate.compared; --i) {
    const Box& other = boxes[static_cast<size_t>(chosen.boxes[static_cast<size_t>(i)])];
    const float similarity = rounded<T>(overlap(boxes[static_cast<size_t>(candidate.box)], other));
    candidate.score = rounded<T>(candidate.score * how.weight(similarity));
    if (!how.soft() && similarity > how.overlap_limit) return false;
    if (candidate.score <= how.score_limit) break;
  }
  candidate.compared = static_cast<int32_t>(chosen.boxes.size());
  return true;
}

template <class T>
Chosen choose_boxes(const T* corners, const T* scores, int64_t count, const Suppression<T>& how) {
  ScratchVector<Box> boxes;
  boxes.reserve(static_cast<size_t>(count));
  std::priority_queue<Candidate, ScratchVector<Candidate>> candidates;
  for (int64_t i = 0; i < count; ++i) {
    boxes.push_back(Box::at(corners + 4 * i));
    const auto score = static_cast<float>(scores[i]);
    if (score > how.score_limit) candidates.push({static_cast<int32_t>(i), score, 0});
  }
  Chosen chosen;
  while (static_cast<int64_t>(chosen.boxes.size()) < how.most && !candidates.empty()) {
    Candidate next = candidates.top();
    candidates.pop();
    const float before = next.score;
    if (!compare(next, chosen, boxes, how)) continue;
    if (next.score == before) {
      chosen.boxes.push_back(next.box);
      chosen.scores.push_back(next.score);
    } else if (next.score > how.score_limit) {
      candidates.push(next);
    }
  }
  return chosen;
}

Status scalar_input(const KernelContext& c, int i, std::string_view name) {
  if (c.input(i).shape().rank() == 0) return ok_status();
  return invalid_argument(cat(name, " must be 0-D, got shape ", c.input(i).shape().to_string()));
}

float scalar_number(const Tensor& t) {
  return t.dtype() == DType::kHalf ? static_cast<float>(*t.data<half>()) : *t.data<float>();
}

Status check_boxes(const Shape& boxes, const Shape& scores) {
  if (boxes.rank() != 2) {
    return invalid_argument(
        cat("boxes must be 2-D", boxes.to_string(), " (Shape must be rank 2 but is rank ", boxes.rank(), ")"));
  }
  if (boxes.dim(1) != 4)
    return invalid_argument(cat("boxes must have 4 columns (Dimension must be 4 but is ", boxes.dim(1), ")"));
  if (scores.rank() != 1) {
    return invalid_argument(
        cat("scores must be 1-D", scores.to_string(), " (Shape must be rank 1 but is rank ", scores.rank(), ")"));
  }
  if (scores.dim(0) != boxes.dim(0)) {
    return invalid_argument(cat("scores has incompatible shape (Dimensions must be equal, but are ", boxes.dim(0),
                                " and ", scores.dim(0), ")"));
  }
  if (boxes.dim(0) > INT32_MAX) return unimplemented(cat("non-maximum suppression of ", boxes.dim(0), " boxes"));
  return ok_status();
}

template <class T>
class NonMaxSuppression final : public Kernel {
 public:
  explicit NonMaxSuppression(const KernelInit& init) {
    if (init.attrs.find("iou_threshold")) overlap_limit_ = init.attrs.number("iou_threshold");
    pads_ = init.attrs.find("pad_to_max_output_size") && init.attrs.flag("pad_to_max_output_size");
  }

  Status run(KernelContext& c) override {
    ASSIGN_OR_RETURN(const Suppression<T> how, suppression(c));
    RETURN_IF_ERROR(check_boxes(c.input(0).shape(), c.input(1).shape()));
    if (how.most < 0) return invalid_argument("output size must be non-negative");
    Chosen chosen = choose_boxes(c.in<T>(0), c.in<T>(1), c.input(1).num_elements(), how);
    const auto valid = static_cast<int32_t>(chosen.boxes.size());
    const int64_t size = pads_ ? how.most : valid;
    RETURN_IF_ERROR(ensure_output(c, 0, Shape{size}));
    std::fill(std::copy(chosen.boxes.begin(), chosen.boxes.end(), c.out<int32_t>(0)), c.out<int32_t>(0) + size, 0);
    const int last = c.num_outputs() - 1;
    if (last == 2) {
      RETURN_IF_ERROR(ensure_output(c, 1, Shape{size}));
      T* scores = c.out<T>(1);
      std::fill(std::transform(chosen.scores.begin(), chosen.scores.end(), scores, [](float x) { return T(x); }),
                scores + size, T(0.0f));
    }
    if (last > 0) *c.out<int32_t>(last) = valid;
    return ok_status();
  }

 private:
  Result<Suppression<T>> suppression(const KernelContext& c) const {
    Suppression<T> how;
    RETURN_IF_ERROR(scalar_input(c, 2, "max_output_size"));
    how.most = *c.in<int32_t>(2);
    how.overlap_limit = overlap_limit_;
    if (c.num_inputs() > 3) {
      RETURN_IF_ERROR(scalar_input(c, 3, "iou_threshold"));
      how.overlap_limit = rounded<T>(scalar_number(c.input(3)));
    }
    if (!(how.overlap_limit >= 0 && how.overlap_limit <= 1)) return invalid_argument("iou_threshold must be in [0, 1]");
    if (c.num_inputs() > 4) {
      RETURN_IF_ERROR(scalar_input(c, 4, "score_threshold"));
      how.score_limit = rounded<T>(scalar_number(c.input(4)));
    }
    if (c.num_inputs() > 5) {
      RETURN_IF_ERROR(scalar_input(c, 5, "soft_nms_sigma"));
      how.sigma = scalar_number(c.input(5));
      if (!(how.sigma >= 0)) return invalid_argument("soft_nms_sigma_val must be >= 0");
    }
    return how;
  }

  float overlap_limit_ = 0.5f;
  bool pads_ = false;
};

Status suppression_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Shape boxes, c.with_rank(0, 2));
  ASSIGN_OR_RETURN(const Shape scores, c.with_rank(1, 1));
  for (int i = 2; i < c.num_inputs(); ++i) RETURN_IF_ERROR(c.with_rank(i, 0).take_status());
  RETURN_IF_ERROR(ShapeContext::merge_dim(boxes.dim(0), scores.dim(0)).take_status());
  RETURN_IF_ERROR(require_dim(boxes.dim(1), 4).take_status());
  int64_t size = -1;
  if (c.attrs().find("pad_to_max_output_size") && c.attrs().flag("pad_to_max_output_size")) {
    ASSIGN_OR_RETURN(size, dim_from_scalar(c, 2));
  }
  c.set_output(0, Shape{size});
  if (c.num_outputs() == 3) c.set_output(1, Shape{size});
  if (c.num_outputs() > 1) c.set_output(c.num_outputs() - 1, Shape{});
  return ok_status();
}

OpDef suppression(std::string_view name, std::string_view doc) {
  return OpDef(name)
      .doc(doc)
      .shape(suppression_shape)
      .cpu<float>(make<NonMaxSuppression<float>>)
      .cpu<half>(make<NonMaxSuppression<half>>);
}

}  // namespace

OpDef non_max_suppression_op() {
  return OpDef("NonMaxSuppression")
      .doc("The boxes with the best scores, best first, without those that overlap a better one by more than a limit.")
      .shape(suppression_shape)
      .cpu(make<NonMaxSuppression<float>>)
      .not_differentiable();
}
OpDef non_max_suppression_v2_op() {
  return suppression("NonMaxSuppressionV2", "NonMaxSuppression, the limit being an input.").not_differentiable();
}
OpDef non_max_suppression_v3_op() {
  return suppression("NonMaxSuppressionV3", "NonMaxSuppressionV2 of the boxes whose score is above a limit.");
}
OpDef non_max_suppression_v4_op() {
  return suppression("NonMaxSuppressionV4",
                     "NonMaxSuppressionV3, and how many there are; zeros behind them if asked for.")
      .value_inputs({2});
}
OpDef non_max_suppression_v5_op() {
  return suppression("NonMaxSuppressionV5",
                     "NonMaxSuppressionV4, and the scores; overlaps may lower a score instead (soft suppression).")
      .value_inputs({2});
}

}  // namespace emplace
