/// Compiled kernels on disk, so that a second run need not compile them: in $EMPLACE_CACHE_DIR (empty: nowhere), else
/// $XDG_CACHE_HOME/emplace, else ~/.cache/emplace. What cannot be read or written there is as if it had never been
/// there.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace emplace::cuda {

/// `key`: everything that the code hangs on: text, compiler, options.
std::optional<std::string> find_kernel(std::string_view key);
void keep_kernel(std::string_view key, std::string_view code);

}  // namespace emplace::cuda
