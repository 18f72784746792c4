// Makes a graph trainable, within the stage validate.
#include "core/training.h"

#include <algorithm>

#include "core/base/cat.h"
#include "core/base/sha256.h"
#include "core/base/stop.h"
#include "core/base/text_file.h"
#include "core/cluster/remote_session.h"
#include "core/device/make_device_set.h"
#include "core/formats/graph_writer.h"
#include "core/formats/trainable.h"
#include "core/function_stage.h"
#include "core/graph/lookup.h"
#include "core/pipeline_stage.h"
#include "core/train/data_fingerprint.h"
#include "core/training_of_model.h"

namespace emplace {
namespace {

Status usage_error(std::string message) { return invalid_argument(std::move(message)).blamed(Blame::kUsage); }

/// From the keys of the file and the flags to a Trainable. Each step may add problems of the file; the next is taken
/// only if there are none.
class TrainableBuilder {
 public:
  TrainableBuilder(StageContext& context, const TrainingOptions& options, bool wants_outputs)
      : c_(context), options_(options), wants_outputs_(wants_outputs) {}

  Result<Trainable> build(const Loaded& loaded) {
    ASSIGN_OR_RETURN(static_cast<Validated&>(made_), validated_graph(c_, loaded, nullptr));
    take_signature();
    if (c_.model) made_.training.not_trainable = not_trainable(&c_.model->meta, *made_.file);
    made_.training.has_values = c_.model && !c_.model->meta.folder.empty();
    if (has_functions(loaded)) {
      ASSIGN_OR_RETURN(static_cast<Validated&>(made_), lower_to_train(c_, made_, names_of_signature()));
    }
    made_.identity.graph_sha256 = sha256_hex(c_.found.source->text());
    RETURN_IF_ERROR(read_request());
    RETURN_IF_ERROR(name_files().blamed(Blame::kUsage));
    RETURN_IF_ERROR(find_replicas());
    add_update();
    RETURN_IF_ERROR(first_problem(c_.found.problems));
    RETURN_IF_ERROR(write_graph_out());
    if (options_.dry_run) {
      made_.request.targets = made_.graph.targets;
    } else {
      RETURN_IF_ERROR(read_data());
      RETURN_IF_ERROR(make_request());
    }
    check_runnable(*made_.file, made_.request, c_.found.problems);
    RETURN_IF_ERROR(first_problem(c_.found.problems));
    return std::move(made_);
  }

 private:
  /// Gradients and updates come in between the nodes, which keep their names.
  void add_update() {
    const std::vector<std::string> names =
        made_.lowering ? names_of_nodes(made_.file->graph) : std::vector<std::string>();
    add_training(*made_.file, made_.training, made_.graph, c_.found.problems);
    if (!made_.lowering) return;
    LoweringFacts facts = *made_.lowering;
    facts.origins = origins_by_name(facts.origins, names, made_.file->graph);
    made_.lowering = std::make_shared<const LoweringFacts>(std::move(facts));
  }

  /// What all outputs of a signature stand for is its loss and its metrics, not a request to print them.
  void take_signature() {
    if (!c_.model || !c_.model->whole) return;
    c_.options.run.fetch.clear();
    c_.options.run.fetch_keys.clear();
  }

  /// The nodes that a signature's training needs; empty: the whole graph is trained.
  std::vector<std::string> names_of_signature() const {
    std::vector<std::string> names;
    if (!c_.model || !c_.model->signature) return names;
    for (const auto& [key, info] : c_.model->signature->outputs) names.push_back(info.name);
    for (const NamedRef& ref : made_.file->init) names.push_back(ref.name);
    const TrainFlags& flags = options_.flags;
    names.insert(names.end(), c_.options.run.fetch.begin(), c_.options.run.fetch.end());
    names.insert(names.end(), c_.options.run.target.begin(), c_.options.run.target.end());
    names.push_back(flags.loss);
    for (const std::string& metric : flags.metric) names.push_back(metric.substr(metric.find('=') + 1));
    for (std::string& name : names) name.resize(std::min(name.find(':'), name.size()));
    return names;
  }

  /// The file's keys, then the flags over them.
  Status read_request() {
    TrainFlags flags = options_.flags;
    const RunOptions& run = c_.options.run;
    flags.target = run.target;

    if (c_.options.given.contains("steps")) flags.steps = run.steps;
    if (c_.options.given.contains("seed")) flags.seed = run.seed;
    read_train_keys(*made_.file, c_.options.load, made_.training, data_, c_.found.problems);
    RETURN_IF_ERROR(first_problem(c_.found.problems));
    if (c_.model) train_model(*c_.model, *made_.file, run, flags, made_.training, data_);
    feed_placeholders_by_name(*made_.file, run, flags, data_);
    if (Status status = apply_train_flags(flags, made_.training, data_); !status.ok())
      return status.blamed(Blame::kUsage);
    RETURN_IF_ERROR(find_tensors(flags));
    if (made_.lowering && !made_.training.optimizer.empty())
      leave_own_update_out(*made_.lowering->loaded, *made_.file, made_.training);
    check_train_request(*made_.file, made_.training, c_.found.problems);
    return first_problem(c_.found.problems);
  }

  /// A name on the command line that is not there, or cannot be meant, is the command's fault, not the file's.
  Status find_tensors(const TrainFlags& flags) const {
    const auto find = [this](std::string_view flag, const std::string& name) -> Status {
      NameError error;
      if (name.empty()) return ok_status();
      const Graph& g = made_.file->graph;
      const Endpoint tensor = find_tensor(g, name, error);
      if (tensor.node == kNoNode) return usage_error(cat(flag, ": ", error.text()));
      const DType type = base_type(g.output_type(tensor));
      const Shape& shape = g.output_shape(tensor);
      if (is_floating(type) && shape.compatible_with(Shape{})) return ok_status();
      return usage_error(cat(flag, ": '", name, "' is ", dtype_name(type), " of shape ", shape.to_string(),
                             ", wanted one floating-point number"));
    };
    RETURN_IF_ERROR(find("--loss", flags.loss));
    if (!flags.learning_rate.empty()) RETURN_IF_ERROR(find("--learning-rate", made_.training.learning_rate.tensor));
    for (const std::string& metric : flags.metric)
      RETURN_IF_ERROR(find("--metric", metric.substr(metric.find('=') + 1)));
    return ok_status();
  }

  /// What only a training reads and writes.
  Status name_files() const {
    NamedFiles files = c_.options.files;
    for (const auto& data : {data_.train, data_.test}) {
      if (!data) continue;
      files.reads(data->file, "\"data\"");
      for (const FeedRequest& feed : data->feeds) files.reads(feed.file, "\"data\"");
    }
    files.reads_checkpoints(options_.checkpoint, "--checkpoint");
    RETURN_IF_ERROR(files.writes(options_.graph_out, "--graph-out"));
    RETURN_IF_ERROR(files.writes(options_.log_csv, "--log-csv"));
    RETURN_IF_ERROR(files.writes(options_.plot, "--plot"));
    return files.clash();
  }

  bool is_watched() const {
    const RunOptions& run = c_.options.run;
    return run.check_numerics != NumericsAction::kNone || !run.trace.empty() || c_.options.placing.log_eagerly;
  }

  /// What does not go together with a strategy.
  Status check_strategy() const {
    if (!made_.training.colocate_gradients)
      return usage_error(
          "--no-colocate-gradients: the gradients of a replica belong on its device; leave out --strategy");
    if ((is_watched() || c_.options.run.step_report) && made_.training.replication.strategy == Strategy::kPsAsync) {
      return usage_error(
          "--check-numerics, --trace, --step-report and --log-style eager watch one step at a time; the towers of "
          "ps-async run beside each other");
    }
    if (made_.training.optimizer.empty())
      return usage_error("--strategy: the graph brings its own update; name an optimizer");
    return ok_status();
  }

  Status find_replicas() {
    TrainRequest& training = made_.training;
    training.colocate_gradients = c_.options.run.colocate_gradients;
    training.replication = options_.replication;
    if (Status status = check_replication(training.replication); !status.ok()) return status.blamed(Blame::kUsage);
    if (c_.cluster && (c_.options.run.check_numerics != NumericsAction::kNone || c_.options.placing.log_eagerly))
      return usage_error("--check-numerics and --log-style eager watch the nodes of one process");
    if (options_.regroups && (!c_.cluster || training.replication.strategy != Strategy::kMirrored))
      return usage_error("--on-peer-loss regroup is for --strategy mirrored on several tasks: its workers have it all");
    if (training.replication.bucket_bytes && (!c_.cluster || training.replication.strategy != Strategy::kMirrored))
      return usage_error(
          "--bucket is for --strategy mirrored on several tasks: elsewhere no gradients meet over a network");
    if (options_.check_replicas_every > 0 && training.replication.strategy != Strategy::kMirrored)
      return usage_error("--check-replicas is for --strategy mirrored: no other one keeps copies of variables");
    if (training.replication.strategy == Strategy::kNone) return ok_status();
    RETURN_IF_ERROR(check_strategy());
    std::vector<std::string> warnings, notes;
    // The place stage finds them again, and says the warnings.
    Result<DeviceSet> devices = c_.cluster ? Result<DeviceSet>(c_.cluster->devices())
                                           : make_device_set(c_.options.devices, environment_variable, warnings);
    if (!devices.ok()) return devices.status().blamed(Blame::kUsage);
    const bool soft = c_.options.placing.allow_soft_placement;
    if (Status status = resolve_replication(*devices, soft, training.replication, notes,
                                            c_.cluster ? c_.cluster->no_collectives() : std::string());
        !status.ok())
      return status.blamed(Blame::kUsage);
    avoid_collectives(made_.file->graph, training.replication, notes);
    for (const std::string& note : notes) c_.log.warning(note);
    for (const std::string& line : reduction_lines(*devices, training.replication)) c_.log.info(line);
    return ok_status();
  }

  Status write_graph_out() const {
    if (options_.graph_out.empty()) return ok_status();
    return written(write_text_file(options_.graph_out, write_graph(*made_.file)), "--graph-out");
  }

  /// The loss as the graph file has it: that of a step may be a mean over towers.
  Endpoint forward_loss() const {
    NameError error;
    return find_tensor(made_.file->graph, made_.training.loss.name, error);
  }

  Status read_data() {
    DataProblems found;
    const GraphFile& file = *made_.file;
    if (data_.train) made_.train = Dataset::read(file, *data_.train, "train", found);
    RETURN_IF_ERROR(stop_status());
    if (data_.test) made_.test = Dataset::read(file, *data_.test, "test", found);
    RETURN_IF_ERROR(stop_status());
    for (const Dataset* data : {made_.train.get(), made_.test.get()}) {
      if (data) data->check_labels(file, forward_loss(), found);
      if (data) check_batch(*data, data == made_.train.get(), found);
    }
    for (const Problem& p : found.graph.list()) c_.found.problems.add(p.position, p.message, p.hint, p.code);
    if (found.files.empty()) return first_problem(c_.found.problems);
    while (found.files.ends_with('\n')) found.files.pop_back();
    return Status(found.code, std::move(found.files)).blamed(Blame::kData);
  }

  void check_batch(const Dataset& data, bool train, DataProblems& found) const {
    const TrainRequest& training = made_.training;
    const int64_t batch = training.batch > 0 ? std::min(training.batch, data.rows()) : data.rows(),
                  fixed = data.fixed_batch();
    if (train && training.drop_remainder && training.batch > data.rows()) {
      found.graph.add(kNoPosition, cat("a batch of ", training.batch, " without remainder of ", data.rows(),
                                       " samples: no step is left"));
    }
    const bool rest = data.rows() % batch != 0 && !(train && training.drop_remainder);
    if (fixed == 0 || (batch == fixed && !rest)) return;
    found.graph.add(kNoPosition,
                    cat("a placeholder takes batches of ", fixed, " samples only; found batches of ", batch,
                        rest ? cat(" and a rest of ", data.rows() % batch) : ""),
                    rest && train ? "\"drop_remainder\": true leaves the rest out" : "");
  }

  Status make_request() {
    RunRequest& request = made_.request;
    const TrainGraph& graph = made_.graph;
    request.fetches.push_back({made_.training.loss.name, graph.loss});
    for (const auto& [name, tensor] : graph.metrics) request.fetches.push_back({name, tensor});
    RETURN_IF_ERROR(find_fetches());
    request.fetches.insert(request.fetches.end(), made_.fetches.begin(), made_.fetches.end());
    request.targets = graph.targets;
    request.init = initializers(*made_.file);
    for (NodeId id : graph.init) {
      if (std::find(request.init.begin(), request.init.end(), id) == request.init.end()) request.init.push_back(id);
    }
    if (Status status = resolve_feeds(*made_.file, c_.options.run, request); !status.ok())
      return status.blamed(Blame::kUsage);
    if (made_.train) request.fed_anew = made_.train->placeholders();
    RETURN_IF_ERROR(check_fed_once());
    std::erase_if(request.feeds, [&](const auto& feed) {
      return std::find(request.fed_anew.begin(), request.fed_anew.end(), feed.first) != request.fed_anew.end();
    });
    if (!made_.train && made_.training.steps == 0)
      return usage_error("no data: give --steps N, or say in the graph file what to train on (\"data\")");
    RETURN_IF_ERROR(open_checkpoints());
    c_.options.run.seed = made_.training.seed == 0 ? 1 : made_.training.seed;
    return ok_status();
  }

  /// A --feed of what the data feed in every step would have no effect.
  Status check_fed_once() const {
    const Graph& g = made_.file->graph;
    for (const std::string& feed : c_.options.run.feed) {
      const std::string name = feed.substr(0, feed.find_first_of("=:"));
      const NodeId node = g.find(name);
      const auto& by_data = made_.request.fed_anew;
      if (node != kNoNode && std::any_of(by_data.begin(), by_data.end(), [&](Endpoint e) { return e.node == node; }))
        return usage_error(cat("--feed: the training data feed '", name, "' in every step; leave out one of them"));
    }
    return ok_status();
  }

  /// --fetch, in the graph that trains.
  Status find_fetches() {
    const bool wanted = !c_.options.run.fetch.empty();
    if (wanted && !made_.graph.towers.empty())
      return usage_error("--fetch: the towers of ps-async have no last step in common");
    if (!wanted && wants_outputs_)
      return usage_error("--save and --expect are about fetched tensors: give --fetch NAME, too");
    if (!wanted) return ok_status();
    Result<std::vector<Fetch>> found =
        resolve_fetches(*made_.file, fetch_names(*made_.file, c_.options.run), {}, c_.found.problems);
    if (!found.ok()) return found.status().blamed(Blame::kUsage);
    made_.fetches = found.take();
    return ok_status();
  }

  Status open_checkpoints() {
    const TrainingOptions& o = options_;
    const std::string& restore = c_.options.run.restore;
    if (o.checkpoint.empty() && (o.save_every_steps > 0 || o.save_every_s > 0))
      return usage_error("--save-every: give --checkpoint DIR, too");
    if (o.checkpoint_format != CheckpointFormat::kNpz && o.checkpoint.empty())
      return usage_error("--checkpoint-format: give --checkpoint DIR, too");
    if (o.overwrite && o.checkpoint.empty()) return usage_error("--overwrite: give --checkpoint DIR, too");
    if (o.overwrite && restore == "latest")
      return usage_error("--overwrite begins anew, --restore latest goes on: give one of them");
    if (!o.checkpoint.empty()) {
      Result<CheckpointFolder> folder = CheckpointFolder::open(o.checkpoint, o.keep, o.checkpoint_format);
      if (!folder.ok()) return folder.status().with_context("--checkpoint").blamed(Blame::kUsage);
      made_.folder = folder.take();
      if (!o.overwrite)
        RETURN_IF_ERROR(made_.folder->check_versions().with_context("--checkpoint").blamed(Blame::kUsage));
    }
    if (o.state) {
      made_.restored = *o.state;
    } else if (restore == "latest") {
      RETURN_IF_ERROR(restore_latest());
    } else if (!restore.empty()) {
      Result<Checkpoint> checkpoint = load_checkpoint(restore, made_.file.get(), &made_.file->graph);
      if (!checkpoint.ok()) return checkpoint.status().with_context("--restore").blamed(Blame::kUsage);
      made_.restored = checkpoint.take();
    }
    if (made_.restored) RETURN_IF_ERROR(take_over_seed(*made_.restored));
    return made_.folder ? claim_folder().with_context("--checkpoint").blamed(Blame::kUsage) : ok_status();
  }

  Status claim_folder() {
    made_.identity.seed = static_cast<uint64_t>(made_.training.seed);
    if (data_.train) {
      ASSIGN_OR_RETURN(made_.identity.data, data_fingerprint(*data_.train));
    }
    return made_.folder->claim(made_.identity, made_.restored ? &*made_.restored : nullptr,
                               options_.overwrite && !options_.state);
  }

  Status restore_latest() {
    if (!made_.folder) return usage_error("--restore latest: give --checkpoint DIR, too");
    std::vector<std::string> damaged;
    made_.restored = made_.folder->newest(damaged);
    for (const std::string& text : damaged) c_.log.warning(cat("passed over: ", text));
    if (!made_.restored)
      c_.log.warning(damaged.empty()
                         ? cat("no checkpoint in '", options_.checkpoint, "' yet: starting from the beginning")
                         : cat("no whole checkpoint in '", options_.checkpoint,
                               "': starting from the beginning; what is damaged is kept"));
    return ok_status();
  }

  /// What a checkpoint was begun with counts.
  Status take_over_seed(const Checkpoint& restored) {
    if (restored.seed != 0) {
      const auto seed = static_cast<int64_t>(restored.seed);
      if (c_.options.given.contains("seed") && made_.training.seed != seed) {
        return usage_error(cat("--seed ", made_.training.seed, ": the checkpoint of step ", restored.step,
                               " goes on with seed ", seed, ", and another seed is another run: leave --seed out; or ",
                               "begin anew without --restore, with --overwrite or in another folder"));
      }
      made_.training.seed = seed;
    }
    if (!restored.graph_sha256.empty() && restored.graph_sha256 != made_.identity.graph_sha256)
      c_.log.warning("the checkpoint was written by another version of this graph file");
    return ok_status();
  }

  StageContext& c_;
  const TrainingOptions& options_;
  const bool wants_outputs_;
  Trainable made_;
  DataRequest data_;
};

}  // namespace

std::vector<std::string> Trainable::metric_names() const {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : graph.metrics) names.push_back(name);
  return names;
}

Result<Trainable> validate_training(StageContext& c, const Loaded& loaded, const TrainingOptions& options,
                                    bool wants_outputs) {
  return run_stage(
      c, Stage::kValidate, Blame::kFile, [&] { return TrainableBuilder(c, options, wants_outputs).build(loaded); },
      dump_made);
}

Result<std::vector<std::pair<std::string, std::string>>> training_facts(StageContext& c, const Loaded& loaded,
                                                                        const TrainingOptions& options) {
  std::vector<std::pair<std::string, std::string>> facts = {{"graph", sha256_hex(c.found.source->text())}};
  TrainRequest request;
  DataRequest data;
  read_train_keys(*loaded.file, c.options.load, request, data, c.found.problems);
  RETURN_IF_ERROR(first_problem(c.found.problems).blamed(Blame::kFile));
  TrainFlags flags = options.flags;
  if (c.model) train_model(*c.model, *loaded.file, c.options.run, flags, request, data);
  if (!flags.data.empty() && !data.train) data.train.emplace();  // only its file matters here, which a flag may name
  if (Status status = apply_train_flags(flags, request, data); !status.ok()) return status.blamed(Blame::kUsage);
  for (const auto& [name, set] : {std::pair("training data", &data.train), std::pair("test data", &data.test)}) {
    if (!*set) continue;
    Result<std::string> fingerprint = data_fingerprint(**set);
    if (!fingerprint.ok()) return fingerprint.status().blamed(Blame::kData);
    facts.emplace_back(name, fingerprint.take());
  }
  return facts;
}

}  // namespace emplace
