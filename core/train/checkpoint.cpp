// The files: naming, writing, finding and reading them.
#include "core/train/checkpoint.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "core/base/cat.h"
#include "core/base/durable_file.h"
#include "core/base/json_writer.h"
#include "core/base/schema.h"
#include "core/formats/object_reader.h"
#include "core/formats/value_reader.h"
#include "core/tensor/npy.h"
#include "core/train/bundle_checkpoint.h"

namespace emplace {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "step-";

std::string base_name(int64_t step) {
  char text[32];
  std::snprintf(text, sizeof text, "step-%08lld", static_cast<long long>(step));
  return text;
}

/// The step of "step-00000120.json"; nothing for other names.
std::optional<int64_t> step_of(const fs::path& path) {
  std::string name = path.filename().string();
  if (!name.starts_with(kPrefix) || !name.ends_with(".json")) return std::nullopt;
  std::string_view digits = std::string_view(name).substr(kPrefix.size(), name.size() - kPrefix.size() - 5);
  int64_t step = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), step);
  if (error != std::errc() || end != digits.data() + digits.size() || step < 0) return std::nullopt;
  return step;
}

/// The .json files of a folder by step, the newest first.
std::vector<std::pair<int64_t, fs::path>> list_checkpoints(const std::string& folder) {
  std::vector<std::pair<int64_t, fs::path>> found;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (auto step = step_of(it->path())) found.emplace_back(*step, it->path());
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  return found;
}

std::string json_text(const Checkpoint& c, const std::string& graph_name, const std::string& npz, size_t npz_bytes) {
  std::string text;
  JsonWriter json(text, 2);
  write_schema(json.begin_object(), Document::kCheckpoint)
      .member("step", c.step)
      .member("seed", c.seed)
      .member("batch", c.batch);
  json.key("position")
      .begin_object()
      .compact()
      .member("epoch", c.position.epoch + 1)
      .member("row", c.position.row)
      .end_object();
  json.key("random").begin_object();
  for (const auto& [node, blocks] : c.random) json.member(node, blocks);
  json.end_object();
  json.key("graph").begin_object().compact().member("file", graph_name).member("sha256", c.graph_sha256).end_object();
  json.key("variables").begin_object().compact().member("file", npz).member("bytes", npz_bytes).end_object();
  json.end_object();
  return text + "\n";
}

class CheckpointReader {
 public:
  explicit CheckpointReader(const Source& source) : reader_(source.text(), problems_, arena_), source_(source) {}

  /// Everything but the variables; `npz` and `bytes` say where those are.
  Status read(Checkpoint& c, std::string& npz, int64_t& bytes) {
    enum { kVersion, kStep, kSeed, kBatch, kPosition, kRandom, kGraph, kVariables };
    static constexpr std::string_view kKeys[] = {"schema_version", "step",   "seed",  "batch",
                                                 "position",       "random", "graph", "variables"};
    ObjectReader object(reader_, kKeys, "a checkpoint");
    while (object.next()) {
      switch (object.field()) {
        case kVersion:
          check_version();
          break;
        case kStep:
          c.step = number("step");
          break;
        case kSeed:
          c.seed = static_cast<uint64_t>(number("seed"));
          break;
        case kBatch:
          c.batch = number("batch");
          break;
        case kPosition:
          read_position(c.position);
          break;
        case kRandom:
          read_random(c);
          break;
        case kGraph:
          read_graph(c);
          break;
        case kVariables:
          read_file(npz, bytes);
          break;
      }
    }
    reader_.finish();
    for (int field : {kStep, kSeed, kBatch, kPosition, kVariables}) {
      if (problems_.empty() && !object.has(field)) problems_.add(0, cat("a checkpoint without '", kKeys[field], "'"));
    }
    return problems_.empty() ? ok_status() : invalid_argument(problems_.to_string(source_));
  }

 private:
  void check_version() {
    reader_.peek();
    const size_t position = reader_.position();
    const Status known = check_schema(Document::kCheckpoint, reader_.skip());
    if (!reader_.failed() && !known.ok()) reader_.problem(position, known.message());
  }

  int64_t number(std::string_view what) { return read_integer(reader_, what, 0).value_or(0); }

  void read_position(DataPosition& position) {
    static constexpr std::string_view kKeys[] = {"epoch", "row"};
    for (ObjectReader object(reader_, kKeys, "position"); object.next();) {
      if (object.field() == 0)
        position.epoch = std::max<int64_t>(number("epoch"), 1) - 1;
      else
        position.row = number("row");
    }
  }

  void read_random(Checkpoint& c) {
    if (!expect(reader_, JsonReader::Kind::kObject, "random")) return;
    reader_.enter_object();
    for (std::string_view node; reader_.next_key(node);) {
      std::string name(node);
      c.random.emplace_back(std::move(name), static_cast<uint64_t>(number("random")));
    }
  }

  void read_graph(Checkpoint& c) {
    static constexpr std::string_view kKeys[] = {"file", "sha256"};
    for (ObjectReader object(reader_, kKeys, "graph"); object.next();) {
      if (object.field() == 1) c.graph_sha256 = read_text(reader_, "sha256").value_or("");
    }
  }

  void read_file(std::string& npz, int64_t& bytes) {
    static constexpr std::string_view kKeys[] = {"file", "bytes"};
    for (ObjectReader object(reader_, kKeys, "variables"); object.next();) {
      if (object.field() == 0)
        npz = read_text(reader_, "file").value_or("");
      else
        bytes = number("bytes");
    }
  }

  Problems problems_;
  TextArena arena_;
  JsonReader reader_;
  const Source& source_;
};

Result<Checkpoint> load_json(const fs::path& path) {
  ASSIGN_OR_RETURN(std::shared_ptr<const Source> source, Source::open(path.string()));
  Checkpoint c;
  std::string npz;
  int64_t bytes = 0;
  RETURN_IF_ERROR(CheckpointReader(*source).read(c, npz, bytes));
  fs::path array_file = path.parent_path() / fs::path(npz).filename();
  std::error_code error;
  auto size = fs::file_size(array_file, error);
  if (error) return not_found(cat(array_file.string(), ": ", error.message()));
  if (static_cast<int64_t>(size) != bytes)
    return invalid_argument(cat(array_file.string(), ": found ", size, " bytes, wanted ", bytes));
  ASSIGN_OR_RETURN(c.variables, read_npz(array_file.string()));
  return c;
}

}  // namespace

Result<Checkpoint> load_checkpoint(const std::string& name, const Graph* graph) {
  ASSIGN_OR_RETURN(std::optional<Checkpoint> bundle, load_bundle(name, graph));
  if (bundle) return std::move(*bundle);
  std::error_code error;
  fs::path path(name);
  if (fs::is_directory(path, error)) {
    auto found = list_checkpoints(name);
    if (found.empty()) return not_found(cat("no checkpoint in '", name, "'"));
    Status first;
    for (const auto& [step, json] : found) {
      Result<Checkpoint> c = load_json(json);
      if (c.ok()) return c;
      if (first.ok()) first = c.take_status();
    }
    return first;
  }
  if (path.extension() == ".npz") {
    fs::path json = fs::path(path).replace_extension(".json");
    if (fs::exists(json, error)) return load_json(json);
    Checkpoint c;
    ASSIGN_OR_RETURN(c.variables, read_npz(name));
    return c;
  }
  return load_json(path);
}

Result<CheckpointFolder> CheckpointFolder::open(std::string path, int64_t keep) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) return unavailable(cat("cannot make folder '", path, "': ", error.message()));
  for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    std::string name = it->path().filename().string();
    std::error_code ignored;
    if (name.starts_with(kPrefix) && name.ends_with(kPartEnding)) fs::remove(it->path(), ignored);
  }
  return CheckpointFolder(std::move(path), keep);
}

std::optional<Checkpoint> CheckpointFolder::newest(std::vector<std::string>& damaged) const {
  for (const auto& [step, json] : list_checkpoints(path_)) {
    Result<Checkpoint> c = load_json(json);
    if (c.ok()) return c.take();
    damaged.push_back(c.status().message());
  }
  return std::nullopt;
}

Result<std::string> CheckpointFolder::save(const Checkpoint& checkpoint, const std::string& graph_name) {
  std::string name = base_name(checkpoint.step);
  std::string npz = (fs::path(path_) / (name + ".npz")).string();
  size_t size = 0;
  RETURN_IF_ERROR(write_durably(npz, [&](const ByteSink& file) {
    return npz_to([&](std::string_view bytes) { return size += bytes.size(), file(bytes); }, checkpoint.variables);
  }));
  std::string json = json_text(checkpoint, graph_name, name + ".npz", size);
  RETURN_IF_ERROR(write_durably((fs::path(path_) / (name + ".json")).string(), json));
  remove_old();
  return npz;
}

// The .json first: an .npz alone is no checkpoint, and is gone with the next one.
void CheckpointFolder::remove_old() const {
  if (keep_ == 0) return;
  auto found = list_checkpoints(path_);
  std::error_code ignored;
  for (size_t i = static_cast<size_t>(keep_); i < found.size(); ++i) fs::remove(found[i].second, ignored);
  found.resize(std::min(found.size(), static_cast<size_t>(keep_)));
  std::vector<fs::path> left_over;
  for (fs::directory_iterator it(path_, ignored), end; !ignored && it != end; it.increment(ignored)) {
    fs::path json = fs::path(it->path()).replace_extension(".json");
    if (it->path().extension() != ".npz" || !step_of(json)) continue;
    if (std::none_of(found.begin(), found.end(), [&](const auto& f) { return f.second == json; }))
      left_over.push_back(it->path());
  }
  for (const fs::path& file : left_over) fs::remove(file, ignored);
}

}  // namespace emplace
