/// Source: the text that a graph was read from, kept so that messages can show the line they speak of;
/// Problem and Problems: what is wrong with it, all of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"

namespace emplace {

/// The whole content of one file (mapped) or of standard input (read). Immutable; any thread may read it.
class Source {
 public:
  /// `path` "-" is standard input. Errors are InputFile's.
  static Result<std::shared_ptr<const Source>> open(const std::string& path);
  static std::shared_ptr<const Source> from_text(std::string name, std::string text);
  virtual ~Source() = default;

  /// As given on the command line; "<stdin>" for "-".
  const std::string& name() const { return name_; }
  std::string_view text() const { return text_; }
  /// The text from `begin` to `end` will hardly be read again.
  virtual void forget([[maybe_unused]] size_t begin, [[maybe_unused]] size_t end) const {}
  /// Copies bytes, which it forgets on the way if they are its own and many: a tensor that cannot stay in a mapped
  /// file is not in memory twice.
  void move_out(std::string_view bytes, void* to) const;

  struct LineColumn {
    int64_t line = 1;    // from 1
    int64_t column = 1;  // from 1, in bytes
    std::string_view line_text;
  };
  /// Walks the text up to there, once. For messages.
  LineColumn locate(size_t offset) const;

  /// A file without lines, in which places are byte offsets.
  virtual bool binary() const { return false; }
  /// Of a binary file, the names of what stands around a byte: "node 'conv1' (number 17)". May be empty.
  virtual std::string context(size_t) const { return {}; }
  /// "model.json:12:24", "model.pb: byte 18234, node 'conv1' (number 17)": for messages.
  std::string where(size_t offset) const;

 protected:
  std::string name_;
  std::string_view text_;

 private:
  /// What came before a piece of the text.
  struct Lines {
    int64_t breaks = 0;  // that ended lines
    size_t start = 0;    // of the line that goes on there
  };
  /// At `offset`.
  Lines lines_before(size_t offset) const;

  mutable std::mutex mutex_;
  mutable std::vector<Lines> pieces_;  // as far as somebody has asked; guarded by mutex_
};

inline constexpr int64_t kNoPosition = -1;

struct Problem {
  int64_t position = kNoPosition;  // byte offset in the source
  Code code = Code::kInvalidArgument;
  std::string message;  // found, wanted
  std::string hint;     // what to do; may be empty
};

/// Everything wrong with one file. Keeps the first 100 and counts the rest.
class Problems {
 public:
  void add(int64_t position, std::string message, std::string hint = {}, Code code = Code::kInvalidArgument);
  bool empty() const { return count_ == 0; }
  int64_t count() const { return count_; }
  /// Nothing more is kept: whoever adds a problem may save the work of wording it well.
  bool full() const;
  const std::vector<Problem>& list() const { return list_; }

  /// "file:line:column: message", the source line, a caret, the hint; one block per problem, by position.
  std::string to_string(const Source& source) const;

 private:
  std::vector<Problem> list_;
  int64_t count_ = 0;
};

}  // namespace emplace
