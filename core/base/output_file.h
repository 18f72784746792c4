/// OutputFile: a file that a person named, written so that at every moment, whatever ends the process or the machine,
/// its name stands for the whole old content or the whole new one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/status.h"

namespace emplace {

/// The ending of what is being written under a name of its own.
inline constexpr std::string_view kPartEnding = ".part";

/// Is this the name of a file that an interrupted commit() may have left? (Of no folder's.)
bool is_leftover_name(std::string_view file_name);

class OutputFile {
 public:
  enum class Growth : uint8_t {
    kUnseen,  // without a name where the file system can do so: nothing is left of it, even after kill -9
    kSeen,  // as NAME.part, which people watch, and which has all that was written after kill -9; one writer at a time
  };

  OutputFile() = default;
  OutputFile(OutputFile&& other) noexcept { *this = std::move(other); }
  OutputFile& operator=(OutputFile&& other) noexcept;
  /// What was not committed is gone, and what was there before is as it was.
  ~OutputFile() { abandon(); }

  /// Begins to write aside: to be called before the work whose result is written, so that what cannot be is told in
  /// time. Through a symbolic link. A device, a pipe or a socket is written to as it is. InvalidArgument if there can
  /// be no such file, FailedPrecondition if another process is writing a kSeen one; "cannot write 'x': " in the
  /// system's words.
  static Result<OutputFile> open(std::string path, Growth growth = Growth::kUnseen);

  /// Behind what was written before, in as few system calls as the system allows. Unavailable: the disk is full, or the
  /// like; the same again for all that follows.
  Status write(std::string_view bytes);
  /// All that commit() does before the rename. For files that are to appear together.
  Status settle();
  /// fsync, rename, fsync of the folder. Once, as the last.
  Status commit();
  /// Forgets what was written.
  void abandon();

  bool is_open() const { return file_ >= 0; }
  bool failed() const { return error_ != 0; }
  bool is_empty() const { return is_empty_; }
  const std::string& path() const { return path_; }

 private:
  Status failure(int error) const;
  Status refusal(int error) const;
  int open_aside(Growth growth);
  int take_part();
  int give_name();
  bool enter_folder();
  void leave_folder();
  int settle_or_error();

  std::string path_;    // as given
  std::string target_;  // behind symbolic links
  std::string part_;    // the name of what is written, in folder_; empty: it has none
  int folder_ = -1;     // of part_
  int file_ = -1;
  bool in_place_ = false;  // no file that could be replaced
  bool settled_ = false;
  bool is_empty_ = true;  // nothing has been written
  int error_ = 0;         // errno of the first write that failed
};

}  // namespace emplace
