#include "cli/option_set.h"

#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <filesystem>

#include "cli/config_file.h"
#include "cli/other_words.h"
#include "core/base/cat.h"
#include "core/base/file_error.h"
#include "core/base/foreign_words.h"
#include "core/base/input_file.h"
#include "core/base/printable.h"
#include "core/base/stop.h"
#include "core/base/suggest.h"

namespace emplace {
namespace {

/// --allow_soft_placement is --allow-soft-placement. A value may begin with dashes, too: '--place a_b=CPU:0' after --b.
std::string with_dashes(std::string argument) {
  const auto is_of_name = [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '_'; };
  const auto end = std::find_if_not(argument.begin(), argument.end(), is_of_name);
  if (!argument.starts_with("--") || (end != argument.end() && *end != '=')) return argument;
  std::replace(argument.begin() + 2, end, '_', '-');
  return argument;
}

}  // namespace

std::optional<bool> truth_of(std::string_view word) {
  constexpr std::string_view kYes[] = {"true", "True", "1", "on", "yes"}, kNo[] = {"false", "False", "0", "off", "no"};
  if (std::find(std::begin(kYes), std::end(kYes), word) != std::end(kYes)) return true;
  if (std::find(std::begin(kNo), std::end(kNo), word) != std::end(kNo)) return false;
  return {};
}

OptionSet::Setter set_bool(bool& target) {
  return [&target](const std::string& text) -> Status {
    const std::optional<bool> truth = truth_of(text);
    if (!truth) return invalid_argument(cat("'", text, "' is neither true nor false"));
    return target = *truth, ok_status();
  };
}

std::string environment_name(std::string_view option) {
  std::string name = "EMPLACE_";
  for (char c : option) name += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

bool environment_has_options() {
  for (char** entry = environ; *entry; ++entry) {
    if (std::string_view(*entry).starts_with("EMPLACE_")) return true;
  }
  return false;
}

struct OptionSet::Impl {
  struct Entry {
    std::string name;
    std::string parsed_as;          // the names as CLI11 wants them: "--name{default},-n"
    CLI::Option* option = nullptr;  // none: nobody named it on the command line
    bool is_given() const { return option && option->count() > 0; }
    bool is_list = false;
    bool is_flag = false;  // takes a value behind '=' only
    Setter set;
    std::string heading, usage, help;  // usage: "-q, --quiet", "--steps N"
    std::string placeholder;           // of its value
    bool has_opposite = false;
    std::string topic;  // see OptionSet::about()
    bool leads = false;
  };

  CLI::App app;
  std::string command, summary, heading, topic, arguments_name, arguments_help;
  std::vector<std::string_view> ways;  // to the topic
  bool wants_help = false;
  Others others;
  std::vector<std::pair<std::string, std::string>> hints;  // by the name of an option that is none
  std::vector<Entry> entries;
  std::vector<OptionSource> sources;
  std::string config_file;

  Entry& declare(std::string_view names, std::string_view suffix, bool is_flag, std::string_view usage,
                 std::string_view help, Setter set);
  void expect(const std::vector<std::string>& arguments);
  const Entry* find(std::string_view name) const;
  const Entry* find_argument(std::string_view argument) const;
  bool is_of_others(std::string_view name) const;
  std::string help_text() const;
  std::string suggest(std::string_view option) const;
  Status unknown(const std::string& argument) const;
  Status check_flag_values(int argc, char** argv) const;
  Status apply(const Entry& entry, std::vector<std::string> values, std::string source);
  Status apply(const Entry& entry, const ConfigEntry& item);
  static Status set(const Entry& entry, const std::string& value, std::string_view place);
  void allow_time() const;
  Status read_config(std::vector<ConfigEntry>& entries_of_file) const;
};

/// `names`: "quiet,-q". `suffix`: what CLI11 wants behind a flag's name ("{default}"), or ",!--no-name". `usage`: what
/// follows the name in the help.
OptionSet::Impl::Entry& OptionSet::Impl::declare(std::string_view names, std::string_view suffix, bool is_flag,
                                                 std::string_view usage, std::string_view help, Setter set) {
  const std::string_view name = names.substr(0, names.find(','));
  const std::string_view short_name = names.substr(name.size());  // ",-q" or nothing
  Entry& entry = entries.emplace_back();
  entry.name = name;
  entry.set = std::move(set);
  entry.is_flag = is_flag;
  entry.parsed_as = cat("--", name, suffix, short_name);
  entry.heading = heading;
  entry.topic = topic;
  entry.leads = std::find(ways.begin(), ways.end(), name) != ways.end();
  entry.usage = cat(short_name.empty() ? "" : cat(short_name.substr(1), ", "), "--", name, usage);
  entry.help = help;
  return entry;
}

/// Declares to CLI11 what the arguments may name. Each option that it knows is compared with all others, and those of
/// `run` took a third of the time to start.
void OptionSet::Impl::expect(const std::vector<std::string>& arguments) {
  for (Entry& entry : entries) {
    auto may_name = [&](std::string_view argument) {
      if (!argument.starts_with('-')) return false;
      if (!argument.starts_with("--")) return entry.parsed_as.find(",-") != std::string::npos;  // several in one: -qv
      argument = argument.substr(2, argument.find('=') - 2);
      return argument == entry.name || (argument.starts_with("no-") && argument.substr(3) == entry.name);
    };
    if (std::none_of(arguments.begin(), arguments.end(), may_name)) continue;
    entry.option = entry.is_flag ? app.add_flag(entry.parsed_as) : app.add_option(entry.parsed_as);
    if (!entry.is_flag) entry.option->expected(1)->allow_extra_args(false);
    entry.option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  }
}

std::string OptionSet::Impl::help_text() const {
  std::string out = cat(summary, "\n\nusage: emplace ", command, " [OPTIONS]", arguments_name.empty() ? "" : " ",
                        arguments_name, "\n");
  if (!arguments_help.empty()) append(out, "\n", arguments_help, "\n");
  std::string_view last;
  for (const Entry& entry : entries) {
    if (entry.heading != last) append(out, "\n", entry.heading, ":\n");
    last = entry.heading;
    constexpr size_t kColumn = 30;
    std::string gap = entry.usage.size() + 3 <= kColumn ? std::string(kColumn - entry.usage.size() - 2, ' ')
                                                        : "\n" + std::string(kColumn, ' ');
    append(out, "  ", entry.usage, gap, entry.help, "\n");
  }
  return out;
}

const OptionSet::Impl::Entry* OptionSet::Impl::find(std::string_view name) const {
  for (const Entry& entry : entries) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

/// The option that "--steps", "--steps=3", "--no-pool" or "-q" is.
const OptionSet::Impl::Entry* OptionSet::Impl::find_argument(std::string_view argument) const {
  if (argument.starts_with("--")) {
    const std::string name = with_dashes(std::string(argument.substr(0, argument.find('=')))).substr(2);
    const Entry* opposite = name.starts_with("no-") ? find(std::string_view(name).substr(3)) : nullptr;
    return opposite && opposite->has_opposite ? opposite : find(name);
  }
  if (argument.size() != 2 || argument[0] != '-') return nullptr;
  const auto entry = std::find_if(entries.begin(), entries.end(),
                                  [&](const Entry& e) { return e.parsed_as.ends_with(cat(",", argument)); });
  return entry == entries.end() ? nullptr : &*entry;
}

bool OptionSet::Impl::is_of_others(std::string_view name) const {
  if (!others.options) return false;
  const std::vector<std::string> known = others.options();
  return std::find(known.begin(), known.end(), name) != known.end();
}

/// ", did you mean '--steps'?" or nothing.
std::string OptionSet::Impl::suggest(std::string_view option) const {
  Suggestion suggestion(option);
  for (const Entry& entry : entries) suggestion.offer(entry.name);
  return suggestion.best().empty() ? "" : cat("; did you mean '--", suggestion.best(), "'?");
}

Status OptionSet::Impl::unknown(const std::string& argument) const {
  if (argument.rfind('-', 0) != 0 || argument == "-")
    return invalid_argument(cat("unexpected argument '", argument, "'"));
  std::string name =
      argument.substr(argument.find_first_not_of('-') == std::string::npos ? 0 : argument.find_first_not_of('-'));
  name = name.substr(0, name.find('='));
  if (const Entry* entry = name.starts_with("no-") ? find(std::string_view(name).substr(3)) : nullptr;
      entry && entry->is_flag) {
    return invalid_argument(cat("unknown option '--", name, "'; write --", entry->name, "=false"));
  }
  for (const auto& [other, hint] : hints) {
    if (other == name) return invalid_argument(cat("unknown option '--", name, "'; ", hint));
  }
  if (const OtherWord* word = other_word(name); word && find(word->option))
    return invalid_argument(cat("unknown option '--", name, "'; ", word->hint));
  if (is_of_others(name)) return invalid_argument(cat("'emplace ", command, "' has no option '--", name, "'"));
  return invalid_argument(
      cat("unknown option '", printable(argument.substr(0, argument.find('='))), "'", suggest(name)));
}

/// "--check-numerics report", "--log-device-placement stdout": such a word would be taken for a graph file. And "--save
/// -q": this one would be taken for the name of a file, where what was meant is another option.
Status OptionSet::Impl::check_flag_values(int argc, char** argv) const {
  static constexpr std::string_view kWords[] = {"stderr", "stdout", "stop", "report", "text", "json"};
  for (int i = 0; i + 1 < argc; ++i) {
    const std::string_view option = argv[i], value = argv[i + 1];
    if (option == "--") break;
    const Entry* entry = option.find('=') == option.npos ? find_argument(option) : nullptr;
    if (!entry) continue;
    if (!entry->is_flag) {
      ++i;
      const Entry* named = find_argument(value);
      if (!named || (entry->placeholder == "FLAGS" && named->placeholder != "FLAGS")) continue;
      return invalid_argument(cat("--", entry->name, " needs a value; found '", printable(value),
                                  "', which is an option; --", entry->name, "=", printable(value),
                                  " takes it as a value"));
    }
    if (!truth_of(value) && std::find(std::begin(kWords), std::end(kWords), value) == std::end(kWords)) continue;
    if (std::error_code error; std::filesystem::exists(value, error)) continue;
    return invalid_argument(cat("--", entry->name, " takes its value behind '=': --", entry->name, "=", value));
  }
  return ok_status();
}

Status OptionSet::Impl::apply(const Entry& entry, std::vector<std::string> values, std::string source) {
  if (!entry.is_list) values.erase(values.begin(), values.end() - 1);
  const std::string place = source == "command line" ? cat("--", entry.name) : cat(source, ": ", entry.name);
  for (const std::string& value : values) RETURN_IF_ERROR(set(entry, value, place));
  sources.push_back({entry.name, std::move(values), std::move(source), entry.topic, entry.leads});
  return ok_status();
}

Status OptionSet::Impl::apply(const Entry& entry, const ConfigEntry& item) {
  const std::string file = printable(config_file);
  if (!entry.is_list && item.values.size() > 1)
    return invalid_argument(
        cat(file, ":", item.line, ": ", entry.name, ": found ", item.values.size(), " values, wanted one"));
  std::vector<std::string> values;
  for (const auto& [text, line] : item.values) {
    RETURN_IF_ERROR(set(entry, text, cat(file, ":", line, ": ", entry.name)));
    values.push_back(text);
  }
  sources.push_back({entry.name, std::move(values), file, entry.topic, entry.leads});
  return ok_status();
}

/// `place`: where the value stands, for an error.
Status OptionSet::Impl::set(const Entry& entry, const std::string& value, std::string_view place) {
  note_foreign_word(value);
  const Status status = entry.set(value);
  return status.ok() ? status : status.with_context(place);
}

/// The file may be a pipe that nobody writes into: waiting for it ends with the time allowed.
void OptionSet::Impl::allow_time() const {
  const Entry* timeout = find("timeout");
  if (!timeout) return;
  const char* environment = std::getenv(environment_name("timeout").c_str());
  if (timeout->is_given()) {
    set_deadline(std::strtod(timeout->option->results().back().c_str(), nullptr));
  } else if (environment) {
    set_deadline(std::strtod(environment, nullptr));
  }
}

namespace {

/// What a person would recognise of a text that may be a whole file.
std::string_view shortened(std::string_view text) {
  constexpr size_t kShown = 80;
  return text.substr(0, kShown);
}

}  // namespace

/// The file's keys, top-level ones and those of this subcommand's section; every key must be somebody's option.
Status OptionSet::Impl::read_config(std::vector<ConfigEntry>& entries_of_file) const {
  if (config_file.empty()) return ok_status();
  constexpr int64_t kMostBytes = int64_t{1} << 20;
  allow_time();
  auto file = InputFile::open(config_file, {.most_bytes = kMostBytes});
  if (!file.ok()) return unreadable(config_file, file.status()).with_context("--config");
  if ((*file)->bytes().find('\0') != std::string_view::npos)
    return invalid_argument(cat("--config: ", printable(config_file), " is not text"));
  ASSIGN_OR_RETURN(std::vector<ConfigEntry> all, parse_config((*file)->bytes(), config_file));
  for (ConfigEntry& entry : all) {
    const std::string place = cat(printable(config_file), ":", entry.line);
    const auto& sections = others.commands;
    if (!entry.section.empty() && entry.section != command &&
        std::find(sections.begin(), sections.end(), entry.section) == sections.end()) {
      std::string hint = did_you_mean(entry.section, sections);
      return invalid_argument(cat(place, ": section '", printable(shortened(entry.section)), "' is not a subcommand",
                                  hint.empty() ? "" : "; ", hint));
    }
    std::replace(entry.name.begin(), entry.name.end(), '_', '-');
    if (entry.name == "config") return invalid_argument(cat(place, ": a configuration file names no other one"));
    if (!find(entry.name) && !is_of_others(entry.name))
      return invalid_argument(
          cat(place, ": unknown option '", printable(shortened(entry.name)), "'", suggest(shortened(entry.name))));
    if (entry.section.empty() || entry.section == command) entries_of_file.push_back(std::move(entry));
  }
  return ok_status();
}

OptionSet::OptionSet(std::string_view command, std::string_view summary) : impl_(std::make_unique<Impl>()) {
  impl_->command = command;
  impl_->summary = summary;
  impl_->app.set_help_flag();
  impl_->app.allow_extras();
  impl_->entries.reserve(96);  // as many as `train` has
}

OptionSet::~OptionSet() = default;

void OptionSet::others(Others others) { impl_->others = std::move(others); }

void OptionSet::group(std::string_view heading) { impl_->heading = heading; }

void OptionSet::about(std::string_view topic, std::vector<std::string_view> ways) {
  impl_->topic = topic;
  impl_->ways = std::move(ways);
}

void OptionSet::flag(std::string_view name, std::string_view help, bool& target) {
  impl_->declare(name, "", true, "", help, set_bool(target));
}

void OptionSet::switchable(std::string_view name, std::string_view help, bool& target) {
  Impl::Entry& entry = impl_->declare(name, cat(",!--no-", name), true, cat(", --no-", name), help, set_bool(target));
  entry.has_opposite = true;
}

void OptionSet::optional_value(std::string_view name, std::string_view value, std::string_view placeholder,
                               std::string_view help, Setter set) {
  impl_->declare(name, cat("{", value, "}"), true, cat("[=", placeholder, "]"), help, std::move(set)).placeholder =
      placeholder;
}

void OptionSet::value(std::string_view name, std::string_view placeholder, std::string_view help, Setter set) {
  impl_->declare(name, "", false, cat(" ", placeholder), help, std::move(set)).placeholder = placeholder;
}

void OptionSet::text(std::string_view name, std::string_view placeholder, std::string_view help, std::string& target) {
  const bool file = placeholder.find("FILE") != placeholder.npos || placeholder.find("DIR") != placeholder.npos;
  value(name, placeholder, help, [file, &target](const std::string& text) -> Status {
    if (file && text.empty()) return invalid_argument("'' names no file");  // a variable of a script that is not set
    target = text;
    return ok_status();
  });
}

void OptionSet::list(std::string_view name, std::string_view placeholder, std::string_view help,
                     std::vector<std::string>& target, std::vector<std::string_view> words) {
  value(name, placeholder, help,
        {[&target](const std::string& text) { return target.push_back(text), ok_status(); }, std::move(words)});
  impl_->entries.back().is_list = true;
}

void OptionSet::more_words(std::string_view name, const std::vector<std::string_view>& words) {
  for (Impl::Entry& entry : impl_->entries) {
    if (entry.name == name) entry.set.words.insert(entry.set.words.end(), words.begin(), words.end());
  }
}

void OptionSet::instead(std::string name, std::string hint) {
  impl_->hints.emplace_back(std::move(name), std::move(hint));
}

void OptionSet::positional(std::string_view name, std::string_view help, std::vector<std::string>& target) {
  impl_->app.add_option("arguments", target);
  impl_->arguments_name = name;
  impl_->arguments_help = help;
}

void OptionSet::declare_shared() {
  flag("help,-h", "Print this page", impl_->wants_help);
  text("config", "FILE", "Read options from a TOML file", impl_->config_file);
}

Status OptionSet::parse(int argc, char** argv, std::string& help) {
  declare_shared();
  std::vector<std::string> arguments;
  for (int i = argc - 1; i >= 0; --i) arguments.push_back(with_dashes(argv[i]));
  impl_->expect(arguments);
  try {
    impl_->app.parse(arguments);
  } catch (const CLI::ArgumentMismatch& error) {
    std::string option = error.what();
    return invalid_argument(cat(option.substr(0, option.find(':')), " needs a value"));
  } catch (const CLI::ParseError& error) {
    return invalid_argument(error.what());
  }
  for (const std::string& argument : impl_->app.remaining()) {
    if (argument != "--") return impl_->unknown(argument);
  }
  RETURN_IF_ERROR(impl_->check_flag_values(argc, argv));
  if (impl_->find("help")->is_given()) return help = impl_->help_text(), ok_status();

  const auto& config = impl_->entries.back();
  if (config.is_given()) RETURN_IF_ERROR(impl_->apply(config, config.option->results(), "command line"));
  if (const char* file = std::getenv("EMPLACE_CONFIG"); file && impl_->config_file.empty()) impl_->config_file = file;
  impl_->entries.pop_back();

  std::vector<ConfigEntry> items;
  RETURN_IF_ERROR(impl_->read_config(items));
  const bool has_variables = environment_has_options();
  for (const auto& entry : impl_->entries) {
    const std::string variable = has_variables ? environment_name(entry.name) : std::string();
    const char* environment = has_variables ? std::getenv(variable.c_str()) : nullptr;
    auto item = std::find_if(items.rbegin(), items.rend(), [&](const auto& i) { return i.name == entry.name; });
    if (entry.is_given()) {
      RETURN_IF_ERROR(impl_->apply(entry, entry.option->results(), "command line"));
    } else if (environment && *environment) {
      RETURN_IF_ERROR(impl_->apply(entry, {environment}, variable));
    } else if (item != items.rend() && !item->values.empty()) {
      RETURN_IF_ERROR(impl_->apply(entry, *item));
    }
  }
  return ok_status();
}

const std::vector<OptionSource>& OptionSet::sources() const { return impl_->sources; }

std::vector<OptionRow> OptionSet::rows() const {
  std::vector<OptionRow> rows;
  for (const Impl::Entry& e : impl_->entries)
    rows.push_back({e.name, e.usage, e.placeholder, e.heading, e.help, e.is_flag, e.has_opposite, e.set.words});
  return rows;
}

std::pair<std::string_view, std::string_view> OptionSet::arguments() const {
  return {impl_->arguments_name, impl_->arguments_help};
}

std::vector<std::string> OptionSet::names() const {
  std::vector<std::string> names;
  for (const auto& entry : impl_->entries) names.push_back(entry.name);
  return names;
}

OptionSet::Setter set_integer(int64_t& target, int64_t least) {
  return [&target, least](const std::string& text) -> Status {
    int64_t value = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || value < least) {
      return invalid_argument(cat("'", printable(text), "' is not a whole number of at least ", least));
    }
    target = value;
    return ok_status();
  };
}

OptionSet::Setter set_number(double& target) {
  return [&target](const std::string& text) -> Status {
    double value = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size())
      return invalid_argument(cat("'", printable(text), "' is not a number",
                                  error == std::errc{} && std::string_view(end) == "%" ? "; write 0.5 for 50 %" : ""));
    target = value;
    return ok_status();
  };
}

Status not_one_of(const std::string& text, const std::vector<std::string_view>& words) {
  std::string known;
  for (std::string_view word : words) append(known, known.empty() ? "" : ", ", word);
  std::string hint = did_you_mean(text, words);
  return invalid_argument(cat("'", printable(text), "' is none of ", known, hint.empty() ? "" : "; ", hint));
}

}  // namespace emplace
