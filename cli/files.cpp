#include "cli/files.h"

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

void name_inputs(const Options& o, const std::vector<OptionSource>& sources, NamedFiles& files) {
  const RunOptions& run = o.pipeline.run;
  for (const std::string& path : o.arguments) files.reads(path, "the command");
  for (const OptionSource& source : sources) {
    if (source.name == "config" && !source.values.empty()) files.reads(source.values.front(), "--config");
    if (source.name == "devices" && !source.values.empty()) reads_value(source.values.front(), "--devices", files);
  }
  files.reads(o.pipeline.placing.placement_in, "--placement-in");
  for (const std::string& table : o.pipeline.placing.automatic.costs) files.reads(table, "--costs");
  for (const std::string& feed : run.feed) reads_value(feed, "--feed", files);
  for (const std::string& expect : o.outputs.expect) reads_value(expect, "--expect", files);
  files.reads(run.restore, "--restore");
  files.reads_checkpoints(run.restore, "--restore");
}

}  // namespace

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
