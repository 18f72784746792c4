#include "cli/complete_line.h"

#include <sys/stat.h>

#include <algorithm>

#include "cli/command_list.h"
#include "cli/side.h"
#include "core/base/cat.h"

namespace emplace {
namespace {

/// The words typed so far; the last one, maybe empty, is what is to be completed.
std::vector<std::string> typed_words(std::string_view line) {
  for (const std::string_view end : {"", "'", "\""}) {  // an open quote is no mistake yet
    const Result<std::vector<std::string>> words = shell_words(cat(line, end));
    if (!words.ok()) continue;
    std::vector<std::string> typed = *words;
    const bool after_space = end.empty() && !line.empty() && (line.back() == ' ' || line.back() == '\t');
    if (typed.empty() || (after_space && !line.ends_with("\\ "))) typed.emplace_back();
    return typed;
  }
  return {""};
}

bool is_graph_file(const std::string& path) {
  struct stat facts {};
  return stat(path.c_str(), &facts) == 0 && S_ISREG(facts.st_mode);
}

class Completer {
 public:
  explicit Completer(std::vector<std::string> words) : words_(std::move(words)), last_(words_.back()) {}

  Completions find() {
    if (words_.size() < 2) return {};
    if (words_.size() == 2) return offer_commands();
    const CommandRow* row = find_command(words_[1]);
    if (!row) return {};
    command_ = row->make();
    OptionSet set(row->name, row->summary);
    command_->declare(set, options_);
    set.group("Talk");
    declare_talk(set, options_.talk);
    set.declare_shared();
    rows_ = set.rows();
    arguments_ = set.arguments().first;
    complete();
    return std::move(found_);
  }

 private:
  Completions offer_commands() {
    for (const CommandRow& row : all_commands()) offer("", row.name);
    for (const std::string_view word : {"--help", "--version"}) offer("", word);
    return std::move(found_);
  }

  void complete() {
    if (const OptionRow* row = option_of(words_[words_.size() - 2]); row && !row->is_flag) return value_of(*row, "");
    if (const size_t equals = last_.find('='); last_.starts_with("--") && equals != last_.npos) {
      if (const OptionRow* row = option_of(last_.substr(0, equals))) value_of(*row, last_.substr(0, equals + 1));
      return;
    }
    if (last_.starts_with('-')) return offer_options();
    argument();
  }

  const OptionRow* option_of(std::string_view word) const {
    if (!word.starts_with("--") || word.find('=') != word.npos) return nullptr;
    for (const OptionRow& row : rows_) {
      if (row.name == word.substr(2)) return &row;
    }
    return nullptr;
  }

  void offer_options() {
    for (const OptionRow& row : rows_) {
      offer("--", row.name);
      if (row.has_opposite) offer("--no-", row.name);
    }
  }

  /// `before`: what of the last word stays as it is.
  void value_of(const OptionRow& row, const std::string& before) {
    const std::string_view placeholder = row.placeholder;
    if (!row.words.empty()) {
      for (const std::string_view word : row.words) offer(before, word);
    } else if (placeholder.starts_with("REGEX=") || placeholder.starts_with("NAME=")) {
      const size_t equals = last_.find('=', before.size());
      if (equals == last_.npos) return offer_nodes(before, "=");
      placeholder.ends_with("DEVICE") ? offer_devices(last_.substr(0, equals + 1)) : offer_files();
    } else if (placeholder.starts_with("NAME") || placeholder.find("TENSOR") != placeholder.npos) {
      offer_nodes(before, "");
    } else if (placeholder.starts_with("DEVICE")) {
      offer_devices(before);
    } else if (placeholder.find("FILE") != placeholder.npos || placeholder.find("DIR") != placeholder.npos ||
               placeholder.find("WHERE") != placeholder.npos || placeholder.find("SPEC") != placeholder.npos) {
      offer_files();
    }
  }

  /// A file, or behind it a node's name where the command takes these.
  void argument() {
    if (arguments_ == "OP") return;
    if (arguments_.find("[NODE") != arguments_.npos && !graph_files().empty()) return offer_nodes("", "");
    offer_files();
  }

  /// The arguments in front of the last word that are files.
  std::vector<std::string> graph_files() const {
    std::vector<std::string> files;
    for (size_t i = 2; i + 1 < words_.size(); ++i) {
      if (words_[i].starts_with("-")) continue;
      if (const OptionRow* row = option_of(words_[i - 1]); row && !row->is_flag) continue;
      if (is_graph_file(words_[i])) files.push_back(words_[i]);
    }
    return files;
  }

  void offer_nodes(const std::string& before, std::string_view behind) {
    const std::vector<std::string> files = graph_files();
    if (files.empty()) return;
    Log silent;
    silent.set_level(LogLevel::kOff);
    StageContext context({}, files.front(), silent);
    const Result<Loaded> loaded = load_graph(context);
    if (!loaded.ok() || !loaded->file) return;
    const Graph& graph = loaded->file->graph;
    for (NodeId node = 0; node < graph.num_nodes(); ++node) offer(before, cat(graph.name(node), behind));
  }

  void offer_devices(const std::string& before) {
    for (const std::string_view device : {"CPU:0", "GPU:0", "GPU:1", "GPU:2", "GPU:3"}) offer(before, device);
  }

  void offer_files() { found_.files = true; }

  void offer(std::string_view before, std::string_view word) {
    std::string whole = cat(before, word);
    if (whole.starts_with(last_)) found_.words.push_back(std::move(whole));
  }

  const std::vector<std::string> words_;
  const std::string last_;
  Options options_;
  std::unique_ptr<Command> command_;
  std::vector<OptionRow> rows_;
  std::string arguments_;
  Completions found_;
};

}  // namespace

Completions complete_line(std::string_view line) { return Completer(typed_words(line)).find(); }

}  // namespace emplace
