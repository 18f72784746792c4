// The flags that only `emplace train` takes.
#include <algorithm>

#include "cli/train_options.h"
#include "core/base/cat.h"
#include "core/base/units.h"
#include "core/train/optimizers/optimizer_list.h"

namespace emplace {
namespace {

OptionSet::Setter set_optional_integer(std::optional<int64_t>& target, int64_t least) {
  return [&target, least](const std::string& text) -> Status {
    int64_t value = 0;
    RETURN_IF_ERROR(set_integer(value, least)(text));
    return target = value, ok_status();
  };
}

/// "100": steps; "60s": seconds.
Status set_save_every(TrainingOptions& train, const std::string& text) {
  double seconds = 0;
  if (text.ends_with('s')) {
    bool good = set_number(seconds)(text.substr(0, text.size() - 1)).ok() && seconds > 0;
    if (good) return train.save_every_s = seconds, train.save_every_steps = 0, ok_status();
  } else if (set_integer(train.save_every_steps, 1)(text).ok()) {
    return train.save_every_s = 0, ok_status();
  }
  return invalid_argument(cat("'", text, "' is neither a number of steps nor a time; write 100 or 60s"));
}

Status set_switch(std::optional<bool>& target, const std::string& text) {
  bool truth = false;
  RETURN_IF_ERROR(set_bool(truth)(text));
  return target = truth, ok_status();
}

std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> out;
  for (size_t begin = 0; begin <= text.size();) {
    size_t end = std::min(text.find(',', begin), text.size());
    out.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

Status set_plot(TrainingOptions& train, const std::string& text) {
  for (const std::string_view other : {".png", ".jpg", ".jpeg", ".gif", ".pdf", ".html"}) {
    if (text.ends_with(other)) return invalid_argument(cat("'", text, "': an SVG is written; wanted FILE.svg"));
  }
  train.plot = text;
  return text.empty() ? invalid_argument("'' names no file") : ok_status();
}

void declare_replication(OptionSet& set, TrainingOptions& train) {
  set.value("strategy", "NAME", "Train on several devices: mirrored, ps-sync or ps-async",
            {[&train](const std::string& text) -> Status {
               ASSIGN_OR_RETURN(train.replication.strategy, parse_strategy(text));
               return ok_status();
             },
             {"mirrored", "ps-sync", "ps-async"}});
  set.value("replicas", "LIST", "Those devices: GPU:0,GPU:1 (default: every GPU; of a cluster, see --spawn)",
            {[&train](const std::string& text) {
               train.replication.replicas = split_list(text);
               return ok_status();
             },
             {"DEVICE,..."}});
  set.text("ps", "DEVICE", "Where ps-sync and ps-async keep variables (default CPU:0, or the tasks of job ps in turn)",
           train.replication.ps);
  set.value("max-staleness", "N", "ps-async: updates by others that a step may miss",
            set_integer(train.replication.max_staleness, 0));
  set.value("bucket", "SIZE", "mirrored on several tasks: gradients that meet together (default 4MiB)",
            [&train](const std::string& text) -> Status {
              ASSIGN_OR_RETURN(train.replication.bucket_bytes, parse_size(text));
              return *train.replication.bucket_bytes > 0 ? ok_status()
                                                         : invalid_argument("a bucket holds 1 byte or more");
            });
  set.value("check-replicas", "N", "mirrored: every N steps, see whether all replicas still hold the same bytes",
            set_integer(train.check_replicas_every, 1));
}

}  // namespace

void declare_train_options(OptionSet& set, TrainingOptions& train) {
  const std::vector<std::string_view> kSwitch = {"true", "false"};
  TrainFlags& flags = train.flags;
  set.text("loss", "NAME", "The tensor to minimise", flags.loss);
  set.list("metric", "[NAME=]TENSOR", "A metric", flags.metric);
  std::vector<std::string_view> names;
  for (const Optimizer& one : optimizers()) names.push_back(one.name);
  set.value("optimizer", "NAME[,ARG=X]", "sgd, momentum, adam, adagrad, rmsprop, adamw or ftrl: momentum,momentum=0.9",
            {[&flags](const std::string& text) { return flags.optimizer = text, ok_status(); }, std::move(names)});
  for (const Optimizer& one : optimizers()) {
    for (const OptimizerArgument& a : one.arguments) {
      std::string name(a.name);
      std::replace(name.begin(), name.end(), '_', '-');
      set.instead(std::move(name),
                  cat("an optimizer's arguments follow it: --optimizer ", optimizer_example(one, a.name)));
    }
  }
  set.text("learning-rate", "X", "A number, or a scalar tensor of the graph", flags.learning_rate);
  set.value("clip-norm", "X", "Scale the gradients down to this norm of all together",
            [&flags](const std::string& text) -> Status {
              double norm = 0;
              RETURN_IF_ERROR(set_number(norm)(text));
              if (!(norm > 0)) return invalid_argument(cat("'", text, "' must be greater than 0"));
              return flags.clip_norm = norm, ok_status();
            });
  set.list("data", "train=FILE", "Read this file in place of the graph file's; also test=FILE", flags.data,
           {"train=FILE", "test=FILE"});
  set.value("batch", "N", "Samples of a step", set_optional_integer(flags.batch, 1));
  set.value("epochs", "N", "How often to go through the data", set_optional_integer(flags.epochs, 1));
  set.optional_value("shuffle", "true", "BOOL",
                     "A new order of the samples in each epoch (default), or the file's: =false",
                     {[&flags](const std::string& text) { return set_switch(flags.shuffle, text); }, kSwitch});
  set.optional_value("drop-remainder", "true", "BOOL", "Leave out the last, smaller batch of an epoch",
                     {[&flags](const std::string& text) { return set_switch(flags.drop_remainder, text); }, kSwitch});
  declare_replication(set, train);
  set.text("graph-out", "FILE", "Write the graph that trains: gradients, updates and replicas in it", train.graph_out);
  set.flag("dry-run", "Stop before the first step", train.dry_run);
  set.about("--checkpoint", {"checkpoint"});
  set.text("checkpoint", "DIR", "Save variables and position there, at least at the end", train.checkpoint);
  set.value("keep", "N", "Checkpoints to keep (default 5; 0: all)", set_integer(train.keep, 0));
  set.about("");
  set.value("checkpoint-format", "FORMAT", "Variables as npz (default), or as a bundle, which TensorFlow reads",
            set_choice<CheckpointFormat>(train.checkpoint_format,
                                         {{"npz", CheckpointFormat::kNpz}, {"bundle", CheckpointFormat::kBundle}}));
  set.value("save-every", "N|60s", "Save every N steps, or after so much time",
            [&train](const std::string& text) { return set_save_every(train, text); });
  set.flag("overwrite", "Let this run's checkpoints replace those of another one", train.overwrite);
  set.value("log-every", "N", "A line every N steps (default: one per epoch)", set_integer(train.log_every, 1));
  set.text("log-csv", "FILE", "Loss and metrics of every step as CSV", train.log_csv);
  set.value("plot", "FILE.svg", "A picture of loss and metrics over steps",
            [&train](const std::string& text) { return set_plot(train, text); });
}

}  // namespace emplace
