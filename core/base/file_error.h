/// Messages about files that cannot be read or are empty, with the name of a file beside them that may have been meant.
#pragma once

#include <string>

#include "core/base/status.h"

namespace emplace {

/// What InputFile::open(path) said, as "cannot read 'x.npy': No such file or directory".
Status unreadable(const std::string& path, const Status& why);
Status empty_file(const std::string& path);

/// "did you mean 'graphs/matmul.json'?": of the files beside one that is not there; else empty.
std::string near_file(const std::string& path);

}  // namespace emplace
