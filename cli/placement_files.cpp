#include "cli/placement_files.h"

#include "cli/command.h"

namespace emplace {
namespace {

constexpr int kRefused = 2;

Status begin(const std::string& path, const char* option, OutputFile::Growth growth, OutputFile& file,
             OutputFile*& writer) {
  Result<OutputFile> opened = OutputFile::open(path, growth);
  if (!opened.ok()) return opened.status().with_context(option);
  file = opened.take();
  writer = &file;
  return ok_status();
}

/// A write that failed was told.
int end(OutputFile& file, const char* option, int code, Log& log) {
  if (!file.is_open() || file.failed()) return code;
  const Status status = file.commit();
  if (status.ok()) return code;
  log.error(status.with_context(option).message());
  return code != 0 ? code : end_code(status);
}

}  // namespace

Status PlacementFiles::begin(PlaceFlags& placing) {
  using Growth = OutputFile::Growth;
  const std::string& log = placing.log_device_placement;
  if (!log.empty() && log != "stderr" && log != "stdout")
    RETURN_IF_ERROR(emplace::begin(log, "--log-device-placement", Growth::kSeen, log_, placing.placement_log));
  if (placing.placement_out.empty()) return ok_status();
  return emplace::begin(placing.placement_out, "--placement-out", Growth::kUnseen, saved_, placing.placement_file);
}

int PlacementFiles::end(int code, Log& log) {
  // Also after a failure: its lines say how far the placer came. If it did not begin, what was there stays.
  if (code == 0 || !log_.is_empty()) code = emplace::end(log_, "--log-device-placement", code, log);
  // So does a placement whose steps failed; not one of a command that was refused.
  if (code != kRefused && !saved_.is_empty()) code = emplace::end(saved_, "--placement-out", code, log);
  return code;
}

}  // namespace emplace
