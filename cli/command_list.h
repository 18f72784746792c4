/// The subcommands: a row each in cli/command_list.cpp.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "cli/command.h"

namespace emplace {

struct CommandRow {
  std::string_view name, summary;
  std::unique_ptr<Command> (*make)();
};

/// As the overview lists them.
std::span<const CommandRow> all_commands();
/// Null: there is none of that name.
const CommandRow* find_command(std::string_view name);

}  // namespace emplace
