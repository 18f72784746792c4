#include "core/train/check_training.h"

#include <memory>

#include "core/base/cat.h"
#include "core/graph/lookup.h"
#include "core/train/dataset.h"
#include "core/train/train_options.h"
#include "core/train/training_graph.h"

namespace emplace {
namespace {

/// Checks names and gradients: training nodes are added to a copy of the graph, which is then thrown away.
void check_graph(const GraphFile& file, const LoadOptions& options, const TrainRequest& request, Problems& problems) {
  if (request.loss.name.empty()) return;
  TrainGraph training;
  if (request.optimizer.empty() || !problems.empty()) return find_training(file, request, training, problems);
  check_train_request(file, request, problems);
  if (!problems.empty()) return;
  Problems known;
  std::unique_ptr<GraphFile> copy = load(file.source, options, known);
  if (!known.empty()) {  // memory was enough for one graph
    const Problem& first = known.list().front();
    return static_cast<void>(problems.add(first.position, first.message, first.hint, first.code));
  }
  validate(*copy, known);
  add_training(*copy, request, training, problems);
}

void check_placeholders(const GraphFile& file, const DataSet& set, Problems& problems) {
  NameError error;
  for (const FeedRequest& feed : set.feeds) {
    if (find_fed_tensor(file.graph, feed.placeholder.name, error).node == kNoNode)
      problems.add(feed.placeholder.position, cat("data: ", error.message), error.hint);
  }
}

}  // namespace

std::string check_training(const GraphFile& file, const LoadOptions& options, bool valid, Problems& problems) {
  if (file.train_json.empty() && file.data_json.empty()) return {};
  TrainRequest request;
  DataRequest data;
  Problems of_keys;
  read_train_keys(file, options, request, data, of_keys);
  request.target.clear();  // the graph's own key, checked with it
  const bool sound = of_keys.empty();
  DataProblems of_data;
  if (valid) {
    check_graph(file, options, request, of_keys);
    for (const auto* set : {&data.train, &data.test}) {
      if (!*set) continue;
      if (!sound) {
        check_placeholders(file, **set, of_keys);
      } else if (auto samples = Dataset::read(file, **set, set == &data.train ? "train" : "test", of_data);
                 samples && !request.loss.name.empty()) {
        NameError error;
        if (Endpoint loss = find_tensor(file.graph, request.loss.name, error); loss.node != kNoNode)
          samples->check_labels(file, loss, of_data);
      }
    }
  }
  for (const Problems* found : {&of_keys, &of_data.graph}) {
    for (const Problem& p : found->list()) problems.add(p.position, p.message, p.hint, p.code);
  }
  return std::move(of_data.files);
}

}  // namespace emplace
