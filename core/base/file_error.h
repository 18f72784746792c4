/// Why a file gave nothing to read.
#pragma once

#include <string>

namespace emplace {

/// "cannot read 'x.npy': No such file or directory", or that it is a folder, or empty.
std::string unreadable_text(const std::string& path);

/// "did you mean 'graphs/matmul.json'?": of the files beside one that is not there; else empty.
std::string near_file(const std::string& path);

}  // namespace emplace
