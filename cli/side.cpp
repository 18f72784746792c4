#include "cli/side.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "cli/files.h"
#include "cli/values.h"
#include "core/base/cat.h"
#include "core/base/foreign_words.h"
#include "core/base/printable.h"

namespace emplace {
namespace {

/// The options of the command line, spelled so that each is one argument.
std::vector<std::string> as_arguments(const std::vector<OptionSource>& options) {
  std::vector<std::string> arguments;
  for (const OptionSource& option : options) {
    if (option.source != "command line") continue;
    for (const std::string& value : option.values) arguments.push_back(cat("--", option.name, "=", value));
  }
  return arguments;
}

std::string values_text(const std::vector<std::string>& values) {
  std::string text;
  for (const std::string& value : values) append(text, text.empty() ? "" : " ", value);
  return text;
}

}  // namespace

std::string shell_word(std::string_view text) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-+,:=@%";
  if (!text.empty() && text.find_first_not_of(kPlain) == text.npos) return std::string(text);
  std::string out = "'";
  for (const char c : text) c == '\'' ? out += "'\\''" : out += c;
  return out + "'";
}

Result<std::vector<std::string>> shell_words(std::string_view text) {
  std::vector<std::string> words;
  bool in_word = false;
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote == 0 && (c == ' ' || c == '\t' || c == '\n')) {
      in_word = false;
      continue;
    }
    if (!in_word) words.emplace_back();
    in_word = true;
    if (c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
    } else if (c == '\\' && quote != '\'' && i + 1 < text.size()) {
      words.back() += text[++i];
    } else {
      words.back() += c;
    }
  }
  if (quote != 0) return invalid_argument(cat("a ", std::string(1, quote), " that does not end in: ", text));
  return words;
}

Result<Side> read_side(std::string_view command, const std::string& text, const std::vector<OptionSource>& common,
                       const std::function<void(OptionSet&, Options&)>& declare) {
  Side side;
  side.text = text;
  std::vector<std::string> arguments = as_arguments(common);
  if (std::error_code error; text == "-" || std::filesystem::exists(text, error)) {
    side.path = text;
  } else {
    ASSIGN_OR_RETURN(std::vector<std::string> words, shell_words(text));
    arguments.insert(arguments.end(), words.begin(), words.end());
  }
  std::vector<char*> pointers;
  pointers.reserve(arguments.size());
  for (std::string& argument : arguments) {
    note_foreign_word(argument);
    pointers.push_back(argument.data());
  }
  OptionSet set(command, "");
  set.positional("GRAPH", "", side.options.arguments);
  declare(set, side.options);
  std::string help;
  RETURN_IF_ERROR(
      set.parse(static_cast<int>(pointers.size()), pointers.data(), help).with_context(cat("'", text, "'")));
  auto& files = side.options.arguments;
  if (side.path.empty()) {
    if (files.size() != 1)
      return invalid_argument(cat("'", printable(text), "' names ", files.empty() ? "no graph" : "several graphs"));
    side.path = files.front();
  }
  files = {side.path};
  RETURN_IF_ERROR(name_files(side.options, set.sources()));
  RETURN_IF_ERROR(settle_policy(side.options, set.sources()));
  RETURN_IF_ERROR(check_values(side.options));
  side.given = set.sources();
  for (const OptionSource& option : side.given) side.options.pipeline.given.insert(option.name);
  return side;
}

std::vector<std::string> different_options(const Side& before, const Side& after) {
  std::map<std::string, std::pair<const OptionSource*, const OptionSource*>> options;
  for (const OptionSource& option : before.given) options[option.name].first = &option;
  for (const OptionSource& option : after.given) options[option.name].second = &option;
  std::vector<std::string> texts;
  for (const auto& [name, values] : options) {
    const auto& [was, is] = values;
    if (was && is && was->values == is->values) continue;
    if (!is) {
      texts.push_back(cat("no --", name, ", was ", values_text(was->values)));
    } else {
      texts.push_back(
          cat("--", name, " ", values_text(is->values), was ? cat(", was ", values_text(was->values)) : ""));
    }
  }
  return texts;
}

}  // namespace emplace
