#include "cli/complete_line.h"

#include <sys/stat.h>

#include <algorithm>
#include <set>

#include "cli/command_list.h"
#include "cli/complete_form.h"
#include "cli/side.h"
#include "core/base/cat.h"
#include "core/op/op_table.h"

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

constexpr std::string_view kDevices[] = {"CPU:0", "GPU:0", "GPU:1", "GPU:2", "GPU:3"};
constexpr std::string_view kFedValues[] = {"@FILE", "zeros", "ones", "random:SEED"};  // beside numbers

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
    if (const OptionRow* row = option_of(words_[words_.size() - 2]); row && !row->is_flag) return value_of(*row, 0);
    if (const size_t equals = last_.find('='); last_.starts_with("--") && equals != last_.npos) {
      if (const OptionRow* row = option_of(last_.substr(0, equals))) value_of(*row, equals + 1);
      return;
    }
    if (last_.starts_with('-')) return offer_options();
    argument();
  }

  /// Of "--steps", "--host_memory_limit", "-o".
  const OptionRow* option_of(std::string word) const {
    if (!word.starts_with('-') || word.find('=') != word.npos) return nullptr;
    std::replace(word.begin(), word.end(), '_', '-');
    for (const OptionRow& row : rows_) {
      if (word.starts_with("--") ? row.name == word.substr(2) : row.usage.starts_with(word + ",")) return &row;
    }
    return nullptr;
  }

  void offer_options() {
    for (const OptionRow& row : rows_) {
      offer("--", row.name);
      if (row.has_opposite) offer("--no-", row.name);
    }
  }

  /// `begin`: where in the last word the value does.
  void value_of(const OptionRow& row, size_t begin) {
    if (row.words.empty()) {
      for (const std::string_view form : split_forms(row.placeholder)) offer_form(form, begin);
    } else {
      for (const std::string_view form : row.words) offer_form(form, begin);
    }
  }

  void offer_form(std::string_view form, size_t begin) {
    const FormPart part = part_at_end(form, last_, begin);
    if (!part.literal.empty()) return offer(part.before, part.literal);
    const auto is_one_of = [&](std::initializer_list<std::string_view> kinds) {
      return std::find(kinds.begin(), kinds.end(), part.kind) != kinds.end();
    };
    if (is_one_of({"FILE", "DIR"})) {
      found_.files = true;
    } else if (is_one_of({"NODE", "NAME", "TENSOR", "REGEX"})) {
      offer_nodes(part.before, part.behind);
    } else if (is_one_of({"DEVICE", "FROM", "TO"})) {
      for (const std::string_view device : kDevices) offer(part.before, cat(device, part.behind));
    } else if (part.kind == "TYPE") {
      for (const std::string_view type : {"CPU", "GPU"}) offer(part.before, cat(type, part.behind));
    } else if (part.kind == "OP") {
      offer_ops_of_graph(part.before);
    } else if (part.kind == "VALUE") {
      for (const std::string_view value : kFedValues) offer_form(value, part.before.size());
    } else if (part.kind == "KEY" && !part.behind.empty()) {
      offer_sweeps(part.before);
    }
  }

  /// What a value of `bench --sweep` begins with.
  void offer_sweeps(const std::string& before) {
    for (const std::string_view key : {"batch", "devices"}) offer(before, cat(key, "="));
    for (const OptionRow& row : rows_) {
      if (!row.is_flag && row.name != "devices") offer(before, cat(row.name, "="));
    }
  }

  /// A file, or what else the command takes.
  void argument() {
    if (arguments_ == "SHELL") {
      for (const std::string_view shell : {"bash", "zsh", "fish"}) offer("", shell);
      return;
    }
    const bool of_files = std::find(words_.begin(), words_.end(), "--missing") != words_.end();
    if (arguments_ == "[OP...]" && !of_files) return offer_all_ops();
    if (arguments_.find("[NODE") != arguments_.npos && !graph_files().empty()) return offer_nodes("", "");
    found_.files = true;
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

  /// Of the graph that is typed already; null: there is none, or it cannot be read.
  const Graph* graph() {
    const std::vector<std::string> files = graph_files();
    if (files.empty() || file_) return file_ ? &file_->graph : nullptr;
    Log silent;
    silent.set_level(LogLevel::kOff);
    StageContext context({}, files.front(), silent);
    Result<Loaded> loaded = load_graph(context);
    if (loaded.ok()) file_ = loaded->file;
    return file_ ? &file_->graph : nullptr;
  }

  void offer_nodes(const std::string& before, std::string_view behind) {
    const Graph* g = graph();
    for (NodeId node = 0; g && node < g->num_nodes(); ++node) offer(before, cat(g->name(node), behind));
  }

  void offer_ops_of_graph(const std::string& before) {
    const Graph* g = graph();
    if (!g) return offer_all_ops(before);
    std::set<std::string_view> ops;
    for (NodeId node = 0; node < g->num_nodes(); ++node) ops.insert(g->op(node));
    for (const std::string_view op : ops) offer(before, op);
  }

  void offer_all_ops(std::string_view before = "") {
    const OpTable table;
    for (const std::string_view op : table.names()) offer(before, op);
  }

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
  std::shared_ptr<const GraphFile> file_;
  Completions found_;
};

}  // namespace

Completions complete_line(std::string_view line) { return Completer(typed_words(line)).find(); }

}  // namespace emplace
