// emplace completion: what shells need to complete command lines, and man pages.
#include "cli/command.h"
#include "cli/command_list.h"
#include "cli/complete_line.h"
#include "cli/completion_scripts.h"
#include "cli/man_page.h"
#include "core/base/cat.h"

namespace emplace {
namespace {

std::string_view script_of(std::string_view shell) {
  return shell == "bash" ? kBashScript : shell == "zsh" ? kZshScript : shell == "fish" ? kFishScript : "";
}

int print_man_page(const std::string& name, Log& log) {
  if (name == "emplace") return print(overview_man_page()), 0;
  const CommandRow* row = find_command(name);
  if (!row) return usage(log, cat("no man page of '", name, "'; there is one of emplace and one of each command"));
  Options options;
  OptionSet set(row->name, row->summary);
  const std::unique_ptr<Command> command = row->make();
  command->declare(set, options);
  set.group("Talk");
  declare_talk(set, options.talk);
  set.declare_shared();
  return print(man_page(set, row->name, row->summary)), 0;
}

class CompletionCommand final : public Command {
 public:
  void declare(OptionSet& set, Options& o) override {
    set.positional(
        "SHELL",
        "SHELL is bash, zsh or fish. In bash: source <(emplace completion bash); in fish: emplace completion "
        "fish | source; in zsh:\nemplace completion zsh > ~/.zfunc/_emplace, with ~/.zfunc in fpath.",
        o.arguments);
    set.group("What scripts and packages ask");
    set.value("line", "LINE", "Print what could stand at the end of this command line",
              [this](const std::string& text) { return line_ = text, ok_status(); });
    std::vector<std::string_view> pages = {"emplace"};
    for (const CommandRow& row : all_commands()) pages.push_back(row.name);
    set.value("man", "NAME", "Print the man page of emplace or of a command",
              {[this](const std::string& text) { return man_ = text, ok_status(); }, std::move(pages)});
  }

  int run(const Options& options, Log& log) override {
    if (line_) return complete();
    if (!man_.empty()) return print_man_page(man_, log);
    if (options.arguments.size() != 1) return usage(log, "name one shell: emplace completion bash|zsh|fish");
    const std::string_view script = script_of(options.arguments.front());
    if (script.empty()) return usage(log, not_one_of(options.arguments.front(), {"bash", "zsh", "fish"}).message());
    return print(script), 0;
  }

 private:
  int complete() const {
    const Completions found = complete_line(*line_);
    std::string out = found.files ? ":files\n" : "";
    for (const std::string& word : found.words) append(out, printable(word, LineEnds::kEscaped), "\n");
    return print(out), 0;
  }

  std::optional<std::string> line_;
  std::string man_;
};

}  // namespace

std::unique_ptr<Command> make_completion_command() { return std::make_unique<CompletionCommand>(); }

}  // namespace emplace
