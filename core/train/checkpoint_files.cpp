#include "core/train/checkpoint_files.h"

#include <zlib.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <tuple>

#include "core/base/cat.h"
#include "core/base/json_writer.h"
#include "core/base/printable.h"
#include "core/base/schema.h"
#include "core/formats/object_reader.h"
#include "core/formats/value_reader.h"
#include "core/tensor/npy.h"
#include "core/train/bundle_checkpoint.h"

namespace emplace {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "step-";

class CheckpointReader {
 public:
  explicit CheckpointReader(const Source& source) : reader_(source.text(), problems_, arena_), source_(source) {}

  Status read(CheckpointHead& head) {
    Checkpoint& c = head.checkpoint;
    enum { kVersion, kStep, kSeed, kBatch, kPosition, kRandom, kGraph, kData, kRun, kVariables };
    static constexpr std::string_view kKeys[] = {"schema_version", "step",  "seed", "batch", "position",
                                                 "random",         "graph", "data", "run",   "variables"};
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
        case kData:
          c.data = text("data");
          break;
        case kRun:
          c.run_number = number("run");
          break;
        case kVariables:
          read_file(head.variables);
          break;
      }
    }
    reader_.finish();
    for (int field : {kStep, kSeed, kBatch, kPosition, kVariables}) {
      if (problems_.empty() && !object.has(field)) problems_.add(0, cat("a checkpoint without '", kKeys[field], "'"));
    }
    if (problems_.empty()) return ok_status();
    std::string text = problems_.to_string(source_);
    return other_version_ ? failed_precondition(std::move(text)) : invalid_argument(std::move(text));
  }

 private:
  void check_version() {
    reader_.peek();
    const size_t position = reader_.position();
    const Status known = check_schema(Document::kCheckpoint, reader_.skip());
    if (reader_.failed() || known.ok()) return;
    reader_.problem(position, known.message());
    other_version_ = true;
  }

  std::string text(std::string_view what) { return std::string(read_text(reader_, what).value_or("")); }
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
      (object.field() == 0 ? c.graph_file : c.graph_sha256) = text("graph");
    }
  }

  void read_file(VariablesFile& file) {
    static constexpr std::string_view kKeys[] = {"file", "bytes", "crc32"};
    for (ObjectReader object(reader_, kKeys, "variables"); object.next();) {
      if (object.field() == 0)
        file.name = text("file");
      else if (object.field() == 1)
        file.bytes = number("bytes");
      else
        file.crc32 = text("crc32");
    }
  }

  Problems problems_;
  TextArena arena_;
  JsonReader reader_;
  const Source& source_;
  bool other_version_ = false;
};

std::string variables_path(const CheckpointHead& head) {
  return (fs::path(head.path).parent_path() / fs::path(head.variables.name).filename()).string();
}

Status check_variables_file(const std::string& path, const VariablesFile& file) {
  std::error_code error;
  const auto size = fs::file_size(path, error);
  if (error) return not_found(cat(printable(path), ": ", error.message()));
  if (static_cast<int64_t>(size) != file.bytes)
    return invalid_argument(cat(printable(path), ": found ", size, " bytes, wanted ", file.bytes));
  if (file.crc32.empty()) return ok_status();
  ASSIGN_OR_RETURN(std::shared_ptr<const Source> bytes, Source::open(path));
  const std::string_view text = bytes->text();
  const std::string found =
      crc32_text(static_cast<uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(text.data()), text.size())));
  if (found == file.crc32) return ok_status();
  return invalid_argument(cat(printable(path), ": found the checksum ", found, ", wanted ", file.crc32));
}

/// Of a folder: is there a .json that says more than TensorFlow's files do?
bool holds_own_checkpoints(const fs::path& folder) {
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (checkpoint_step(it->path().filename().string(), ".json")) return true;
  }
  return false;
}

}  // namespace

std::string checkpoint_name(int64_t step) {
  char text[32];
  std::snprintf(text, sizeof text, "step-%08lld", static_cast<long long>(step));
  return text;
}

std::optional<int64_t> checkpoint_step(std::string_view name, std::string_view ending) {
  if (!name.starts_with(kPrefix) || !name.ends_with(ending) || name.size() <= kPrefix.size() + ending.size())
    return std::nullopt;
  const std::string_view digits = name.substr(kPrefix.size(), name.size() - kPrefix.size() - ending.size());
  int64_t step = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), step);
  if (error != std::errc() || end != digits.data() + digits.size() || step < 0) return std::nullopt;
  return step;
}

std::string crc32_text(uint32_t crc) {
  char text[16];
  std::snprintf(text, sizeof text, "%08x", static_cast<unsigned>(crc));
  return text;
}

std::string checkpoint_json(const Checkpoint& c, const VariablesFile& variables) {
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
  json.key("graph").begin_object().compact().member("file", c.graph_file).member("sha256", c.graph_sha256).end_object();
  if (!c.data.empty()) json.member("data", c.data);
  json.member("run", c.run_number);
  json.key("variables")
      .begin_object()
      .compact()
      .member("file", variables.name)
      .member("bytes", variables.bytes)
      .member("crc32", variables.crc32)
      .end_object();
  json.end_object();
  return text + "\n";
}

Result<CheckpointHead> read_checkpoint_head(const std::string& path) {
  ASSIGN_OR_RETURN(std::shared_ptr<const Source> source, Source::open(path));
  CheckpointHead head;
  head.path = path;
  RETURN_IF_ERROR(CheckpointReader(*source).read(head));
  return head;
}

Status check_variables(const CheckpointHead& head) {
  return check_variables_file(variables_path(head), head.variables);
}

Result<Checkpoint> read_checkpoint(CheckpointHead head) {
  RETURN_IF_ERROR(check_variables(head));
  const std::string path = variables_path(head);
  if (path.ends_with(".index")) {
    Sequential one;
    ASSIGN_OR_RETURN(std::optional<Checkpoint> bundle, load_bundle(path, nullptr, nullptr, one));
    if (!bundle) return not_found(cat(printable(path), ": there is no such checkpoint"));
    head.checkpoint.variables = std::move(bundle->variables);
    return std::move(head.checkpoint);
  }
  ASSIGN_OR_RETURN(head.checkpoint.variables, read_npz(path));
  return std::move(head.checkpoint);
}

std::vector<CheckpointHead> list_checkpoints(const std::string& folder, std::vector<std::string>& damaged) {
  std::vector<CheckpointHead> found;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (!checkpoint_step(it->path().filename().string(), ".json")) continue;
    Result<CheckpointHead> head = read_checkpoint_head(it->path().string());
    head.ok() ? found.push_back(head.take()) : damaged.push_back(head.status().message());
  }
  auto order = [](const CheckpointHead& h) { return std::tuple(h.checkpoint.run_number, h.checkpoint.step); };
  std::sort(found.begin(), found.end(), [&](const auto& a, const auto& b) { return order(a) > order(b); });
  std::sort(damaged.begin(), damaged.end());
  return found;
}

Result<Checkpoint> load_checkpoint(const std::string& name, const GraphFile* file, const Graph* wanted,
                                   Parallel* parallel) {
  Sequential one;
  std::error_code error;
  fs::path path(name);
  if (!holds_own_checkpoints(path)) {
    ASSIGN_OR_RETURN(std::optional<Checkpoint> bundle, load_bundle(name, file, wanted, parallel ? *parallel : one));
    if (bundle) return std::move(*bundle);
  }
  if (fs::is_directory(path, error)) {
    // Another run that writes there may remove files that were just listed.
    Status first;
    for (int attempt = 0; attempt < 3; ++attempt) {
      std::vector<std::string> damaged;
      first = ok_status();
      for (CheckpointHead& head : list_checkpoints(name, damaged)) {
        Result<Checkpoint> c = read_checkpoint(std::move(head));
        if (c.ok()) return c;
        if (first.ok()) first = c.take_status();
      }
      if (first.ok())
        first = damaged.empty() ? not_found(cat("no checkpoint in '", name, "'")) : invalid_argument(damaged.back());
    }
    return first;
  }
  if (path.extension() == ".npz") {
    const fs::path json = fs::path(path).replace_extension(".json");
    if (!fs::exists(json, error)) {
      Checkpoint c;
      ASSIGN_OR_RETURN(c.variables, read_npz(name));
      return c;
    }
    path = json;
  }
  ASSIGN_OR_RETURN(CheckpointHead head, read_checkpoint_head(path.string()));
  return read_checkpoint(std::move(head));
}

}  // namespace emplace
