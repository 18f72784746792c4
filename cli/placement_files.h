/// PlacementFiles: the files of --log-device-placement=FILE and --placement-out, begun before a command's work, which
/// get their names when it has ended.
#pragma once

#include "core/base/log.h"
#include "core/base/output_file.h"
#include "core/pipeline_options.h"

namespace emplace {

class PlacementFiles {
 public:
  /// What cannot be written is told here. `placing` then refers to the files, which must outlive what writes to them.
  Status begin(PlaceFlags& placing);
  /// The exit code: `code`, the command's, unless that was 0 and a file could not be finished.
  int end(int code, Log& log);

 private:
  OutputFile log_;    // anew with each run of emplace; all its graphs write to it
  OutputFile saved_;  // the first placement that the command makes
};

}  // namespace emplace
