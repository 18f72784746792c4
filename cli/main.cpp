// emplace: the command line. Finds the subcommand, reads its options, runs it.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/command_list.h"
#include "cli/files.h"
#include "cli/option_set.h"
#include "cli/placement_files.h"
#include "cli/signals.h"
#include "cli/values.h"
#include "cli/version.h"
#include "core/base/cat.h"
#include "core/base/foreign_words.h"
#include "core/base/heap_limit.h"
#include "core/base/host_memory.h"
#include "core/base/printable.h"
#include "core/base/stop.h"
#include "core/base/suggest.h"
#include "core/device/gpu_environment.h"
#include "core/ops/kit/isa_limit.h"

namespace emplace {
namespace {

std::string overview() {
  std::string out =
      "Runs text graph files on CPUs and GPUs the way TensorFlow places them, and explains every decision.\n\n"
      "usage: emplace COMMAND [OPTIONS] [GRAPH...]\n\n";
  for (const CommandRow& command : all_commands()) {
    append(out, "  ", command.name, std::string(12 - command.name.size(), ' '), command.summary, "\n");
  }
  return out + "\n'emplace COMMAND --help' tells a command's options; 'emplace --version' the version.\n";
}

int unknown_command(const char* name, Log& log) {
  if (*name == '-')
    return usage(log, "the command comes first: emplace COMMAND [OPTIONS]; 'emplace --help' lists the commands");
  if (access(name, R_OK) == 0)
    return usage(log,
                 cat("'", printable(name), "' is not a command; did you mean 'emplace run ", printable(name), "'?"));
  if (std::string_view(name) == "version")
    return usage(log, "unknown subcommand 'version'; did you mean 'emplace --version'?");
  Suggestion suggestion(name);
  for (const CommandRow& command : all_commands()) suggestion.offer(command.name);
  std::string hint = suggestion.text();
  return usage(
      log, cat("unknown subcommand '", printable(name), "'; ", hint.empty() ? "'emplace --help' lists them" : hint));
}

/// The last --format of the command line, known before the options are read: failures to read them are documents, too.
Format wanted_format(int argc, char** argv) {
  std::string_view wanted;
  if (const char* environment = std::getenv("EMPLACE_FORMAT")) wanted = environment;
  for (int i = 2; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--format" && i + 1 < argc) wanted = argv[i + 1];
    if (argument.starts_with("--format=")) wanted = argument.substr(argument.find('=') + 1);
  }
  return wanted == "json" ? Format::kJson : wanted == "jsonl" ? Format::kJsonl : Format::kText;
}

/// Results and placement lines on one stream would be neither.
Status check_streams(const Options& options) {
  if (options.format == Format::kText || options.pipeline.placing.log_device_placement != "stdout") return ok_status();
  return invalid_argument(cat("--log-device-placement=stdout would stand among the ", format_name(options.format),
                              " that --format writes there; write it to stderr or a file"));
}

/// What the command line says of a search that nobody asked for.
Status check_search(const Options& options, const std::vector<OptionSource>& sources) {
  const AutoFlags& automatic = options.pipeline.placing.automatic;
  if (automatic.verify && !automatic.goal) return invalid_argument("--verify measures a step: add --auto latency");
  if (automatic.verify && automatic.goal == autoplace::Goal::kThroughput && options.pipeline.run.in_flight == 1)
    return invalid_argument("--verify measures the rate of steps in flight: add --in-flight K, or say --auto latency");
  if (automatic.goal) return ok_status();
  for (const OptionSource& option : sources) {
    const bool idle = option.name == "time-limit" ||
                      (option.name == "costs" && !options.predicts && options.pipeline.run.trace.empty());
    if (idle && option.is_typed())
      return invalid_argument(cat("--", option.name, " is of --auto: add --auto latency or --auto throughput"));
  }
  return ok_status();
}

/// What the command line says of a cluster that nobody named, or of a file that nobody asked for: to do nothing, where
/// it might have encrypted, is no answer.
Status check_topics(const std::vector<OptionSource>& sources) {
  for (const OptionSource& option : sources) {
    if (!option.is_typed() || option.topic.empty() || option.leads) continue;
    const auto leads_there = [&](const OptionSource& o) { return o.leads && o.topic == option.topic; };
    if (std::any_of(sources.begin(), sources.end(), leads_there)) continue;
    return invalid_argument(cat("--", option.name,
                                option.topic.starts_with("--")
                                    ? cat(" is of ", option.topic, ", which is not given")
                                    : cat(" is about ", option.topic, ", and no option names one")));
  }
  return ok_status();
}

/// A misspelt variable is without effect: says so.
void warn_of_environment(const OptionSet& set, const std::vector<std::string>& of_others, Log& log) {
  static constexpr std::string_view kBesideOptions[] = {
      "EMPLACE_CACHE_DIR",    "EMPLACE_CONFIG",         "EMPLACE_CUDA",
      "EMPLACE_CUDA_LIB_DIR", "EMPLACE_CLUSTER_PLUGIN", "EMPLACE_CUDA_PLUGIN",
      "EMPLACE_CUDA_WITHOUT", "EMPLACE_GPU_GUARD",      "EMPLACE_ISA",
      "EMPLACE_MPI_PLUGIN"};
  std::vector<std::string> known(std::begin(kBesideOptions), std::end(kBesideOptions));
  for (const std::string& name : set.names()) known.push_back(environment_name(name));
  for (const std::string& name : of_others) known.push_back(environment_name(name));
  for (char** entry = environ; *entry; ++entry) {
    const std::string_view variable = std::string_view(*entry).substr(0, std::string_view(*entry).find('='));
    // Those of the stand-in of CUDA are the plug-in's own.
    if (!variable.starts_with("EMPLACE_") || variable.starts_with("EMPLACE_STANDIN_")) continue;
    if (std::find(known.begin(), known.end(), variable) != known.end()) continue;
    Suggestion suggestion(variable);
    for (const std::string& name : known) suggestion.offer(name);
    const std::string hint = suggestion.text();
    log.warning(cat("unknown environment variable ", variable, hint.empty() ? "" : "; ", hint));
  }
  const char* isa = std::getenv("EMPLACE_ISA");
  if (isa && *isa && !named_isa(isa))
    log.warning(cat("EMPLACE_ISA=", printable(isa), " has no effect: wanted base or v3"));
}

/// What the other subcommands take: a configuration file may hold options of all of them.
OptionSet::Others other_commands(std::string_view name) {
  OptionSet::Others others;
  for (const CommandRow& row : all_commands()) others.commands.push_back(row.name);
  others.options = [name] {
    std::vector<std::string> names;
    for (const CommandRow& row : all_commands()) {
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

/// A shell's `>&-` leaves a number free that the next file would get, and with it what is meant for standard output. In
/// its place stands what refuses as a closed one does.
void occupy_closed_streams() {
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream) {
    if (::fcntl(stream, F_GETFD) < 0) ::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

int run_main(int argc, char** argv, Log& log) {
  for (int i = 1; i < argc; ++i) note_foreign_word(argv[i]);
  std::string_view first = argc > 1 ? argv[1] : "";
  if (first == "--version") return print(version_text()), 0;
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
  const OptionSet::Others others = other_commands(row->name);
  set.others(others);
  set_document_format(wanted_format(argc, argv));
  command->declare(set, options);
  set.group("Talk");
  declare_talk(set, options.talk);
  std::string help;
  Status status = set.parse(argc - 2, argv + 2, help);
  if (status.ok()) {  // files that options name may be pipes, for whose other ends one waits
    catch_signals();
    set_deadline(options.pipeline.run.timeout_s);  // each graph has as much of its own
  }
  if (status.ok() && help.empty()) status = name_files(options, set.sources());
  if (status.ok() && help.empty()) status = set_up_log(options.talk, log);
  if (!status.ok()) return usage(log, status);
  if (!help.empty()) return print(help), 0;
  if (environment_has_options()) warn_of_environment(set, others.options(), log);
  if (options.talk.dump_config) return print(config_text(set)), 0;
  for (const OptionSource& option : set.sources()) {
    options.pipeline.given.insert(option.name);
    if (option.is_typed()) options.pipeline.typed.insert(option.name);
    if (!log.shows(LogLevel::kDebug)) continue;
    std::string values;
    for (const std::string& value : option.values) append(values, " ", value);
    log.debug(cat("option --", option.name, values, ": ", option.source));
  }
  HeapLimit::begin();
  HostMemory::of_process().set_limit(options.pipeline.host_memory_limit);  // the graph's config may lower it
  status = check_streams(options);
  if (status.ok()) status = settle_policy(options, set.sources());
  if (status.ok()) status = check_search(options, set.sources());
  if (status.ok()) status = check_topics(set.sources());
  if (status.ok()) status = check_values(options);
  if (!status.ok()) return usage(log, status);
  PlacementFiles placement_files;
  if (command->writes(options)) status = placement_files.begin(options.pipeline.placing);
  if (!status.ok()) return usage(log, status);
  set_gpu_environment(options.pipeline.run.deterministic);
  return placement_files.end(within_memory(log, [&] { return command->run(options, log); }), log);
}

}  // namespace
}  // namespace emplace

int main(int argc, char** argv) {
  emplace::occupy_closed_streams();
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
  return emplace::finish_output(log, code);
}
