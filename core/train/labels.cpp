// Part of core/train/dataset.h: Dataset::check_labels(): classes that a sparse cross entropy would refuse, found before
// the first step.
#include <set>

#include "core/base/cat.h"
#include "core/base/stop.h"
#include "core/train/dataset.h"

namespace emplace {
namespace {

struct Labels {
  Endpoint source;  // the fed tensor
  int64_t classes = 0;
};

/// The label inputs of all sparse cross entropies that `loss` depends on, back to where they come from.
std::vector<Labels> find_labels(const Graph& g, Endpoint loss) {
  std::vector<Labels> found;
  std::set<NodeId> seen{loss.node};
  std::vector<NodeId> open{loss.node};
  while (!open.empty()) {
    NodeId id = open.back();
    open.pop_back();
    auto inputs = g.inputs(id);
    if (g.traits(id).class_labels) {
      const Shape& logits = g.output_shape(inputs[0]);
      Endpoint labels = inputs[1];
      while (g.traits(labels.node).of_sums == OfSums::kKeeps) labels = g.inputs(labels.node)[0];
      if (logits.rank_known() && logits.rank() > 0 && logits.dim(logits.rank() - 1) >= 0)
        found.push_back({labels, logits.dim(logits.rank() - 1)});
    }
    for (const Endpoint& e : inputs) {
      if (seen.insert(e.node).second) open.push_back(e.node);
    }
  }
  return found;
}

}  // namespace

void Dataset::check_labels(const GraphFile& file, Endpoint loss, DataProblems& problems) const {
  for (const Labels& labels : find_labels(file.graph, loss)) {
    for (size_t i = 0; i < parts_.size(); ++i) {
      const Part& part = parts_[i];
      if (!(placeholders_[i] == labels.source) || !is_integer(part.dtype) || part.shape.num_elements() != 1) continue;
      Result<Tensor> label = Tensor::allocate(DType::kInt64, Shape{1});
      if (!label.ok()) return;
      constexpr int64_t kLookEvery = 4096;
      for (int64_t row = 0; row < rows_; ++row) {
        if (row % kLookEvery == 0 && stop_requested()) return;
        bool fits = part.samples.gather({&row, 1}, *label).ok();
        int64_t value = *label->data<int64_t>();
        if (fits && value >= 0 && value < labels.classes) continue;
        append(problems.files, out_of_range_label(part, row, value, labels.classes));
        return;
      }
    }
  }
}

std::string Dataset::out_of_range_label(const Part& part, int64_t row, int64_t label, int64_t classes) const {
  std::string message = cat("label out of range: found ", label, ", wanted 0 to ", classes - 1, ", as the logits have ",
                            classes, " classes");
  if (!part.source) return cat(part.file, ", row ", row, ": ", message, "\n");
  Problems problems;
  problems.add(csv_field_position(part.source->text(), part.lines->starts[static_cast<size_t>(row)], part.first_column),
               std::move(message));
  return problems.to_string(NamedText(part.file, part.source->text()));
}

}  // namespace emplace
