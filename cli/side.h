/// A side of a comparison: `emplace diff A B`, where a side may be a graph with flags of its own, in quotes.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options.h"

namespace emplace {

struct Side {
  std::string text;  // as on the command line
  std::string path;  // the graph's file, or a document's
  Options options;
  std::vector<OptionSource> given;  // every option that was given to it, by whatever means
};

/// Reads `text`: the name of a file, or of a file with flags behind it as a shell would split them. `common` are the
/// options of the command itself: a side's own ones beat them. `declare` declares what a side takes.
Result<Side> read_side(std::string_view command, const std::string& text, const std::vector<OptionSource>& common,
                       const std::function<void(OptionSet& set, Options& options)>& declare);

/// What the options of two sides differ in: "--simulate-gpus 2, was 3", by name.
std::vector<std::string> different_options(const Side& before, const Side& after);

/// The text as one word of a shell, in quotes where it needs them.
std::string shell_word(std::string_view text);
/// Words as a shell makes them of quotes and backslashes. InvalidArgument: a quote that does not end.
Result<std::vector<std::string>> shell_words(std::string_view text);

}  // namespace emplace
