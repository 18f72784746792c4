#include "core/training_of_model.h"

#include <algorithm>

#include "core/base/cat.h"

namespace emplace {
namespace {

std::string node_name(const std::string& tensor) { return tensor.substr(0, tensor.find(':')); }

void name_tensor(const Signature& signature, std::string& name) {
  if (auto output = signature.outputs.find(name); output != signature.outputs.end()) name = output->second.name;
}

/// Inputs that hold a row for each sample, by their keys in an .npz, or by the columns of that name.
DataSet data_of(const Signature& signature, const GraphFile& file, const RunOptions& run) {
  DataSet set;
  for (const auto& [key, info] : signature.inputs) {
    const bool scalar = info.shape.rank_known() && info.shape.rank() == 0;
    if (scalar || is_fed(info.name, file, run)) continue;
    FeedRequest& feed = set.feeds.emplace_back();
    feed.placeholder.name = info.name;
    feed.key = key;
  }
  if (set.feeds.size() == 1) return set;  // all columns are its own
  for (FeedRequest& feed : set.feeds) feed.columns = feed.key;
  return set;
}

/// One floating-point number. Other outputs, such as a count of steps, are computed only.
bool is_metric(const TensorInfo& info) {
  const bool floating = info.dtype == DType::kFloat || info.dtype == DType::kDouble || info.dtype == DType::kHalf ||
                        info.dtype == DType::kBFloat16;
  return floating && info.shape.rank_known() && info.shape.rank() == 0;
}

void train_signature(const Signature& signature, TrainFlags& flags, TrainRequest& train) {
  name_tensor(signature, flags.loss);
  for (std::string& metric : flags.metric) {
    const size_t equals = metric.find('=');
    std::string tensor = metric.substr(equals == std::string::npos ? 0 : equals + 1);
    const std::string name = metric.substr(0, equals);
    name_tensor(signature, tensor);
    metric = cat(name, "=", tensor);
  }
  const std::string loss = flags.loss.empty() ? "loss" : flags.loss;
  for (const auto& [key, info] : signature.outputs) {
    if (key == loss || info.name == loss) {
      train.loss.name = info.name;
    } else if (flags.metric.empty() && flags.optimizer.empty() && is_metric(info)) {
      train.metrics.push_back({key, {info.name, kNoPosition}});
    }
    if (flags.optimizer.empty()) train.target.push_back({node_name(info.name), kNoPosition});
  }
}

}  // namespace

void train_model(const GraphModel& model, const GraphFile& file, const RunOptions& run, TrainFlags& flags,
                 TrainRequest& train, DataRequest& data) {
  if (model.signature) {
    train_signature(*model.signature, flags, train);
    if (!flags.data.empty()) data.train = data_of(*model.signature, file, run);
    return;
  }
  if (model.meta.losses.size() == 1) train.loss.name = model.meta.losses.front();
  if (!flags.optimizer.empty()) return;
  for (const std::string& op : model.meta.train_op) train.target.push_back({node_name(op), kNoPosition});
}

}  // namespace emplace
