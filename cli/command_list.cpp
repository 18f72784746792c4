#include "cli/command_list.h"

// The subcommands, as the overview lists them: `name` is made by make_name_command() in cli/name.cpp.
#define EMPLACE_COMMANDS(ROW)                                                                 \
  ROW(run, "Execute a graph and print the fetched tensors")                                   \
  ROW(place, "Say where every node would run; no kernel runs, no device is touched")          \
  ROW(train, "Train a graph on data: steps, epochs, metrics, checkpoints")                    \
  ROW(draw, "Draw where every node would run: SVG, a page, dot")                              \
  ROW(explain, "Say why nodes are where they are, and what would move them")                  \
  ROW(diff, "What two placements differ in: moved nodes, reasons, copies, peaks")             \
  ROW(copies, "List what moves bytes in a step: between devices, feeds, fetches")             \
  ROW(bench, "Measure steps: percentiles, what takes the time, faster or slower than before") \
  ROW(compare, "Run a graph on two configurations, node by node: the first divergence")       \
  ROW(reduce, "Of a graph that fails, the part that fails: a smaller graph")                  \
  ROW(check, "Load and validate; all problems in one pass")                                   \
  ROW(convert, "Write a graph file in another format")                                        \
  ROW(devices, "List physical and logical devices; read device names")                        \
  ROW(ops, "List the ops that emplace runs; one op: its page")                                \
  ROW(serve, "Be a task of a cluster, whose graphs others run")                               \
  ROW(completion, "Completion of the command line for bash, zsh or fish; man pages")

namespace emplace {

#define EMPLACE_DECLARE(name, summary) std::unique_ptr<Command> make_##name##_command();
EMPLACE_COMMANDS(EMPLACE_DECLARE)
#undef EMPLACE_DECLARE

namespace {

#define EMPLACE_ROW(name, summary) {#name, summary, make_##name##_command},
constexpr CommandRow kCommands[] = {EMPLACE_COMMANDS(EMPLACE_ROW)};
#undef EMPLACE_ROW

}  // namespace

std::span<const CommandRow> all_commands() { return kCommands; }

const CommandRow* find_command(std::string_view name) {
  for (const CommandRow& command : kCommands) {
    if (command.name == name) return &command;
  }
  return nullptr;
}

}  // namespace emplace
