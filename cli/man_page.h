/// Man pages, made of what a command declares: they cannot say other than --help.
#pragma once

#include <string>
#include <string_view>

#include "cli/option_set.h"

namespace emplace {

/// emplace-COMMAND(1), in mdoc(7).
std::string man_page(const OptionSet& set, std::string_view command, std::string_view summary);
/// emplace(1), which lists the commands.
std::string overview_man_page();

}  // namespace emplace
