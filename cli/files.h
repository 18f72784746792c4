/// Which files a command reads and writes, as its options name them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/options.h"

namespace emplace {

/// Fills options.pipeline.files; those in a folder of --save are known at the end only. InvalidArgument: an output is
/// an input, too, or two outputs are one file.
Status name_files(Options& options, const std::vector<OptionSource>& sources);

/// Of a SavedModel its files, of anything else the file.
void reads_graph(const std::string& path, std::string_view option, NamedFiles& files);

/// Does --save mean a folder?
bool saves_to_folder(const std::string& target);

}  // namespace emplace
