// emplace: the command line. Finds the subcommand, reads its options, runs it.
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/option_set.h"
#include "cli/signals.h"
#include "core/base/cat.h"
#include "core/base/suggest.h"

// The subcommands, as the overview lists them: `name` is made by make_name_command() in cli/name.cpp.
#define EMPLACE_COMMANDS(ROW)                                                        \
  ROW(run, "Execute a graph and print the fetched tensors")                          \
  ROW(place, "Say where every node would run; no kernel runs, no device is touched") \
  ROW(train, "Train a graph on data: steps, epochs, metrics, checkpoints")           \
  ROW(explain, "Say why nodes are where they are, and what would move them")         \
  ROW(check, "Load and validate; all problems in one pass")                          \
  ROW(devices, "List physical and logical devices; read device names")               \
  ROW(ops, "List the ops that emplace runs; one op: its page")

namespace emplace {

#define EMPLACE_DECLARE(name, summary) std::unique_ptr<Command> make_##name##_command();
EMPLACE_COMMANDS(EMPLACE_DECLARE)
#undef EMPLACE_DECLARE

namespace {

struct CommandRow {
  std::string_view name, summary;
  std::unique_ptr<Command> (*make)();
};

#define EMPLACE_ROW(name, summary) {#name, summary, make_##name##_command},
constexpr CommandRow kCommands[] = {EMPLACE_COMMANDS(EMPLACE_ROW)};
#undef EMPLACE_ROW

/// Commands that the command line's contract names and that are still to come, with what does their work until then.
struct ComingCommand {
  std::string_view name, instead;
};
constexpr ComingCommand kComing[] = {
    {"draw", "'emplace place GRAPH --format html' (or dot) draws the placement"},
    {"bench", "'emplace run GRAPH --warmup 10 --steps 100 --format json' tells the times of the steps"},
    {"compare", "'emplace run GRAPH --save a.npz', then '--expect NAME=@a.npz:NAME' with other flags, compares"},
    {"diff", "compare the files of two 'emplace place GRAPH --format csv'"},
    {"convert", "'emplace train GRAPH --graph-out FILE --dry-run' writes a graph that trains"},
    {"serve", "one process runs all devices of a graph"},
};

std::string overview() {
  std::string out =
      "Runs text graph files on CPUs and GPUs the way TensorFlow places them, and explains every decision.\n\n"
      "usage: emplace COMMAND [OPTIONS] [GRAPH...]\n\n";
  for (const CommandRow& command : kCommands) {
    append(out, "  ", command.name, std::string(10 - command.name.size(), ' '), command.summary, "\n");
  }
  return out + "\n'emplace COMMAND --help' tells a command's options; 'emplace --version' the version.\n";
}

const CommandRow* find_command(std::string_view name) {
  for (const CommandRow& command : kCommands) {
    if (command.name == name) return &command;
  }
  return nullptr;
}

int unknown_command(const char* name, Log& log) {
  if (*name == '-')
    return usage(log, "the command comes first: emplace COMMAND [OPTIONS]; 'emplace --help' lists the commands");
  if (access(name, R_OK) == 0)
    return usage(log, cat("'", name, "' is no command; did you mean 'emplace run ", name, "'?"));
  for (const ComingCommand& coming : kComing) {
    if (coming.name == name) return usage(log, cat("'emplace ", name, "' is not there yet; ", coming.instead));
  }
  if (std::string_view(name) == "version")
    return usage(log, "unknown subcommand 'version'; did you mean 'emplace --version'?");
  Suggestion suggestion(name);
  for (const CommandRow& command : kCommands) suggestion.offer(command.name);
  std::string hint = suggestion.text();
  return usage(log, cat("unknown subcommand '", name, "'; ", hint.empty() ? "'emplace --help' lists them" : hint));
}

/// --log-device-placement=FILE: the file begins anew with each run of emplace; all its graphs write to it.
Status start_placement_log(const std::string& file) {
  if (file.empty() || file == "stderr" || file == "stdout") return ok_status();
  if (std::FILE* f = std::fopen(file.c_str(), "w")) return std::fclose(f), ok_status();
  return invalid_argument(cat("--log-device-placement: cannot write '", file, "': ", std::strerror(errno)));
}

/// What the other subcommands take: a configuration file may hold options of all of them.
OptionSet::Others other_commands(std::string_view name) {
  OptionSet::Others others;
  for (const CommandRow& row : kCommands) others.commands.push_back(row.name);
  others.options = [name] {
    std::vector<std::string> names;
    for (const CommandRow& row : kCommands) {
      if (row.name == name) continue;
      Options unused;
      OptionSet set(row.name, row.summary);
      const std::unique_ptr<Command> command = row.make();
      command->declare(set, unused);
      for (std::string& option : set.names()) names.push_back(std::move(option));
    }
    return names;
  };
  return others;
}

int run_main(int argc, char** argv, Log& log) {
  std::string_view first = argc > 1 ? argv[1] : "";
  if (first == "--version") return print("emplace " EMPLACE_VERSION "\n"), 0;
  if (first == "help" && argc > 2) {  // "help run" is "run --help"
    static char help[] = "--help";
    char* swapped[] = {argv[0], argv[2], help, nullptr};
    return run_main(3, swapped, log);
  }
  if (first == "--help" || first == "-h" || first == "help") return print(overview()), 0;
  if (argc < 2) return usage(log, cat("no command given\n\n", overview()));
  const CommandRow* row = find_command(first);
  if (!row) return unknown_command(argv[1], log);

  Options options;
  const std::unique_ptr<Command> command = row->make();
  OptionSet set(row->name, row->summary);
  set.others(other_commands(row->name));
  command->declare(set, options);
  set.group("Talk");
  declare_talk(set, options.talk);
  std::string help;
  Status status = set.parse(argc - 2, argv + 2, help);
  if (status.ok() && help.empty()) status = set_up_log(options.talk, log);
  if (!status.ok()) return usage(log, status.message());
  if (!help.empty()) return print(help), 0;
  if (options.talk.dump_config) return print(config_text(set)), 0;
  for (const OptionSource& option : set.sources()) {
    options.pipeline.given.insert(option.name);
    if (!log.shows(LogLevel::kDebug)) continue;
    std::string values;
    for (const std::string& value : option.values) append(values, " ", value);
    log.debug(cat("option --", option.name, values, ": ", option.source));
  }
  status = start_placement_log(options.pipeline.placing.log_device_placement);
  if (!status.ok()) return usage(log, status.message());
  catch_signals();
  return command->run(options, log);
}

}  // namespace
}  // namespace emplace

int main(int argc, char** argv) {
  emplace::Log log;
  int code = 1;
  try {
    code = emplace::run_main(argc, argv, log);
  } catch (const std::bad_alloc&) {
    log.error("out of memory");
    code = 6;
  } catch (const std::exception& e) {
    log.error(e.what());
  }
  int output = emplace::finish_output(log);
  return code != 0 ? code : output;
}
