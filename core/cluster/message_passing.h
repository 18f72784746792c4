/// MessagePassing: bytes between processes that something else has started together, by rank. It is a plug-in,
/// libemplace_mpi.so, which takes no symbol from the program, and the other way round: what crosses the border is
/// declared here.
#pragma once

#include <cstdint>
#include <string>

namespace emplace {

class MessagePassing {
 public:
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Returns at once. Any thread. REQUIRES: at most kMostBytes, and another rank.
  virtual void send(int to, std::string bytes) = 0;
  /// The next message that has come, of whichever rank; false: none has. One thread. Messages of one rank come in the
  /// order in which they were sent.
  virtual bool poll(int& from, std::string& bytes) = 0;

  /// Collectives, which all ranks begin in the same order, one thread at a time. They return at once, with a number
  /// for ended(); until then the memory is theirs. Bytes and where they begin are by rank, INT_MAX at most in all; what
  /// a rank has for itself is nothing.
  virtual int64_t start_all_to_all(const char* out, const int* out_bytes, const int* out_at, char* in,
                                   const int* in_bytes, const int* in_at) = 0;
  /// The part of each rank goes to all others; its own stands in `all`.
  virtual int64_t start_all_gather(char* all, const int* bytes, const int* at) = 0;
  /// Has it ended on this rank? True once, then the number is forgotten. Any thread.
  virtual bool ended(int64_t collective) = 0;

  /// Waits until all ranks have come here, so long; false: some has not.
  virtual bool wait_for_all(double timeout_s) = 0;
  /// After wait_for_all(): nothing is sent or polled any longer.
  virtual void finish() = 0;

 protected:
  ~MessagePassing() = default;
};

inline constexpr size_t kMostBytes = INT32_MAX;

/// The one symbol that the plug-in exports: `const MessagePassingPlugin* emplace_message_passing()`.
inline constexpr char kMessagePassingSymbol[] = "emplace_message_passing";
inline constexpr char kMessagePassingFile[] = "libemplace_mpi.so";
/// Counts changes of this file.
inline constexpr uint32_t kMessagePassingAbi = 3;

struct MessagePassingPlugin {
  uint32_t abi = kMessagePassingAbi;
  MessagePassing* (*start)(std::string* error) = nullptr;  // MPI_Init; null, and why
};

}  // namespace emplace
