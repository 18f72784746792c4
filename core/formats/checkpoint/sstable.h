/// SsTable: a sorted table of keys and values in one file, as TensorFlow's checkpoints (and LevelDB) have it. Every
/// offset and length is checked before it is used, and every block against its checksum.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"

namespace emplace {

class SsTable {
 public:
  static constexpr uint64_t kMagic = 0xdb4775248b80fb57;  // its last bytes

  /// Is this such a file, by its last bytes?
  static bool recognises(std::string_view file);

  /// Calls `take` for every entry in the order of keys; its arguments live as long as the call. DATA_LOSS or
  /// InvalidArgument, beginning with `name`, for a damaged file; an error of `take` is handed on.
  static Status read(std::string_view file, const std::string& name,
                     const std::function<Status(std::string_view key, std::string_view value)>& take);
};

}  // namespace emplace
