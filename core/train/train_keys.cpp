// Part of core/train/train_options.h: read_train_keys(): the objects `train` and `data` of a graph file.
#include <algorithm>
#include <array>

#include "core/base/cat.h"
#include "core/base/suggest.h"
#include "core/formats/file_access.h"
#include "core/formats/object_reader.h"
#include "core/formats/value_reader.h"
#include "core/train/optimizers/optimizer_list.h"
#include "core/train/train_options.h"

namespace emplace {
namespace {

using Kind = JsonReader::Kind;

int64_t as_position(size_t at) { return static_cast<int64_t>(at); }

/// A number or true, false; in `lists` also a list of numbers.
std::optional<std::vector<double>> read_numbers(JsonReader& reader, std::string_view what, bool lists) {
  if (reader.peek() == Kind::kBool) return std::vector<double>{reader.take_bool() ? 1.0 : 0.0};
  std::vector<double> values;
  if (lists && reader.peek() == Kind::kArray) {
    for (reader.enter_array(); reader.next_element();) values.push_back(read_double(reader, what).value_or(0));
    return values;
  }
  auto number = read_double(reader, what);
  if (!number) return std::nullopt;
  return std::vector<double>{*number};
}

/// The least that a number may be: `low` itself if `inclusive`.
std::optional<double> read_number_above(JsonReader& reader, std::string_view what, double low, bool inclusive) {
  reader.peek();
  size_t at = reader.position();
  auto value = read_double(reader, what);
  if (!value || (*value > low) || (inclusive && *value == low)) return value;
  reader.problem(at, cat(what, ": found ", *value, ", wanted ", inclusive ? "at least " : "more than ", low));
  return std::nullopt;
}

struct Schedule {
  std::string_view name;
  std::array<std::string_view, 5> arguments;
  size_t required;  // that many of them, from the first
};
constexpr Schedule kSchedules[] = {
    {"exponential", {"initial_learning_rate", "decay_steps", "decay_rate", "staircase"}, 3},
    {"cosine", {"initial_learning_rate", "decay_steps", "alpha", "warmup_target", "warmup_steps"}, 2},
    {"piecewise", {"boundaries", "values"}, 2},
};

class TrainReader {
 public:
  TrainReader(const GraphFile& file, Problems& problems)
      : file_(file), problems_(problems), reader_(file.source->text(), problems, file.graph.texts_.arena()) {}

  void read(TrainRequest& train) {
    reader_.seek(static_cast<size_t>(file_.train_json.data() - file_.source->text().data()));
    const std::vector<std::string_view> keys = train_keys();
    for (ObjectReader object(reader_, keys, "train"); object.next();) {
      std::string_view key = keys[static_cast<size_t>(object.field())];
      switch (object.field()) {
        case kLoss:
          train.loss = read_ref("loss");
          break;
        case kOptimizer:
          read_optimizer(train);
          break;
        case kLearningRate:
          read_rate(train.learning_rate);
          break;
        case kClipNorm:
          train.clip_norm = read_number_above(reader_, key, 0, false);
          break;
        case kMetrics:
          read_metrics(train);
          break;
        case kBatch:
          train.batch = read_integer(reader_, key, 1).value_or(1);
          break;
        case kEpochs:
          train.epochs = read_integer(reader_, key, 1).value_or(1);
          break;
        case kSteps:
          train.steps = read_integer(reader_, key, 1).value_or(1);
          break;
        case kSeed:
          train.seed = read_integer(reader_, key, 0).value_or(1);
          break;
        case kShuffle:
          train.shuffle = read_bool(reader_, key).value_or(true);
          break;
        case kDropRemainder:
          train.drop_remainder = read_bool(reader_, key).value_or(false);
          break;
        case kVarList:
          read_names(train.var_list);
          break;
        default:
          auto at = as_position(object.key_position());
          if (auto values = read_numbers(reader_, key, false))
            train.arguments.push_back({std::string(key), *values, at});
      }
    }
    check_arguments(train);
    train.target = file_.target;
  }

 private:
  enum {
    kLoss,
    kOptimizer,
    kLearningRate,
    kClipNorm,
    kMetrics,
    kBatch,
    kEpochs,
    kSteps,
    kSeed,
    kShuffle,
    kDropRemainder,
    kVarList
  };
  /// Those of every training by number, then the arguments of all optimizers.
  static std::vector<std::string_view> train_keys() {
    std::vector<std::string_view> keys = {"loss",    "optimizer", "learning_rate",  "clip_norm",
                                          "metrics", "batch",     "epochs",         "steps",
                                          "seed",    "shuffle",   "drop_remainder", "var_list"};
    for (const Optimizer& row : optimizers()) {
      for (const OptimizerArgument& a : row.arguments) {
        if (std::find(keys.begin(), keys.end(), a.name) == keys.end()) keys.push_back(a.name);
      }
    }
    return keys;
  }

  NamedRef read_ref(std::string_view what) {
    reader_.peek();
    auto at = as_position(reader_.position());
    return {std::string(read_text(reader_, what).value_or("")), at};
  }

  void read_names(std::vector<NamedRef>& names) {
    if (!expect(reader_, Kind::kArray, "var_list")) return;
    for (reader_.enter_array(); reader_.next_element();) names.push_back(read_ref("var_list"));
  }

  void read_metrics(TrainRequest& train) {
    if (!expect(reader_, Kind::kObject, "metrics")) return;
    reader_.enter_object();
    for (std::string_view name; reader_.next_key(name);) {
      std::string kept(name);
      train.metrics.push_back({kept, read_ref(kept)});
    }
  }

  void read_optimizer(TrainRequest& train) {
    reader_.peek();
    train.optimizer_position = as_position(reader_.position());
    train.optimizer = read_text(reader_, "optimizer").value_or("");
    if (train.optimizer.empty() || find_optimizer(train.optimizer)) return;
    std::vector<std::string_view> names;
    for (const Optimizer& row : optimizers()) names.push_back(row.name);
    std::string hint = did_you_mean(train.optimizer, names);
    if (hint.empty()) {
      for (std::string_view name : names) append(hint, hint.empty() ? "there are " : ", ", name);
    }
    problems_.add(train.optimizer_position, cat("unknown optimizer '", train.optimizer, "'"), std::move(hint));
  }

  void check_arguments(const TrainRequest& train) {
    const Optimizer* row = find_optimizer(train.optimizer);
    for (const NamedNumbers& given : train.arguments) {
      if (row && row->find(given.name)) continue;
      if (!row && !train.optimizer.empty()) continue;  // the optimizer itself is unknown
      std::string hint;
      for (const OptimizerArgument& a : row ? row->arguments : std::span<const OptimizerArgument>()) {
        append(hint, hint.empty() ? "it has " : ", ", a.name);
      }
      problems_.add(given.position,
                    row ? cat("optimizer '", row->name, "' has no argument '", given.name, "'")
                        : cat("'", given.name, "' without an optimizer"),
                    std::move(hint));
    }
  }

  void read_rate(LearningRate& rate) {
    rate.position = reader_.peek() == Kind::kError ? kNoPosition : as_position(reader_.position());
    switch (reader_.peek()) {
      case Kind::kString:
        rate.tensor = reader_.take_string();
        break;
      case Kind::kObject:
        read_schedule(rate);
        break;
      default:
        rate.number = read_number_above(reader_, "learning_rate", 0, true);
    }
  }

  void read_schedule(LearningRate& rate) {
    std::vector<std::string_view> keys = {"schedule",
                                          "learning_rate"};  // tf.compat.v1.train's word for the initial one
    for (const Schedule& s : kSchedules) {
      for (std::string_view a : s.arguments) {
        if (!a.empty() && std::find(keys.begin(), keys.end(), a) == keys.end()) keys.push_back(a);
      }
    }
    for (ObjectReader object(reader_, keys, "learning_rate"); object.next();) {
      std::string_view key = keys[static_cast<size_t>(object.field())];
      auto at = as_position(object.key_position());
      if (object.field() == 0) {
        rate.schedule = read_text(reader_, key).value_or("");
      } else if (auto values = read_numbers(reader_, key, key == "boundaries" || key == "values")) {
        rate.arguments.push_back({std::string(key == "learning_rate" ? "initial_learning_rate" : key), *values, at});
      }
    }
    check_schedule(rate);
  }

  void check_schedule_values(const LearningRate& rate) {
    size_t boundaries = 0, values = 0;
    for (const NamedNumbers& given : rate.arguments) {
      if (given.name == "boundaries") boundaries = given.values.size();
      if (given.name == "values") values = given.values.size();
      if (given.name == "decay_steps" && !(given.values[0] > 0))
        problems_.add(given.position, cat("decay_steps: found ", given.values[0], ", wanted more than 0"));
    }
    if (values > 0 && values != boundaries + 1) {
      problems_.add(rate.position,
                    cat("schedule 'piecewise': found ", boundaries, " boundaries and ", values, " values"),
                    "there is one value more than boundaries");
    }
  }

  void check_schedule(LearningRate& rate) {
    auto known = std::find_if(std::begin(kSchedules), std::end(kSchedules),
                              [&](const Schedule& s) { return s.name == rate.schedule; });
    if (known == std::end(kSchedules)) {
      problems_.add(
          rate.position,
          rate.schedule.empty() ? "learning_rate: no 'schedule'" : cat("unknown schedule '", rate.schedule, "'"),
          "there are exponential, cosine, piecewise");
      return;
    }
    const auto& names = known->arguments;
    for (const NamedNumbers& given : rate.arguments) {
      if (std::find(names.begin(), names.end(), given.name) != names.end()) continue;
      problems_.add(given.position, cat("schedule '", known->name, "' has no argument '", given.name, "'"));
    }
    check_schedule_values(rate);
    for (size_t i = 0; i < known->required; ++i) {
      auto is_it = [&](const NamedNumbers& given) { return given.name == names[i]; };
      if (std::any_of(rate.arguments.begin(), rate.arguments.end(), is_it)) continue;
      problems_.add(rate.position, cat("schedule '", known->name, "' needs '", names[i], "'"));
    }
  }

  const GraphFile& file_;
  Problems& problems_;
  JsonReader reader_;
};

class DataReader {
 public:
  DataReader(const GraphFile& file, const LoadOptions& options, Problems& problems)
      : file_(file),
        options_(options),
        problems_(problems),
        reader_(file.source->text(), problems, file.graph.texts_.arena()) {}

  void read(DataRequest& data) {
    reader_.seek(static_cast<size_t>(file_.data_json.data() - file_.source->text().data()));
    static constexpr std::string_view kKeys[] = {"train", "test"};
    for (ObjectReader object(reader_, kKeys, "data"); object.next();) {
      read_set(object.field() == 0 ? data.train.emplace() : data.test.emplace());
    }
  }

 private:
  std::string read_file(std::string_view what) {
    reader_.peek();
    size_t at = reader_.position();
    auto name = read_text(reader_, what);
    return name ? allowed_file(*file_.source, options_, problems_, at, *name).value_or("") : std::string();
  }

  void read_set(DataSet& set) {
    enum { kFile, kHeader, kFeed };
    static constexpr std::string_view kKeys[] = {"file", "header", "feed"};
    reader_.peek();
    set.position = as_position(reader_.position());
    bool has_feed = false;
    for (ObjectReader object(reader_, kKeys, "a data set"); object.next();) {
      switch (object.field()) {
        case kFile:
          set.file = read_file("file");
          break;
        case kHeader:
          set.header = read_bool(reader_, "header");
          break;
        case kFeed:
          has_feed = true, read_feeds(set);
          break;
      }
    }
    if (!has_feed && !reader_.failed())
      problems_.add(set.position, "a data set without 'feed'", "\"feed\": {\"PLACEHOLDER\": {\"columns\": \"0-63\"}}");
  }

  void read_feeds(DataSet& set) {
    if (!expect(reader_, Kind::kObject, "feed")) return;
    reader_.enter_object();
    for (std::string_view name; reader_.next_key(name);) {
      FeedRequest& feed = set.feeds.emplace_back();
      auto key_at = reader_.position_of(name);
      feed.placeholder = {std::string(name), as_position(key_at - (key_at != reader_.position()))};
      reader_.peek();
      feed.position = as_position(reader_.position());
      if (reader_.peek() == Kind::kString) {
        feed.key = feed.columns = reader_.take_string();
      } else {
        read_feed(feed);
      }
    }
  }

  void read_feed(FeedRequest& feed) {
    enum { kColumns, kKey, kScale, kOffset, kShape, kFile };
    static constexpr std::string_view kKeys[] = {"columns", "key", "scale", "offset", "shape", "file"};
    for (ObjectReader object(reader_, kKeys, "a feed"); object.next();) {
      switch (object.field()) {
        case kColumns:
          feed.columns = read_columns();
          break;
        case kKey:
          feed.key = read_text(reader_, "key").value_or("");
          break;
        case kScale:
          feed.scale = read_double(reader_, "scale").value_or(1);
          break;
        case kOffset:
          feed.offset = read_double(reader_, "offset").value_or(0);
          break;
        case kShape:
          feed.shape = read_shape(reader_, "shape");
          break;
        case kFile:
          feed.file = read_file("file");
          break;
      }
    }
  }

  /// Text, or the number of one column.
  std::string read_columns() {
    if (reader_.peek() != Kind::kNumber) return std::string(read_text(reader_, "columns").value_or(""));
    auto number = read_integer(reader_, "columns", 0);
    return number ? cat(*number) : std::string();
  }

  const GraphFile& file_;
  const LoadOptions& options_;
  Problems& problems_;
  JsonReader reader_;
};

}  // namespace

void read_train_keys(const GraphFile& file, const LoadOptions& options, TrainRequest& train, DataRequest& data,
                     Problems& problems) {
  if (file.train_json.empty()) {
    train.target = file.target;
  } else {
    TrainReader(file, problems).read(train);
  }
  if (!file.data_json.empty()) DataReader(file, options, problems).read(data);
}

}  // namespace emplace
