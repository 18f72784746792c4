// Part of core/formats/onnx/op_table.h: TfIdfVectorizer: how often runs of tokens of a list occur.
#include <algorithm>
#include <map>

#include "core/base/cat.h"
#include "core/formats/onnx/learning.h"
#include "core/formats/onnx/op_table.h"

namespace emplace {
namespace {

/// The runs that count, as a tree: a run of n tokens is what precedes it, a node of level n - 1, and a token.
struct RunTree {
  std::vector<Ints> keys;     // by level: before * tokens + token, of each node
  std::vector<Ints> columns;  // and where it counts; -1: nowhere
  int64_t tokens = 0, width = 0;
};

constexpr int64_t kMostRuns = 65536, kLongestRun = 64, kMostSkipped = 64;

struct RunSizes {
  int64_t least, most, skips;
};

/// `pool`: tokens, numbered. The runs of 1 token come first, then those of 2, ...; `begins` says where.
std::optional<RunTree> run_tree(OnnxBlock& b, const Ints& pool, int64_t tokens, const RunSizes& sizes) {
  const Ints begins = b.integers("ngram_counts", Ints()), columns = b.integers("ngram_indexes", Ints());
  RunTree tree;
  tree.tokens = tokens;
  std::vector<std::map<int64_t, size_t>> places(static_cast<size_t>(sizes.most));
  tree.keys.resize(places.size()), tree.columns.resize(places.size());
  size_t run = 0;
  for (size_t n = 1; n <= begins.size(); ++n) {
    const int64_t begin = begins[n - 1], end = n < begins.size() ? begins[n] : static_cast<int64_t>(pool.size());
    if (begin < 0 || end < begin || end > static_cast<int64_t>(pool.size()) ||
        (end - begin) % static_cast<int64_t>(n) != 0)
      return b.fail("ngram_counts that do not fit the pool"), std::nullopt;
    const bool used = static_cast<int64_t>(n) >= sizes.least && static_cast<int64_t>(n) <= sizes.most;
    for (auto at = static_cast<size_t>(begin); at < static_cast<size_t>(end); at += n, ++run) {
      if (run >= columns.size() || columns[run] < 0 || columns[run] >= kMostRuns)
        return b.fail("ngram_indexes that do not fit the pool"), std::nullopt;
      int64_t before = 0;
      for (size_t k = 0; k < n && used; ++k) {
        const int64_t key = before * tokens + pool[at + k];
        const auto [place, is_new] = places[k].try_emplace(key, tree.keys[k].size());
        if (is_new) tree.keys[k].push_back(key), tree.columns[k].push_back(-1);
        before = static_cast<int64_t>(place->second);
        if (k + 1 == n) tree.columns[k][place->second] = columns[run];
      }
    }
  }
  for (int64_t c : columns) tree.width = std::max(tree.width, c + 1);
  if (tree.width < 1) return b.fail("no runs of tokens"), std::nullopt;
  return tree;
}

/// The tokens, each once, and the pool by their numbers.
std::optional<std::pair<Endpoint, Ints>> numbered_pool(OnnxBlock& b, int64_t& tokens) {
  Ints numbers;
  const auto number = [&](const auto& pool) {
    std::map<typename std::decay_t<decltype(pool)>::value_type, int64_t> known;
    std::vector<typename std::decay_t<decltype(pool)>::value_type> unique;
    for (const auto& token : pool) {
      const auto [at, is_new] = known.try_emplace(token, static_cast<int64_t>(unique.size()));
      if (is_new) unique.push_back(token);
      numbers.push_back(at->second);
    }
    tokens = static_cast<int64_t>(unique.size());
    return unique;
  };
  if (const std::optional<Ints> ints = b.integers("pool_int64s")) {
    const Ints unique = number(*ints);
    return std::pair(b.ints(unique), numbers);
  }
  const OnnxAttribute* texts = b.attribute("pool_strings", OnnxAttributeType::kStrings);
  if (!texts) return b.fail("neither pool_int64s nor pool_strings"), std::nullopt;
  const auto unique = number(texts->strings);
  const std::vector<std::string> own(unique.begin(), unique.end());
  return std::pair(b.constant(Tensor::of<std::string>(Shape{tokens}, own)), numbers);
}

/// Places in `keys`; -1: it is none of them.
Endpoint places_in(OnnxBlock& b, Endpoint x, Endpoint keys) {
  const OnnxListPlace at = onnx_find_in_list(b, x, keys);
  return b.select(at.found, at.place, b.int64(-1));
}

/// Columns of all runs in `tokens` [rows, columns], -1 for those that do not count: a list of [rows, windows].
Endpoints found_runs(OnnxBlock& b, const RunTree& tree, Endpoint tokens, const RunSizes& sizes) {
  Endpoints found;
  for (int64_t n = sizes.least; n <= sizes.most && !b.failed(); ++n) {
    if (tree.keys[static_cast<size_t>(n) - 1].empty()) continue;
    for (int64_t step = 1; step <= (n == 1 ? 1 : sizes.skips + 1); ++step) {
      Endpoint node = b.int64(0);
      for (int64_t k = 0; k < n; ++k) {
        const int64_t behind = (n - 1 - k) * step;
        const Endpoint token = b.slice(tokens, 1, k * step, behind == 0 ? INT32_MAX : -behind);
        const Endpoint key = b.add(b.mul(node, b.int64(tree.tokens)), token);
        const Endpoint none = b.make("Less", {b.make("Minimum", {node, token}), b.int64(0)});
        node = places_in(b, b.select(none, b.int64(-1), key), b.ints(tree.keys[static_cast<size_t>(k)]));
      }
      Ints columns = tree.columns[static_cast<size_t>(n) - 1];
      columns.push_back(-1);
      const auto last = static_cast<int64_t>(columns.size()) - 1;
      const Endpoint place = b.select(b.make("Less", {node, b.int64(0)}), b.int64(last), node);
      found.push_back(b.make("GatherV2", {b.ints(columns), place, b.int32(0)}));
    }
  }
  return found;
}

/// How often each of `width` columns is there, in each row: [rows, width].
Endpoint counted(OnnxBlock& b, Endpoint columns, int64_t width) {
  const Endpoint rows = b.squeeze(b.dim_of(columns, 0), {0}), all = b.add(b.mul(rows, b.int64(width)), b.int64(1));
  const Endpoint begin = b.mul(b.expand(b.make("Range", {b.int64(0), rows, b.int64(1)}), 1), b.int64(width));
  const Endpoint none = b.make("Less", {columns, b.int64(0)});
  const Endpoint place = b.reshape(b.select(none, b.sub(all, b.int64(1)), b.add(begin, columns)), {-1});
  const Endpoint ones = b.cast(b.make("OnesLike", {place}), DType::kFloat);
  const Endpoint sums = b.make("UnsortedSegmentSum", {ones, place, all});
  return b.reshape(b.slice(sums, 0, 0, -1), {-1, width});
}

/// Weights are those of the runs, in the order of the pool; they count where their runs do.
Endpoint weighted(OnnxBlock& b, Endpoint y, int64_t width) {
  const std::optional<std::vector<float>> weights = onnx_floats(b, "weights");
  if (!weights || weights->empty()) return y;
  const Ints columns = b.integers("ngram_indexes", Ints());
  if (weights->size() != columns.size()) return b.fail(cat(weights->size(), " weights of ", columns.size(), " runs"));
  std::vector<float> of_columns(static_cast<size_t>(width));
  for (size_t i = 0; i < columns.size(); ++i) of_columns[static_cast<size_t>(columns[i])] = (*weights)[i];
  return b.mul(y, b.constant(Tensor::of<float>(Shape{width}, of_columns)));
}

Endpoints tf_idf_vectorizer(OnnxBlock& b) {
  const RunSizes sizes{b.integer("min_gram_length", 1), b.integer("max_gram_length", 1),
                       b.integer("max_skip_count", 0)};
  if (sizes.least < 1 || sizes.most < sizes.least || sizes.most > kLongestRun || sizes.skips < 0 ||
      sizes.skips > kMostSkipped)
    return {b.fail("lengths of runs, or skips, that there cannot be")};
  int64_t tokens = 0;
  const auto pool = numbered_pool(b, tokens);
  const std::optional<RunTree> tree = pool ? run_tree(b, pool->second, tokens, sizes) : std::nullopt;
  if (!tree || b.failed()) return {Endpoint{}};
  Endpoint x = b.input(0);
  if (b.type(x) == DType::kInt32) x = b.cast(x, DType::kInt64);
  const int rank = b.rank(x);
  if (rank > 2) return {b.fail("more than two dimensions")};
  if (rank < 2) x = b.reshape(x, {1, -1});
  const Endpoints found = found_runs(b, *tree, places_in(b, x, pool->first), sizes);
  if (found.empty()) return {b.fail("no runs of these lengths")};
  Endpoint y = counted(b, b.concat(found, 1), tree->width);
  const std::string mode = b.text("mode", "TF");
  if (mode != "TF" && mode != "IDF" && mode != "TFIDF") return {b.fail(cat("mode '", mode, "'"), "TF, IDF or TFIDF")};
  if (mode == "IDF") y = b.make("Minimum", {y, b.like(y, 1)});
  if (mode != "TF") y = weighted(b, y, tree->width);
  return {rank < 2 ? b.reshape(y, {tree->width}) : y};
}

constexpr OnnxOp kNgramOps[] = {{"TfIdfVectorizer", 9, tf_idf_vectorizer}};

}  // namespace

std::span<const OnnxOp> onnx_ngram_ops() { return kNgramOps; }

}  // namespace emplace
