// Candidate samplers: classes drawn beside the true ones, and how often each is to be expected among the drawn
// (sampled_softmax_loss, nce_loss). Streams, trials and expectations are TensorFlow's. ComputeAccidentalHits: which of
// the drawn are true ones.
#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>
#include <unordered_set>

#include "core/base/cat.h"
#include "core/base/scratch_vector.h"
#include "core/op/checkpoint_access.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/random/random_state.h"

namespace emplace {
namespace {

/// Uniform below n; what would favour the low numbers is drawn again.
template <class Word, class Draw>
Word uniform_below(Word n, const Draw& draw) {
  if ((n & (n - 1)) == 0) return draw() & (n - 1);
  const Word unfair = static_cast<Word>(~Word{0} % n + 1);
  Word drawn = draw();
  while (drawn < unfair) drawn = draw();
  return static_cast<Word>(drawn % n);
}
uint64_t next_word64(PhiloxWords& words) {
  const uint64_t low = words.next();
  return low | static_cast<uint64_t>(words.next()) << 32;
}

/// Classes 0 to range - 1, each with a probability.
class Sampler {
 public:
  explicit Sampler(int64_t range) : range_(range) {}
  virtual ~Sampler() = default;

  int64_t range() const { return range_; }
  /// How many different classes it can give.
  virtual int64_t choices() const { return range_; }
  /// Before the first draw; may fail for memory.
  virtual Status begin(KernelContext&) { return ok_status(); }
  virtual int64_t draw(PhiloxWords& words) const = 0;
  virtual float probability(int64_t value) const = 0;
  /// After a step: what it learns from the true classes.
  virtual void learn(const int64_t*, int64_t) {}

 private:
  const int64_t range_;
};

class UniformSampler final : public Sampler {
 public:
  using Sampler::Sampler;
  int64_t draw(PhiloxWords& words) const override {
    return static_cast<int64_t>(uniform_below(static_cast<uint64_t>(range()), [&] { return next_word64(words); }));
  }
  float probability(int64_t) const override { return static_cast<float>(1.0 / static_cast<double>(range())); }
};

/// (log(k + 2) - log(k + 1)) / log(range + 1): frequent classes have low numbers.
class LogUniformSampler final : public Sampler {
 public:
  explicit LogUniformSampler(int64_t range) : Sampler(range), log_(std::log1p(static_cast<double>(range))) {}
  int64_t draw(PhiloxWords& words) const override {
    return (static_cast<int64_t>(std::exp(words.next_double() * log_)) - 1) % range();
  }
  float probability(int64_t value) const override {
    const auto k = static_cast<double>(value);
    return static_cast<float>(std::log((k + 2.0) / (k + 1.0)) / log_);
  }

 private:
  const double log_;
};

/// By how often each class has been true, and once more. Sums of counts stand in a tree (Fenwick, 1994).
class LearnedSampler final : public Sampler {
 public:
  using Sampler::Sampler;
  Status begin(KernelContext& c) override {
    if (range() >= std::numeric_limits<int32_t>::max())
      return invalid_argument(cat("range_max must be less than ", std::numeric_limits<int32_t>::max(),
                                  " for unigram samplers, got ", range()));
    if (tree_.valid()) return ok_status();
    ASSIGN_OR_RETURN(tree_, c.allocate_persistent(DType::kInt32, Shape{range()}));
    for (int64_t i = 1; i <= range(); ++i) at(i) = static_cast<int32_t>(i & -i);
    total_ = static_cast<int32_t>(range());
    return ok_status();
  }
  int64_t draw(PhiloxWords& words) const override {
    auto left = static_cast<int32_t>(uniform_below(static_cast<uint32_t>(total_), [&] { return words.next(); }));
    int64_t before = 0;
    for (int64_t step = int64_t{1} << 31; step > 0; step /= 2) {
      if (before + step > range() || at(before + step) > left) continue;
      before += step;
      left -= at(before);
    }
    return before;
  }
  float probability(int64_t value) const override {
    return static_cast<float>(sum_of(value + 1) - sum_of(value)) / static_cast<float>(total_);
  }
  void learn(const int64_t* values, int64_t n) override {
    n = std::min<int64_t>(n, std::numeric_limits<int32_t>::max() - total_);
    for (int64_t k = 0; k < n; ++k) {
      for (int64_t i = values[k] + 1; i <= range(); i += i & -i) ++at(i);
    }
    total_ += static_cast<int32_t>(n);
  }

 private:
  int32_t& at(int64_t i) { return tree_.data<int32_t>()[i - 1]; }
  int32_t at(int64_t i) const { return tree_.data<int32_t>()[i - 1]; }
  int32_t sum_of(int64_t first) const {
    int32_t sum = 0;
    for (int64_t i = first; i > 0; i -= i & -i) sum += at(i);
    return sum;
  }

  Tensor tree_;
  int32_t total_ = 0;
};

/// By given weights: Walker's method, a class or its alias.
class FixedSampler final : public Sampler {
 public:
  FixedSampler(int64_t range, std::vector<float> weights, float total)
      : Sampler(range), weights_(std::move(weights)), total_(total) {
    make_aliases();
    std::vector<bool> reached(weights_.size());
    for (size_t i = 0; i < weights_.size(); ++i) {
      if (own_[i] > 0) reached[i] = true;
      if (own_[i] < 1 && alias_[i] >= 0) reached[static_cast<size_t>(alias_[i])] = true;
    }
    choices_ = std::count(reached.begin(), reached.end(), true);
  }
  int64_t choices() const override { return choices_; }
  int64_t draw(PhiloxWords& words) const override {
    const float r = uniform_float(words.next());
    const auto i = uniform_below(static_cast<uint32_t>(weights_.size()), [&] { return words.next(); });
    return r < own_[i] ? static_cast<int64_t>(i) : alias_[i];
  }
  float probability(int64_t value) const override {
    return value < 0 || value >= range() ? 0 : weights_[static_cast<size_t>(value)] / total_;
  }

 private:
  void make_aliases() {
    const size_t n = weights_.size();
    double sum = 0;
    for (const float w : weights_) sum += static_cast<double>(w);
    std::vector<double> share(n);
    std::vector<size_t> high, low;
    for (size_t i = 0; i < n; ++i) {
      share[i] = static_cast<double>(weights_[i] * static_cast<float>(n)) / sum;
      (share[i] < 1 ? low : high).push_back(i);
    }
    alias_.assign(n, -1);
    while (!high.empty() && !low.empty()) {
      const size_t l = low.back(), h = high.back();
      low.pop_back();
      high.pop_back();
      alias_[l] = static_cast<int64_t>(h);
      share[h] -= 1 - share[l];
      (share[h] < 1 ? low : high).push_back(h);
    }
    for (const auto* rest : {&high, &low}) {
      for (const size_t i : *rest) share[i] = 1, alias_[i] = static_cast<int64_t>(i);
    }
    for (const double s : share) own_.push_back(static_cast<float>(s));
  }

  const std::vector<float> weights_;
  const float total_;
  std::vector<float> own_;
  std::vector<int64_t> alias_;
  int64_t choices_ = 0;
};

/// Drawn `trials` times to get `drawn` classes: how often one of that probability is to be expected among them.
float expected_count(float p, int64_t drawn, int64_t trials) {
  if (trials == drawn) return p * static_cast<float>(drawn);
  return -std::expm1(static_cast<float>(trials) * std::log1p(-p));
}

Status candidates_shape(ShapeContext& c) {
  const int64_t drawn = c.attrs().integer("num_sampled");
  ASSIGN_OR_RETURN(const Shape classes, c.with_rank(0, 2));
  c.set_output(0, Shape{drawn});
  c.set_output(1, Shape{classes.dim(0), c.attrs().integer("num_true")});
  c.set_output(2, Shape{drawn});
  return ok_status();
}

/// What every sampler's kernel has: attrs, checks, the stream.
class CandidateKernel : public Kernel {
 public:
  explicit CandidateKernel(const KernelInit& init)
      : state_(init),
        num_true_(init.attrs.integer("num_true")),
        num_sampled_(init.attrs.integer("num_sampled")),
        unique_(init.attrs.flag("unique")) {}

 protected:
  /// Checks the true classes, which have to be below `range`, and gives the outputs their storage.
  Status begin(KernelContext& c, int64_t range) const {
    const Shape& shape = c.input(0).shape();
    if (shape.rank() != 2) return invalid_argument(cat("true_classes must be a matrix, is ", shape.to_string()));
    if (shape.dim(1) != num_true_)
      return invalid_argument(
          cat("true_classes must have num_true columns, expected: ", num_true_, " was: ", shape.dim(1)));
    if (unique_ && num_sampled_ > range)
      return invalid_argument(cat("Sampler's range is too small: ", num_sampled_, " different classes of ", range));
    for (int64_t i = 0; i < c.input(0).num_elements(); ++i) {
      const int64_t value = c.in<int64_t>(0)[i];
      if (value < 0 || value >= range)
        return invalid_argument(cat("`true_candidate` out of range [0, ", range, "), received ", value));
    }
    RETURN_IF_ERROR(ensure_output(c, 0, Shape{num_sampled_}));
    RETURN_IF_ERROR(ensure_output(c, 1, Shape{shape.dim(0), num_true_}));
    return ensure_output(c, 2, Shape{num_sampled_});
  }

  Status draw(KernelContext& c, Sampler& sampler) {
    RETURN_IF_ERROR(sampler.begin(c));
    RETURN_IF_ERROR(begin(c, sampler.range()));
    if (unique_ && num_sampled_ > sampler.choices())
      return invalid_argument(cat("Sampler's range is too small: only ", sampler.choices(),
                                  " classes have a weight, of which ", num_sampled_, " different ones are asked for"));
    constexpr uint64_t kBlocksPerCandidate = 512;
    const PhiloxStream stream = state_.reserve(kBlocksPerCandidate * static_cast<uint64_t>(num_sampled_));
    PhiloxWords words(stream, 0);
    int64_t* candidates = c.out<int64_t>(0);
    const int64_t trials = unique_ ? draw_different(sampler, words, candidates) : num_sampled_;
    for (int64_t i = 0; !unique_ && i < num_sampled_; ++i) candidates[i] = sampler.draw(words);
    const auto expect = [&](const int64_t* values, float* counts, int64_t n) {
      for (int64_t i = 0; i < n; ++i) counts[i] = expected_count(sampler.probability(values[i]), num_sampled_, trials);
    };
    expect(candidates, c.out<float>(2), num_sampled_);
    expect(c.in<int64_t>(0), c.out<float>(1), c.input(0).num_elements());
    sampler.learn(c.in<int64_t>(0), c.input(0).num_elements());
    return ok_status();
  }

  int64_t num_sampled() const { return num_sampled_; }

 private:
  int64_t draw_different(const Sampler& sampler, PhiloxWords& words, int64_t* candidates) const {
    std::unordered_set<int64_t> used;
    int64_t trials = 0;
    for (int64_t found = 0; found < num_sampled_; ++trials) {
      const int64_t value = sampler.draw(words);
      if (used.insert(value).second) candidates[found++] = value;
    }
    return trials;
  }

  RandomState state_;
  const int64_t num_true_, num_sampled_;
  const bool unique_;
};

template <class S>
class RangeCandidates final : public CandidateKernel {
 public:
  explicit RangeCandidates(const KernelInit& init) : CandidateKernel(init), sampler_(init.attrs.integer("range_max")) {}
  Status run(KernelContext& c) override { return draw(c, sampler_); }

 private:
  S sampler_;
};

/// Every class once.
class AllCandidates final : public CandidateKernel {
 public:
  using CandidateKernel::CandidateKernel;
  Status run(KernelContext& c) override {
    RETURN_IF_ERROR(begin(c, num_sampled()));
    for (int64_t i = 0; i < num_sampled(); ++i) c.out<int64_t>(0)[i] = i;
    std::fill_n(c.out<float>(1), c.output(1).num_elements(), 1.0f);
    std::fill_n(c.out<float>(2), num_sampled(), 1.0f);
    return ok_status();
  }
};

class FixedCandidates final : public CandidateKernel {
 public:
  explicit FixedCandidates(const KernelInit& init)
      : CandidateKernel(init),
        range_(init.attrs.integer("range_max")),
        reserved_(init.attrs.integer("num_reserved_ids")),
        shards_(init.attrs.integer("num_shards")),
        shard_(init.attrs.integer("shard")),
        distortion_(init.attrs.number("distortion")),
        file_(init.attrs.text("vocab_file")),
        unigrams_(init.attrs.numbers("unigrams")),
        access_(init.checkpoints) {}

  Status run(KernelContext& c) override {
    if (!sampler_) RETURN_IF_ERROR(make_sampler());
    return draw(c, *sampler_);
  }

 private:
  Status make_sampler() {
    if (file_.empty() && unigrams_.empty()) return invalid_argument("Must provide either vocab_file or unigrams.");
    if (!file_.empty() && !unigrams_.empty())
      return invalid_argument("Must only provide one of vocab_file and unigrams.");
    if (reserved_ > range_)
      return invalid_argument(cat("num_reserved_ids ", reserved_, " is more than range_max ", range_));
    int64_t id = 0;
    float total = 0;
    std::vector<float> weights;
    for (; id < reserved_; ++id) {
      if (id % shards_ == shard_) weights.push_back(0);
    }
    id = static_cast<int64_t>(weights.size());
    const auto add = [&](float w) {
      if (id++ % shards_ != shard_) return;
      weights.push_back(std::pow(w, distortion_));
      total += weights.back();
    };
    if (file_.empty()) {
      for (const float w : unigrams_) add(w);
    } else {
      if (!access_) return failed_precondition("no file can be read here");
      ASSIGN_OR_RETURN(const std::string text, access_->read_file(file_));
      RETURN_IF_ERROR(read_weights(text, [&](float w) { add(w); }));
    }
    if (range_ != static_cast<int64_t>(weights.size()))
      return invalid_argument(cat("range is ", range_, " must be equal to weights size  ", weights.size()));
    sampler_ = std::make_unique<FixedSampler>(range_, std::move(weights), total);
    return ok_status();
  }

  /// The last column of each line, which commas part.
  template <class F>
  static Status read_weights(std::string_view text, const F& add) {
    while (!text.empty()) {
      const size_t end = std::min(text.find('\n'), text.size());
      const std::string line(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
      const char* column = line.c_str() + line.rfind(',') + 1;
      char* stop = nullptr;
      const float w = std::strtof(column, &stop);
      while (*stop == ' ' || *stop == '\r' || *stop == '\t') ++stop;
      if (stop == column || *stop != '\0') return invalid_argument(cat("Wrong vocabulary format at line: ", line));
      add(w);
    }
    return ok_status();
  }

  const int64_t range_, reserved_, shards_, shard_;
  const float distortion_;
  const std::string file_;
  const std::vector<float> unigrams_;
  CheckpointAccess* const access_;
  std::unique_ptr<FixedSampler> sampler_;
};

Status accidental_hits_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Shape classes, c.with_rank(0, 2));
  RETURN_IF_ERROR(require_dim(classes.dim(1), c.attrs().integer("num_true")).take_status());
  RETURN_IF_ERROR(c.with_rank(1, 1).take_status());
  for (int i = 0; i < 3; ++i) c.set_output(i, Shape{-1});
  return ok_status();
}

Status accidental_hits_cpu(KernelContext& c) {
  const Tensor &classes = c.input(0), &drawn = c.input(1);
  std::unordered_map<int64_t, int64_t> places;
  for (int64_t i = 0; i < drawn.num_elements(); ++i) places[drawn.data<int64_t>()[i]] = i;
  ScratchVector<int64_t> rows, ids;
  for (int64_t i = 0; i < classes.num_elements(); ++i) {
    const auto found = places.find(classes.data<int64_t>()[i]);
    if (found == places.end()) continue;
    rows.push_back(i / classes.shape().dim(1));
    ids.push_back(found->second);
  }
  for (int i = 0; i < 3; ++i) RETURN_IF_ERROR(ensure_output(c, i, Shape{static_cast<int64_t>(ids.size())}));
  for (size_t i = 0; i < ids.size(); ++i) {
    c.out<int32_t>(0)[i] = static_cast<int32_t>(rows[i]);
    c.out<int64_t>(1)[i] = ids[i];
    c.out<float>(2)[i] = std::numeric_limits<float>::lowest();
  }
  return ok_status();
}

/// `learns`: it has more state than its place in a row of random numbers.
OpDef candidates(std::string_view name, std::string_view doc, bool learns = false) {
  return OpDef(name).doc(doc).traits({.random = !learns}).shape(candidates_shape);
}

}  // namespace

OpDef uniform_candidate_sampler_op() {
  return candidates("UniformCandidateSampler", "Classes drawn with equal probabilities.")
      .cpu(make<RangeCandidates<UniformSampler>>);
}
OpDef log_uniform_candidate_sampler_op() {
  return candidates("LogUniformCandidateSampler", "Classes drawn as words of a text occur: the lower, the more often.")
      .cpu(make<RangeCandidates<LogUniformSampler>>);
}
OpDef learned_unigram_candidate_sampler_op() {
  return candidates("LearnedUnigramCandidateSampler", "Classes drawn as often as they have been true before.", true)
      .cpu(make<RangeCandidates<LearnedSampler>>);
}
OpDef thread_unsafe_unigram_candidate_sampler_op() {
  return candidates("ThreadUnsafeUnigramCandidateSampler", "Classes drawn as often as they have been true before.",
                    true)
      .cpu(make<RangeCandidates<LearnedSampler>>);
}
OpDef fixed_unigram_candidate_sampler_op() {
  return candidates("FixedUnigramCandidateSampler", "Classes drawn by given weights.").cpu(make<FixedCandidates>);
}
OpDef all_candidate_sampler_op() { return candidates("AllCandidateSampler", "All classes.").cpu(make<AllCandidates>); }
OpDef compute_accidental_hits_op() {
  return OpDef("ComputeAccidentalHits")
      .doc("Which of the drawn classes are true ones of a row: the row, the place, and a weight that leaves it out.")
      .shape(accidental_hits_shape)
      .cpu(stateless<accidental_hits_cpu>);
}

}  // namespace emplace
