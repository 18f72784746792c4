/// Writing a file so that at every moment, whatever ends the process or the machine, its name stands for the whole old
/// content or the whole new one.
#pragma once

#include <string>
#include <string_view>

#include "core/base/byte_sink.h"
#include "core/base/status.h"

namespace emplace {

/// The ending of what is being written; a file with it is what an interrupted write left behind.
inline constexpr std::string_view kPartEnding = ".part";

/// Writes beside `path`, fsync, rename, fsync of the folder. On an error (Unavailable, in the system's words) what was
/// written is gone and `path` as it was.
Status write_durably(const std::string& path, std::string_view bytes);
/// What `content` gives to the sink. Its own errors are handed on.
Status write_durably(const std::string& path, const std::function<Status(const ByteSink&)>& content);

}  // namespace emplace
