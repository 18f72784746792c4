#include "cli/man_page.h"

#include <algorithm>
#include <vector>

#include "cli/command_list.h"
#include "core/base/cat.h"

namespace emplace {
namespace {

constexpr std::string_view kDate = "November 22, 2026";  // of the last change to what pages say beside options

/// Text that is no markup: a backslash, and a dot or quote at the beginning of a line, mean something there.
std::string roff(std::string_view text) {
  std::string out;
  bool at_start = true;
  for (const char c : text) {
    if (at_start && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
    at_start = c == '\n';
  }
  return out;
}

/// As an argument of a macro: quoted, so that no word of it is taken for one.
std::string argument(std::string_view text) {
  std::string out = "\"";
  for (const char c : roff(text)) c == '"' ? append(out, "\\(dq") : append(out, std::string(1, c));
  return out + "\"";
}

std::string head(std::string_view name, std::string_view title, std::string_view summary) {
  return cat(".Dd ", kDate, "\n.Dt ", title, " 1\n.Os\n.Sh NAME\n.Nm ", name, "\n.Nd ", roff(summary), "\n");
}

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return out;
}

/// Each sentence begins a line of its own, as mdoc wants it, and no line is long.
std::string sentences(std::string_view text) {
  constexpr size_t kWidth = 72;
  std::string out;
  size_t column = 0;
  bool ended = false;  // a sentence, with the last word
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find_first_of(" \n", begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    begin = end + 1;
    if (word.empty()) continue;
    const bool new_line = column + 1 + word.size() > kWidth || (ended && word[0] >= 'A' && word[0] <= 'Z');
    if (column > 0) out += new_line ? '\n' : ' ';
    out += word;
    column = new_line ? word.size() : column + 1 + word.size();
    ended = word.ends_with('.');
  }
  return roff(out);
}

constexpr std::string_view kExitStatus =
    ".Sh EXIT STATUS\n"
    ".Bl -tag -width Ds -compact\n"
    ".It 0\nsuccess\n.It 1\nother failure\n.It 2\nusage\n.It 3\nthe graph file\n.It 4\nplacement, or a gate\n"
    ".It 5\na device\n.It 6\nout of memory\n.It 7\na result that is not the expected one\n.It 8\nanother process\n"
    ".It 128+N\nended by signal N\n.El\n";

}  // namespace

std::string man_page(const OptionSet& set, std::string_view command, std::string_view summary) {
  const auto [name, about] = set.arguments();
  std::string out = head(cat("emplace-", command), cat("EMPLACE-", upper(command)), summary);
  append(out, ".Sh SYNOPSIS\n.Nm emplace ", command, "\n.Op Ar options\n");
  if (!name.empty()) append(out, ".Ar ", argument(name), "\n");
  append(out, ".Sh DESCRIPTION\n", sentences(summary), ".\n");
  if (!about.empty()) append(out, ".Pp\n", sentences(about), "\n");
  std::string_view heading;
  for (const OptionRow& row : set.rows()) {
    if (row.heading != heading)
      append(out, heading.empty() ? "" : ".El\n", ".Ss ", roff(row.heading), "\n.Bl -tag -width Ds\n");
    heading = row.heading;
    append(out, ".It ", argument(row.usage), "\n", sentences(row.help), ".\n");
  }
  if (!heading.empty()) out += ".El\n";
  append(out, kExitStatus, ".Sh SEE ALSO\n.Xr emplace 1\n");
  return out;
}

std::string overview_man_page() {
  std::string out = head("emplace", "EMPLACE", "run text graph files, placed as TensorFlow places them");
  out +=
      ".Sh SYNOPSIS\n.Nm\n.Ar command\n.Op Ar options\n.Op Ar graph ...\n.Sh DESCRIPTION\nThe commands are:\n.Bl -tag "
      "-width Ds\n";
  for (const CommandRow& row : all_commands())
    append(out, ".It Xr emplace-", row.name, " 1\n", roff(row.summary), ".\n");
  append(out, ".El\n", ".Sh ENVIRONMENT\nEvery option has a variable:\n.Ev EMPLACE_SEED\nis that of\n.Fl \\-seed .\n",
         kExitStatus, ".Sh SEE ALSO\n");
  std::vector<std::string_view> names;
  for (const CommandRow& row : all_commands()) names.push_back(row.name);
  std::sort(names.begin(), names.end());
  for (const std::string_view name : names)
    append(out, ".Xr emplace-", name, " 1", name == names.back() ? "\n" : " ,\n");
  return out;
}

}  // namespace emplace
