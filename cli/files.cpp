#include "cli/files.h"

#include <cstdlib>
#include <filesystem>

namespace emplace {
namespace {

/// "NAME=@x.npz:key" reads x.npz.
void reads_value(const std::string& text, const char* option, NamedFiles& files) {
  const size_t at = text.find('@');
  if (at == std::string::npos) return;
  std::string path = text.substr(at + 1);
  files.reads(path, option);
  if (const size_t key = path.find(".npz:"); key != std::string::npos) files.reads(path.substr(0, key + 4), option);
}

/// A checkpoint: its file or folder, or what the names of its files begin with.
void reads_checkpoint(const std::string& path, NamedFiles& files) {
  if (path.empty()) return;
  files.reads(path, "--restore");
  files.reads_checkpoints(path, "--restore");
  const std::filesystem::path prefix(path);
  const std::string name = prefix.filename().string() + ".";
  std::error_code error;
  const std::filesystem::path folder = prefix.has_parent_path() ? prefix.parent_path() : ".";
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (at->path().filename().string().starts_with(name)) files.reads(at->path().string(), "--restore");
  }
}

/// Options of one command each, which are values of its own.
void reads_own(const OptionSource& option, const Options& o, NamedFiles& files) {
  for (const std::string& value : option.values) {
    if (option.name == "config") files.reads(value, "--config");
    if (option.name == "devices") reads_value(value, "--devices", files);
    if (option.name == "baseline") files.reads(value, "--baseline");
    if (option.name == "b" && value.starts_with('@')) files.reads(value.substr(1), "--b");
    if (option.name == "data") files.reads(value.substr(value.find('=') + 1), "--data");
    if (option.name == "trace" && o.pipeline.run.trace.empty()) files.reads(value, "--trace");  // of draw
  }
}

void name_inputs(const Options& o, const std::vector<OptionSource>& sources, NamedFiles& files) {
  const RunOptions& run = o.pipeline.run;
  for (const std::string& path : o.arguments) reads_graph(path, "the command", files);
  if (const char* config = std::getenv("EMPLACE_CONFIG")) files.reads(config, "EMPLACE_CONFIG");
  for (const OptionSource& source : sources) reads_own(source, o, files);
  files.reads(o.pipeline.placing.placement_in, "--placement-in");
  for (const std::string& table : o.pipeline.placing.automatic.costs) files.reads(table, "--costs");
  for (const std::string& feed : run.feed) reads_value(feed, "--feed", files);
  for (const std::string& expect : o.outputs.expect) reads_value(expect, "--expect", files);
  reads_checkpoint(run.restore, files);
}

}  // namespace

void reads_graph(const std::string& path, std::string_view option, NamedFiles& files) {
  constexpr int kMost = 4096;
  files.reads(path, std::string(option));
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) return;
  std::filesystem::recursive_directory_iterator at(path, error), end;
  for (int seen = 0; !error && at != end && seen < kMost; at.increment(error), ++seen)
    files.reads(at->path().string(), std::string(option));
}

bool saves_to_folder(const std::string& target) { return !target.ends_with(".npz") && !target.ends_with(".npy"); }

Status name_files(Options& o, const std::vector<OptionSource>& sources) {
  name_inputs(o, sources, o.pipeline.files);
  const PlaceFlags& placing = o.pipeline.placing;
  const std::string& log = placing.log_device_placement;
  RETURN_IF_ERROR(o.pipeline.files.writes(o.talk.file, "--log-file"));
  if (log != "stderr" && log != "stdout") RETURN_IF_ERROR(o.pipeline.files.writes(log, "--log-device-placement"));
  RETURN_IF_ERROR(o.pipeline.files.writes(placing.placement_out, "--placement-out"));
  RETURN_IF_ERROR(o.pipeline.files.writes(o.pipeline.run.trace, "--trace"));
  for (const std::string& target : o.outputs.save) {
    if (!saves_to_folder(target)) RETURN_IF_ERROR(o.pipeline.files.writes(target, "--save"));
  }
  return ok_status();
}

}  // namespace emplace
