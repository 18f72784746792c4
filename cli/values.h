/// What options say, judged before any work: a large graph need not be read to learn that a flag is misspelt.
#pragma once

#include <vector>

#include "cli/options.h"

namespace emplace {

/// Gates, rules, devices, and files that are to be read, as far as they can be judged without the graph.
/// InvalidArgument or NotFound says which option is wrong, in the words that the stage would use which takes it.
Status check_values(const Options& options);

/// --policy tf takes --auto back, where it is the one of them that goes before the other; InvalidArgument if both were
/// given in one place.
Status settle_policy(Options& options, const std::vector<OptionSource>& sources);

}  // namespace emplace
