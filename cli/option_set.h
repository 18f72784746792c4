/// OptionSet: the options of one subcommand, declared once, read from the command line, from EMPLACE_* variables and
/// from a configuration file, in this order of precedence. It remembers where each value came from.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"

namespace emplace {

/// Where the value of an option came from, for -v and --dump-config.
struct OptionSource {
  std::string name;  // without dashes
  std::vector<std::string> values;
  std::string source;  // "command line", "EMPLACE_SEED", the configuration file's name
};

class OptionSet {
 public:
  /// Takes the text of one value. An error's message needs no option name.
  using Setter = std::function<Status(const std::string&)>;

  OptionSet(std::string_view command, std::string_view summary);
  ~OptionSet();
  OptionSet(const OptionSet&) = delete;
  OptionSet& operator=(const OptionSet&) = delete;

  /// The sections that a configuration file may have, one per subcommand.
  void sections(std::vector<std::string_view> names);

  /// Heading in the help for what is declared next. Options of which `accepted` is false belong to other subcommands:
  /// a configuration file may hold them, the command line may not.
  void group(std::string_view heading, bool accepted = true);

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
            std::vector<std::string>& target);
  /// What stands without a flag, all of it.
  void positional(std::string_view name, std::string_view help, std::vector<std::string>& target);

  /// Reads the arguments after the subcommand. InvalidArgument: an unknown option (with a suggestion), a bad value, a
  /// bad configuration file. `help` is set, and nothing else done, if --help was asked for.
  Status parse(int argc, char** argv, std::string& help);

  /// The options that were given, in order of declaration.
  const std::vector<OptionSource>& sources() const;
  bool given(std::string_view name) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Setters for common kinds of values.
OptionSet::Setter set_integer(int64_t& target, int64_t least);
OptionSet::Setter set_number(double& target);
/// One of these words; `target` becomes its index.
OptionSet::Setter set_choice(int& target, std::vector<std::string_view> words);

}  // namespace emplace
