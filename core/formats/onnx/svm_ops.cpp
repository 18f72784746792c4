// Part of core/formats/onnx/op_table.h: support vector machines of ai.onnx.ml. ONNX leaves open what two classes, votes
// and probabilities are: this is what ONNX Runtime does, which is LIBSVM's way.
#include <algorithm>

#include "core/base/cat.h"
#include "core/formats/onnx/learning.h"
#include "core/formats/onnx/op_table.h"
#include "core/formats/onnx/products.h"
#include "core/formats/onnx/svm.h"

namespace emplace {
namespace {

constexpr int64_t kMostPairCells = int64_t{1} << 26;  // of the table from vectors to pairs of classes

using Floats = std::vector<float>;

Floats floats_of(OnnxBlock& b, std::string_view name) { return onnx_floats(b, name).value_or(Floats()); }

Endpoint float_vector(OnnxBlock& b, const Floats& v) {
  return b.constant(Tensor::of<float>(Shape{static_cast<int64_t>(v.size())}, v));
}

Endpoint float_matrix(OnnxBlock& b, int64_t rows, int64_t columns, const Floats& v) {
  return b.constant(Tensor::of<float>(Shape{rows, columns}, v));
}

Endpoints svm_regressor(OnnxBlock& b) {
  const Floats vectors = floats_of(b, "support_vectors"), coefficients = floats_of(b, "coefficients"),
               rho = floats_of(b, "rho");
  const int64_t count = b.integer("n_supports", 0);
  const auto given = static_cast<int64_t>(coefficients.size()), numbers = static_cast<int64_t>(vectors.size());
  if (rho.empty()) return {b.fail("no rho")};
  if (count < 0 || given < 1 || (count > 0 && (given != count || numbers < 1 || numbers % count != 0)))
    return {b.fail(cat(count, " support vectors of ", numbers, " numbers, ", given, " coefficients"))};
  Endpoint weighed;
  if (count > 0) {
    weighed = onnx_svm_kernel(b, onnx_features(b, numbers / count), vectors, count);
  } else {
    weighed = onnx_features(b, given);
  }
  const Endpoint y =
      b.add(onnx_product(b, weighed, float_matrix(b, given, 1, coefficients)), b.scalar(DType::kFloat, rho[0]));
  if (b.integer("one_class", 0) == 0) return {y};
  return {b.select(b.make("Greater", {y, b.like(y, 0)}), b.like(y, 1), b.like(y, -1))};
}

/// Classes with vectors of their own: each pair of classes has a score.
struct PairedMachine {
  int64_t classes = 0, vectors = 0, features = 0, pairs = 0;
  Ints first;  // by class: its first vector; then the end
  Floats numbers, coefficients, rho, prob_a, prob_b;
};

std::optional<PairedMachine> read_paired_machine(OnnxBlock& b, const Ints& per_class) {
  PairedMachine m;
  m.classes = static_cast<int64_t>(per_class.size());
  m.pairs = m.classes * (m.classes - 1) / 2;
  m.numbers = floats_of(b, "support_vectors"), m.coefficients = floats_of(b, "coefficients");
  m.rho = floats_of(b, "rho"), m.prob_a = floats_of(b, "prob_a"), m.prob_b = floats_of(b, "prob_b");
  const auto numbers = static_cast<int64_t>(m.numbers.size()), given = static_cast<int64_t>(m.coefficients.size());
  for (int64_t n : per_class) {
    if (n < 0 || n > numbers) return b.fail(cat("a class of ", n, " vectors")), std::nullopt;
    m.first.push_back(m.vectors);
    m.vectors += n;
  }
  m.first.push_back(m.vectors);
  const auto fits = [&](const Floats& f) { return static_cast<int64_t>(f.size()) == m.pairs; };
  if (m.classes < 2 || m.vectors < 1 || numbers % m.vectors != 0)
    return b.fail(cat(numbers, " numbers for ", m.vectors, " vectors of ", m.classes, " classes")), std::nullopt;
  if (given != (m.classes - 1) * m.vectors || !fits(m.rho))
    return b.fail(cat(given, " coefficients and ", m.rho.size(), " numbers in rho for ", m.pairs, " pairs of classes")),
           std::nullopt;
  if (!m.prob_a.empty() && (!fits(m.prob_a) || !fits(m.prob_b) || m.classes > kMostCoupledClasses))
    return b.fail(cat(m.prob_a.size(), " and ", m.prob_b.size(), " numbers in prob_a and prob_b for ", m.pairs,
                      " pairs; at most ", kMostCoupledClasses, " classes")),
           std::nullopt;
  if (m.pairs * m.vectors > kMostPairCells)
    return b.fail(cat(m.pairs, " pairs of classes and ", m.vectors, " vectors: too many")), std::nullopt;
  m.features = numbers / m.vectors;
  return m;
}

/// [vectors,pairs]: what each vector counts in the score of each pair.
Endpoint pair_table(OnnxBlock& b, const PairedMachine& m) {
  Floats table(static_cast<size_t>(m.vectors * m.pairs));
  const auto pairs = onnx_class_pairs(m.classes);
  for (size_t p = 0; p < pairs.size(); ++p) {
    const auto put = [&](int64_t of, int64_t row) {
      for (int64_t v = m.first[static_cast<size_t>(of)]; v < m.first[static_cast<size_t>(of) + 1]; ++v)
        table[static_cast<size_t>(v * m.pairs) + p] = m.coefficients[static_cast<size_t>(row * m.vectors + v)];
    };
    put(pairs[p].first, pairs[p].second - 1);
    put(pairs[p].second, pairs[p].first);
  }
  return float_matrix(b, m.vectors, m.pairs, table);
}

/// The class with the most pairs won, the first of several: [N].
Endpoint most_votes(OnnxBlock& b, const PairedMachine& m, Endpoint scores) {
  Floats won(static_cast<size_t>(m.pairs * m.classes)), lost(static_cast<size_t>(m.classes));
  const auto pairs = onnx_class_pairs(m.classes);
  for (size_t p = 0; p < pairs.size(); ++p) {
    const auto [i, j] = pairs[p];
    won[p * static_cast<size_t>(m.classes) + static_cast<size_t>(i)] = 1;
    won[p * static_cast<size_t>(m.classes) + static_cast<size_t>(j)] = -1;
    lost[static_cast<size_t>(j)] += 1;
  }
  const Endpoint positive = b.cast(b.make("Greater", {scores, b.like(scores, 0)}), DType::kFloat);
  const Endpoint votes =
      b.add(onnx_product(b, positive, float_matrix(b, m.pairs, m.classes, won)), float_vector(b, lost));
  return onnx_best_column(b, votes);
}

Endpoints paired_classifier(OnnxBlock& b, const PairedMachine& m, Endpoint labels) {
  const Endpoint x = onnx_features(b, m.features);
  const Endpoint kernel = onnx_svm_kernel(b, x, m.numbers, m.vectors);
  const Endpoint scores = b.add(onnx_product(b, kernel, pair_table(b, m)), float_vector(b, m.rho));
  const Endpoint label = onnx_labels_at(b, labels, most_votes(b, m, scores));
  if (!m.prob_a.empty()) {
    const Endpoint at = b.add(b.mul(scores, float_vector(b, m.prob_a)), float_vector(b, m.prob_b));
    const Endpoint chance = b.sub(b.like(at, 1), b.make("Sigmoid", {at}));
    const Endpoint inside = b.make("ClipByValue", {chance, b.like(at, 1e-7), b.like(at, 1 - 1e-7)});
    return {label, onnx_transformed_scores(b, onnx_coupled_chances(b, inside, m.classes))};
  }
  if (m.classes > 2) return {label, onnx_transformed_scores(b, scores)};
  if (b.text("post_transform", "NONE") == "NONE") return {label, b.concat({b.make("Neg", {scores}), scores}, 1)};
  return {label, onnx_scores_of_two(b, scores)};
}

/// A row of coefficients for each class, and one number that is added to all. Of two classes the second is taken as
/// soon as a score is positive, or 0.5 where all coefficients are.
Endpoints linear_machine(OnnxBlock& b, Endpoint labels) {
  const Floats coefficients = floats_of(b, "coefficients"), rho = floats_of(b, "rho");
  const int64_t classes = b.dim(labels, 0), given = static_cast<int64_t>(coefficients.size());
  if (given < 1 || given % classes != 0 || rho.empty())
    return {b.fail(cat(given, " coefficients and ", rho.size(), " numbers in rho for ", classes, " classes"))};
  const Endpoint x = onnx_features(b, given / classes);
  const Endpoint rows = b.transpose(float_matrix(b, classes, given / classes, coefficients), {1, 0});
  const Endpoint scores = b.add(onnx_product(b, x, rows), b.scalar(DType::kFloat, rho[0]));
  Endpoint best = onnx_best_column(b, scores);
  if (classes == 2) {
    const bool positive = std::all_of(coefficients.begin(), coefficients.end(), [](float c) { return c >= 0; });
    const Endpoint most = b.reduce("Max", scores, Ints{1}, false);
    const Endpoint second = b.make(positive ? "GreaterEqual" : "Greater", {most, b.like(most, positive ? 0.5 : 0)});
    best = b.select(second, b.int64(1), best);
  }
  return {onnx_labels_at(b, labels, best), onnx_transformed_scores(b, scores)};
}

Endpoints svm_classifier(OnnxBlock& b) {
  const std::optional<Endpoint> labels = onnx_class_labels(b, "classlabels_ints", "classlabels_strings");
  if (!labels) return {Endpoint{}};
  const Ints per_class = b.integers("vectors_per_class", Ints());
  if (per_class.empty()) return linear_machine(b, *labels);
  const std::optional<PairedMachine> m = read_paired_machine(b, per_class);
  if (!m) return {Endpoint{}};
  if (b.dim(*labels, 0) != m->classes) return {b.fail(cat(b.dim(*labels, 0), " labels for ", m->classes, " classes"))};
  return paired_classifier(b, *m, *labels);
}

constexpr OnnxOp kSvmOps[] = {
    {"ai.onnx.ml.SVMClassifier", 1, svm_classifier},
    {"ai.onnx.ml.SVMRegressor", 1, svm_regressor},
};

}  // namespace

std::span<const OnnxOp> onnx_svm_ops() { return kSvmOps; }

}  // namespace emplace
