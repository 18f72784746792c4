/// OptionSet: the options of one subcommand, declared once, read from the command line, from EMPLACE_* variables and
/// from a configuration file, in this order of precedence. It remembers where each value came from.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/base/status.h"

namespace emplace {

/// Where the value of an option came from, for -v and --dump-config.
struct OptionSource {
  std::string name;  // without dashes
  std::vector<std::string> values;
  std::string source;  // "command line", "EMPLACE_SEED", the configuration file's name
  std::string topic;   // "a cluster": does nothing unless an option leads to one
  bool leads = false;  // to that topic
  bool is_typed() const { return source == "command line"; }
};

/// What the help page, a man page and completion know of an option. Texts live until the next declaration.
struct OptionRow {
  std::string_view name;         // without dashes
  std::string_view usage;        // "-q, --quiet", "--steps N"
  std::string_view placeholder;  // "N", "FILE"; empty: a flag
  std::string_view heading, help;
  bool is_flag = false;                     // takes a value behind '=' only
  bool has_opposite = false;                // --no-NAME
  std::span<const std::string_view> words;  // the values that it takes, see Setter
};

class OptionSet {
 public:
  /// Takes the text of one value. An error's message needs no option name.
  struct Setter {
    Setter() = default;
    template <class F>
    requires std::is_invocable_r_v<Status, F, const std::string&> Setter(F set,
                                                                         std::vector<std::string_view> takes = {})
        : call(std::move(set)), words(std::move(takes)) {}
    Status operator()(const std::string& text) const { return call(text); }

    std::function<Status(const std::string&)> call;
    /// What completion offers, if the values are words; capitals stand for what differs: "latest",
    /// "places=NODE@DEVICE".
    std::vector<std::string_view> words;
  };

  OptionSet(std::string_view command, std::string_view summary);
  ~OptionSet();
  OptionSet(const OptionSet&) = delete;
  OptionSet& operator=(const OptionSet&) = delete;

  /// The other subcommands. A configuration file may have a section for each, and may hold their options.
  struct Others {
    std::vector<std::string_view> commands;
    /// The names of all their options, without dashes; asked for where one is met that is none of this command's.
    std::function<std::vector<std::string>()> options;
  };
  void others(Others others);

  /// Heading in the help for what is declared next.
  void group(std::string_view heading);
  /// What is declared next is about `topic` ("a cluster") and would do nothing without one of `ways`, which are
  /// declared there as well. Until the next call; "" is about nothing.
  void about(std::string_view topic, std::vector<std::string_view> ways = {});

  /// Names are long names without dashes; "quiet,-q" adds a short one.
  void flag(std::string_view name, std::string_view help, bool& target);
  /// --name sets true, --no-name false.
  void switchable(std::string_view name, std::string_view help, bool& target);
  /// --name means `value`; --name=other is allowed.
  void optional_value(std::string_view name, std::string_view value, std::string_view placeholder,
                      std::string_view help, Setter set);
  /// The last one wins.
  void value(std::string_view name, std::string_view placeholder, std::string_view help, Setter set);
  void text(std::string_view name, std::string_view placeholder, std::string_view help, std::string& target);
  /// May be repeated; every value counts.
  void list(std::string_view name, std::string_view placeholder, std::string_view help,
            std::vector<std::string>& target, std::vector<std::string_view> words = {});
  /// Of what was declared as `name`: words that it takes, too. Nothing happens where it was not.
  void more_words(std::string_view name, const std::vector<std::string_view>& words);
  /// What to write in place of an option that others have and this command has not: said where it is given.
  void instead(std::string name, std::string hint);
  /// What stands without a flag, all of it.
  void positional(std::string_view name, std::string_view help, std::vector<std::string>& target);

  /// Reads the arguments after the subcommand. InvalidArgument: an unknown option (with a suggestion), a bad value, a
  /// bad configuration file. `help` is set, and nothing else done, if --help was asked for.
  Status parse(int argc, char** argv, std::string& help);

  /// The options that were given, in order of declaration.
  const std::vector<OptionSource>& sources() const;
  /// --help and --config, which every command has. parse() does it, too.
  void declare_shared();
  /// What was declared, in its order.
  std::vector<OptionRow> rows() const;
  /// "GRAPH...": what stands without a flag, and the sentence about it. Empty: nothing does.
  std::pair<std::string_view, std::string_view> arguments() const;
  /// The names of all that were declared.
  std::vector<std::string> names() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The variable that sets an option: "EMPLACE_SEED" of "seed".
std::string environment_name(std::string_view option);
/// Is there any such variable? To ask for each, and to know the names of all, takes a moment.
bool environment_has_options();

/// What a word says that stands for yes or no, in any option: true, True, 1, on, yes; nothing: it is another word.
std::optional<bool> truth_of(std::string_view word);

/// Setters for common kinds of values.
OptionSet::Setter set_bool(bool& target);
OptionSet::Setter set_integer(int64_t& target, int64_t least);
OptionSet::Setter set_number(double& target);
/// "'x' is none of a, b, c", with the nearest of them.
Status not_one_of(const std::string& text, const std::vector<std::string_view>& words);
/// One of these words, each with the value that it stands for. `target` is of type T, or takes one.
template <class T, class Target>
OptionSet::Setter set_choice(Target& target, std::vector<std::pair<std::string_view, T>> choices) {
  std::vector<std::string_view> words;
  words.reserve(choices.size());
  for (const auto& choice : choices) words.push_back(choice.first);
  OptionSet::Setter setter = [&target, words, choices = std::move(choices)](const std::string& text) -> Status {
    for (const auto& [word, value] : choices) {
      if (word == text) return target = value, ok_status();
    }
    return not_one_of(text, words);
  };
  setter.words = std::move(words);
  return setter;
}

}  // namespace emplace
