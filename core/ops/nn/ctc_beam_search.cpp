// CTCBeamSearchDecoder: the most likely texts of classes, found among as many as the beam is wide.
#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <map>
#include <vector>

#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/nn/ctc_inputs.h"

namespace emplace {
namespace {

Status beam_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Shape inputs, c.with_rank(0, 3));
  ASSIGN_OR_RETURN(const Shape lengths, c.with_rank(1, 1));
  ASSIGN_OR_RETURN(const int64_t batch, ShapeContext::merge_dim(dim_or_unknown(inputs, 1), dim_or_unknown(lengths, 0)));
  const auto paths = static_cast<int>(c.attrs().integer("top_paths"));
  for (int i = 0; i < paths; ++i) {
    c.set_output(i, Shape{-1, 2});
    c.set_output(paths + i, Shape{-1});
    c.set_output(2 * paths + i, Shape{2});
  }
  c.set_output(3 * paths, Shape{batch, paths});
  return ok_status();
}

template <class T>
constexpr T kNever = -std::numeric_limits<T>::infinity();

// log(exp(a) + exp(b))
template <class T>
T sum_of_logs(T a, T b) {
  if (a == kNever<T>) return b;
  if (b == kNever<T>) return a;
  return a > b ? a + std::log1p(std::exp(b - a)) : b + std::log1p(std::exp(a - b));
}

/// Logarithms of how likely a text is: in all, ending in a blank, ending in its last class.
template <class T>
struct Likely {
  T total = kNever<T>, blank = kNever<T>, label = kNever<T>;
};

/// A text: another one and one class more.
template <class T>
struct Prefix {
  Prefix* parent;
  int label;
  std::map<int, Prefix*> longer;
  Likely<T> before, now;

  bool active() const { return now.total != kNever<T>; }
  std::vector<int64_t> text(bool merges) const {
    std::vector<int64_t> labels;
    int last = -1;
    for (const Prefix* p = this; p->parent; p = p->parent) {
      if (!merges || p->label != last) labels.push_back(p->label);
      last = p->label;
    }
    std::reverse(labels.begin(), labels.end());
    return labels;
  }
};

/// The likeliest texts of one sequence, step by step.
template <class T>
class Beam {
 public:
  explicit Beam(int64_t width) : width_(static_cast<size_t>(width)) {
    Prefix<T>* root = add(nullptr, -1);
    root->now.total = root->now.blank = 0;
    leaves_.push_back(root);
  }

  // The last of `classes` is the blank.
  void step(const T* row, int classes) {
    std::vector<Prefix<T>*> branches;
    branches.swap(leaves_);
    const T most = *std::max_element(row, row + classes);
    T sum = 0;
    for (int i = 0; i < classes; ++i) sum += std::exp(row[i] - most);
    const T norm = most + std::log(sum);  // what makes logits logarithms of probabilities
    for (Prefix<T>* b : branches) b->before = b->now;
    for (Prefix<T>* b : branches) stay(*b, row, classes, norm);
    for (Prefix<T>* b : branches) grow(*b, row, classes, norm);
  }
  // In order, the likeliest first.
  const std::vector<Prefix<T>*>& leaves() const { return leaves_; }

 private:
  Prefix<T>* add(Prefix<T>* parent, int label) {
    all_.push_back({parent, label, {}, {}, {}});
    return &all_.back();
  }

  // Nothing new is heard: the last class goes on, or a blank.
  void stay(Prefix<T>& b, const T* row, int classes, T norm) {
    if (b.parent) {
      if (b.parent->active()) {
        const bool same = b.label == b.parent->label;
        b.now.label = sum_of_logs(b.now.label, same ? b.parent->before.blank : b.parent->before.total);
      }
      b.now.label += row[b.label] - norm;
    }
    b.now.blank = b.before.total + row[classes - 1] - norm;
    b.now.total = sum_of_logs(b.now.blank, b.now.label);
    push(&b);
  }

  // The texts that are one class longer, where they are likelier than what the beam holds.
  void grow(Prefix<T>& b, const T* row, int classes, T norm) {
    if (!is_candidate(b.before)) return;
    for (int label = 0; label + 1 < classes; ++label) {
      Prefix<T>*& longer = b.longer[label];
      if (!longer) longer = add(&b, label);
      Prefix<T>& c = *longer;
      if (c.active()) continue;
      c.now.blank = kNever<T>;
      c.now.label = row[label] - norm + (label == b.label ? b.before.blank : b.before.total);
      c.now.total = c.now.label;
      if (!is_candidate(c.now)) {
        c.before = c.now = {};
        continue;
      }
      if (leaves_.size() == width_) leaves_.back()->now = {};
      push(&c);
    }
  }

  bool is_candidate(const Likely<T>& p) const {
    return p.total > kNever<T> && (leaves_.size() < width_ || p.total > leaves_.back()->now.total);
  }
  // A text that has just left the beam is as unlikely as can be, and so the last one.
  void push(Prefix<T>* b) {
    if (leaves_.size() == width_) leaves_.pop_back();
    const auto less = [](const Prefix<T>* x, const Prefix<T>* y) { return x->now.total > y->now.total; };
    leaves_.insert(std::upper_bound(leaves_.begin(), leaves_.end(), b, less), b);
  }

  size_t width_;
  std::deque<Prefix<T>> all_;
  std::vector<Prefix<T>*> leaves_;
};

template <class T>
class CtcBeamSearch final : public Kernel {
 public:
  explicit CtcBeamSearch(const KernelInit& init)
      : width_(init.attrs.integer("beam_width")),
        paths_(init.attrs.integer("top_paths")),
        merges_(init.attrs.flag("merge_repeated")) {}

  Status run(KernelContext& c) override {
    RETURN_IF_ERROR(check(c));
    const Shape& in = c.input(0).shape();
    const int64_t batch = in.dim(1), classes = in.dim(2);
    RETURN_IF_ERROR(ensure_output(c, static_cast<int>(3 * paths_), Shape{batch, paths_}));
    std::vector<std::vector<std::vector<int64_t>>> found(static_cast<size_t>(paths_));
    for (int64_t b = 0; b < batch; ++b) {
      Beam<T> beam(width_);
      for (int64_t t = 0; t < c.in<int32_t>(1)[b]; ++t)
        beam.step(c.in<T>(0) + (t * batch + b) * classes, static_cast<int>(classes));
      if (static_cast<int64_t>(beam.leaves().size()) < paths_)
        return invalid_argument("Less leaves in the beam search than requested.");
      for (int64_t i = 0; i < paths_; ++i) {
        const Prefix<T>& p = *beam.leaves()[static_cast<size_t>(i)];
        found[static_cast<size_t>(i)].push_back(p.text(merges_));
        c.out<T>(static_cast<int>(3 * paths_))[b * paths_ + i] = p.now.total;
      }
    }
    for (int i = 0; i < paths_; ++i) RETURN_IF_ERROR(store(c, i, found[static_cast<size_t>(i)]));
    return ok_status();
  }

 private:
  Status check(const KernelContext& c) const {
    RETURN_IF_ERROR(check_ctc_inputs(c));
    if (paths_ > width_) return invalid_argument("requested more paths than the beam width.");
    return ok_status();
  }

  // Path `i` of every sequence as a sparse matrix.
  Status store(KernelContext& c, int i, const std::vector<std::vector<int64_t>>& texts) const {
    const auto paths = static_cast<int>(paths_);
    int64_t count = 0, longest = 0;
    for (const auto& text : texts) {
      count += static_cast<int64_t>(text.size());
      longest = std::max(longest, static_cast<int64_t>(text.size()));
    }
    RETURN_IF_ERROR(ensure_output(c, i, Shape{count, 2}));
    RETURN_IF_ERROR(ensure_output(c, paths + i, Shape{count}));
    RETURN_IF_ERROR(ensure_output(c, 2 * paths + i, Shape{2}));
    int64_t *places = c.out<int64_t>(i), *values = c.out<int64_t>(paths + i);
    for (size_t b = 0; b < texts.size(); ++b) {
      for (size_t t = 0; t < texts[b].size(); ++t) {
        *places++ = static_cast<int64_t>(b);
        *places++ = static_cast<int64_t>(t);
        *values++ = texts[b][t];
      }
    }
    c.out<int64_t>(2 * paths + i)[0] = static_cast<int64_t>(texts.size());
    c.out<int64_t>(2 * paths + i)[1] = longest;
    return ok_status();
  }

  int64_t width_, paths_;
  bool merges_;
};

}  // namespace

OpDef ctc_beam_search_decoder_op() {
  return OpDef("CTCBeamSearchDecoder")
      .doc("Decodes logits [time, batch, classes] by a beam of likely texts, as sparse matrices, the best ones first.")
      .shape(beam_shape)
      .cpu<float>(make<CtcBeamSearch<float>>)
      .cpu<double>(make<CtcBeamSearch<double>>)
      .not_differentiable();
}

}  // namespace emplace
