// NonMaxSuppression, its versions 2 to 5 and NonMaxSuppressionWithOverlaps: of boxes that overlap, the one with the
// best score.
#include <algorithm>
#include <cmath>
#include <optional>
#include <queue>

#include "core/base/scratch_vector.h"
#include "core/op/op_def.h"
#include "core/ops/image/boxes.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/shape_math.h"

namespace emplace {
namespace {

template <class T>
struct Suppression : SuppressionLimits {
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
/// `overlap_of` tells of two boxes, by their numbers.
template <class T>
bool compare(Candidate& candidate, const Chosen& chosen, const auto& overlap_of, const Suppression<T>& how) {
  for (auto i = static_cast<int32_t>(chosen.boxes.size()) - 1; i >= candidate.compared; --i) {
    const float similarity = rounded<T>(overlap_of(candidate.box, chosen.boxes[static_cast<size_t>(i)]));
    candidate.score = rounded<T>(candidate.score * how.weight(similarity));
    if (!how.soft() && similarity > how.overlap_limit) return false;
    if (candidate.score <= how.score_limit) break;
  }
  candidate.compared = static_cast<int32_t>(chosen.boxes.size());
  return true;
}

template <class T>
Chosen choose(const T* scores, int64_t count, const Suppression<T>& how, const auto& overlap_of) {
  std::priority_queue<Candidate, ScratchVector<Candidate>> candidates;
  for (int64_t i = 0; i < count; ++i) {
    const auto score = static_cast<float>(scores[i]);
    if (score > how.score_limit) candidates.push({static_cast<int32_t>(i), score, 0});
  }
  Chosen chosen;
  while (static_cast<int64_t>(chosen.boxes.size()) < how.most && !candidates.empty()) {
    Candidate next = candidates.top();
    candidates.pop();
    const float before = next.score;
    if (!compare(next, chosen, overlap_of, how)) continue;
    if (next.score == before) {
      chosen.boxes.push_back(next.box);
      chosen.scores.push_back(next.score);
    } else if (next.score > how.score_limit) {
      candidates.push(next);
    }
  }
  return chosen;
}

template <class T>
Chosen choose_boxes(const T* corners, const T* scores, int64_t count, const Suppression<T>& how) {
  ScratchVector<ImageBox> boxes;
  boxes.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) boxes.push_back(ImageBox::at(corners + 4 * i));
  return choose(scores, count, how, [&](int32_t a, int32_t b) {
    return overlap(boxes[static_cast<size_t>(a)], boxes[static_cast<size_t>(b)]);
  });
}

template <class T>
class NonMaxSuppression final : public Kernel {
 public:
  explicit NonMaxSuppression(const KernelInit& init) {
    if (init.attrs.find("iou_threshold")) overlap_limit_ = init.attrs.number("iou_threshold");
    pads_ = init.attrs.find("pad_to_max_output_size") && init.attrs.flag("pad_to_max_output_size");
  }

  Status run(KernelContext& c) override {
    ASSIGN_OR_RETURN(const SuppressionLimits limits, suppression_limits<T>(c, overlap_limit_));
    const Suppression<T> how{limits};
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
  float overlap_limit_ = 0.5f;
  bool pads_ = false;
};

Status suppress_by_overlaps(KernelContext& c) {
  const Shape &overlaps = c.input(0).shape(), &scores = c.input(1).shape();
  constexpr std::string_view kNames[] = {"max_output_size", "overlap_threshold", "score_threshold"};
  for (int i = 2; i < 5; ++i) RETURN_IF_ERROR(scalar_limit(c, i, kNames[i - 2]));
  if (overlaps.rank() != 2 || overlaps.dim(0) != overlaps.dim(1))
    return invalid_argument(cat("overlaps must be square, got shape ", overlaps.to_string()));
  if (scores.rank() != 1 || scores.dim(0) != overlaps.dim(0)) {
    return invalid_argument(cat("scores has incompatible shape ", scores.to_string(), ", wanted is one for each of ",
                                overlaps.dim(0), " boxes"));
  }
  const int64_t count = overlaps.dim(0);
  if (count > INT32_MAX) return unimplemented(cat("non-maximum suppression of ", count, " boxes"));
  const Suppression<float> how{{*c.in<float>(3), *c.in<float>(4), 0, *c.in<int32_t>(2)}};
  if (how.most < 0) return invalid_argument(cat("output size must be non-negative, got ", how.most));
  const float* of_pairs = c.in<float>(0);
  const Chosen chosen =
      choose(c.in<float>(1), count, how, [&](int32_t a, int32_t b) { return of_pairs[a * count + b]; });
  RETURN_IF_ERROR(ensure_output(c, 0, Shape{static_cast<int64_t>(chosen.boxes.size())}));
  std::copy(chosen.boxes.begin(), chosen.boxes.end(), c.out<int32_t>(0));
  return ok_status();
}

Status overlaps_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Shape overlaps, c.with_rank(0, 2));
  ASSIGN_OR_RETURN(const Shape scores, c.with_rank(1, 1));
  for (int i = 2; i < c.num_inputs(); ++i) RETURN_IF_ERROR(c.with_rank(i, 0).take_status());
  RETURN_IF_ERROR(ShapeContext::merge_dim(overlaps.dim(0), scores.dim(0)).take_status());
  RETURN_IF_ERROR(ShapeContext::merge_dim(overlaps.dim(0), overlaps.dim(1)).take_status());
  c.set_output(0, Shape{-1});
  return ok_status();
}

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
OpDef non_max_suppression_with_overlaps_op() {
  return OpDef("NonMaxSuppressionWithOverlaps")
      .doc("NonMaxSuppressionV3 of boxes of which only the overlaps are known.")
      .shape(overlaps_shape)
      .cpu(stateless<suppress_by_overlaps>)
      .not_differentiable();
}

}  // namespace emplace
