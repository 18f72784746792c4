#include "core/train/train_options.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>

#include "core/base/cat.h"
#include "core/base/printable.h"
#include "core/base/suggest.h"
#include "core/train/optimizers/optimizer_list.h"

namespace emplace {
namespace {

std::string known_optimizers(std::string_view name) {
  Suggestion suggestion(name);
  std::string all;
  for (const Optimizer& row : optimizers()) {
    suggestion.offer(row.name);
    append(all, all.empty() ? "" : ", ", row.name);
  }
  std::string hint = suggestion.text();
  return hint.empty() ? cat("there are ", all) : hint;
}

/// "momentum:0.9", "momentum(0.9)": what was meant, as it is written; nothing: no optimizer's name begins it.
std::string meant_optimizer(std::string_view text) {
  const auto in_name = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  const auto end = std::find_if_not(text.begin(), text.end(), in_name);
  const Optimizer* row = find_optimizer(text.substr(0, static_cast<size_t>(end - text.begin())));
  return row && end != text.end() ? optimizer_example(*row) : "";
}

/// "momentum=0.9" of an optimizer.
Status set_argument(std::string_view text, const Optimizer& row, TrainRequest& train) {
  const size_t equals = std::min(text.find('='), text.size());
  const std::string name(text.substr(0, equals));
  const std::string_view value = text.substr(std::min(equals + 1, text.size()));
  const OptimizerArgument* argument = row.find(name);
  if (!argument) {
    Suggestion suggestion(name);
    for (const OptimizerArgument& a : row.arguments) suggestion.offer(a.name);
    const std::string hint = suggestion.text();
    return invalid_argument(cat("--optimizer: ", row.name, " has no argument '", printable(name), "'; ",
                                !hint.empty()           ? hint
                                : row.arguments.empty() ? "it takes none"
                                                        : cat("write for instance ", optimizer_example(row))));
  }
  double number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  bool good = error == std::errc() && end == value.data() + value.size() && std::isfinite(number);
  if (argument->is_flag) {
    good = value == "true" || value == "false";
    number = value == "true";
  }
  if (!good)
    return invalid_argument(cat(
        "--optimizer: ", row.name, "'s ", name, " is ", value.empty() ? "not given" : cat("'", printable(value), "'"),
        ", wanted ", argument->is_flag ? "true or false" : "a number", ", as in ", optimizer_example(row, name)));
  std::erase_if(train.arguments, [&](const NamedNumbers& a) { return a.name == name; });
  train.arguments.push_back({name, {number}});
  return ok_status();
}

/// "momentum,momentum=0.9". Another optimizer than the file's keeps of its arguments those that both have.
Status set_optimizer(const std::string& text, TrainRequest& train) {
  const std::string name = text.substr(0, text.find(','));
  const Optimizer* row = find_optimizer(name);
  if (!row) {
    const std::string meant = meant_optimizer(name);
    return invalid_argument(cat("--optimizer: unknown optimizer '", printable(name), "'; ",
                                meant.empty() ? known_optimizers(name) : cat("arguments follow commas: ", meant)));
  }
  if (name != train.optimizer) {
    std::erase_if(train.arguments, [&](const NamedNumbers& a) { return !row->find(a.name); });
  }
  train.optimizer = name;
  for (size_t begin = name.size() + 1; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    RETURN_IF_ERROR(set_argument(std::string_view(text).substr(begin, end - begin), *row, train));
    begin = end + 1;
  }
  return ok_status();
}

Status set_learning_rate(const std::string& text, LearningRate& rate) {
  rate = {};
  double number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (end != text.data() + text.size()) {
    rate.tensor = text;
    return ok_status();
  }
  if (error != std::errc() || !(number >= 0) || std::isinf(number)) {
    return invalid_argument(
        cat("--learning-rate: found ", text, ", wanted a finite number of at least 0, or a tensor of the graph"));
  }
  rate.number = number;
  return ok_status();
}

/// "train=FILE". Feeds stay as the graph file has them.
Status set_data(const std::string& flag, DataRequest& data) {
  auto equals = flag.find('=');
  std::string which = flag.substr(0, equals);
  if (equals == std::string::npos || (which != "train" && which != "test")) {
    return invalid_argument(cat("--data: '", printable(flag), "' names no data set; write train=FILE or test=FILE"));
  }
  std::string path = flag.substr(equals + 1);
  std::error_code error;
  const auto kind = std::filesystem::status(path, error).type();
  if (kind == std::filesystem::file_type::not_found || kind == std::filesystem::file_type::none)
    return not_found(cat("--data: no file '", printable(path), "'"));
  if (kind != std::filesystem::file_type::regular) {
    return invalid_argument(cat("--data: '", printable(path), "' is a ",
                                kind == std::filesystem::file_type::directory ? "folder"
                                : kind == std::filesystem::file_type::fifo    ? "pipe"
                                                                              : "device",
                                "; samples are read in a new order each epoch, which takes a file"));
  }
  std::optional<DataSet>& set = which == "train" ? data.train : data.test;
  if (!set) {
    if (!data.train)
      return invalid_argument(
          cat("--data ", which,
              ": the graph file says under 'data' what a placeholder gets; it has no 'data', and no "
              "placeholder"));
    set = data.train;
  }
  set->file = path;
  for (FeedRequest& feed : set->feeds) feed.file.clear();
  return ok_status();
}

}  // namespace

Status apply_train_flags(const TrainFlags& flags, TrainRequest& train, DataRequest& data) {
  if (!flags.loss.empty()) train.loss = {flags.loss, kNoPosition};
  if (!flags.optimizer.empty()) RETURN_IF_ERROR(set_optimizer(flags.optimizer, train));
  if (!flags.learning_rate.empty()) RETURN_IF_ERROR(set_learning_rate(flags.learning_rate, train.learning_rate));
  if (!flags.target.empty()) {
    train.target.clear();
    for (const std::string& name : flags.target) train.target.push_back({name, kNoPosition});
  }
  for (const std::string& metric : flags.metric) {
    auto equals = metric.find('=');
    std::string name = metric.substr(0, equals),
                tensor = equals == std::string::npos ? metric : metric.substr(equals + 1);
    std::erase_if(train.metrics, [&](const Metric& m) { return m.name == name; });
    train.metrics.push_back({name, {tensor, kNoPosition}});
  }
  for (const std::string& flag : flags.data) RETURN_IF_ERROR(set_data(flag, data));
  train.batch = flags.batch.value_or(train.batch);
  train.epochs = flags.epochs.value_or(train.epochs);
  // If only one of epochs and steps is given on the command line, the file's other one does not count.
  if (flags.steps && !flags.epochs) train.epochs = 0;
  if (flags.epochs && !flags.steps) train.steps = 0;
  train.steps = flags.steps.value_or(train.steps);
  train.seed = flags.seed.value_or(train.seed);
  train.shuffle = flags.shuffle.value_or(train.shuffle);
  train.drop_remainder = flags.drop_remainder.value_or(train.drop_remainder);
  if (flags.clip_norm) train.clip_norm = flags.clip_norm;
  return ok_status();
}

void check_train_request(const GraphFile& file, const TrainRequest& train, Problems& problems) {
  int64_t at = file.train_json.empty() ? kNoPosition : file.train_json.data() - file.source->text().data();
  if (train.loss.name.empty())
    problems.add(at, "nothing says what the loss is", "write \"train\": {\"loss\": \"NAME\"}, or give --loss NAME");
  const Optimizer* row = find_optimizer(train.optimizer);
  if (!row) {
    if (train.target.empty()) {
      problems.add(at, "neither an optimizer nor an update is named",
                   "write \"optimizer\" into \"train\" (or give --optimizer), or name the graph's own update: "
                   "\"target\", or --target");
    }
    return;
  }
  for (const OptimizerArgument& a : row->arguments) {
    bool given = std::any_of(train.arguments.begin(), train.arguments.end(),
                             [&](const NamedNumbers& n) { return n.name == a.name; });
    if (!given && !a.default_value)
      problems.add(train.optimizer_position, cat("optimizer '", row->name, "' needs '", a.name, "'"),
                   cat("it has no default; write for instance \"", a.name, "\": 0.9 into \"train\", or --optimizer ",
                       optimizer_example(*row, a.name)));
  }
  const LearningRate& rate = train.learning_rate;
  if (!rate.number && rate.tensor.empty() && rate.schedule.empty() && !row->learning_rate) {
    problems.add(train.optimizer_position, cat("optimizer '", row->name, "' needs 'learning_rate'"),
                 "it has no default; write for instance \"learning_rate\": 0.01 into \"train\", or --learning-rate "
                 "0.01");
  }
}

}  // namespace emplace
