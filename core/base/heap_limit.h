/// HeapLimit: where a command makes tables, documents and pictures, whose sizes nobody knows beforehand, the heap ends
/// at the limit of host memory, too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <string>
#include <utility>

namespace emplace {

/// Thrown once on a thread: what is done about it takes memory as well, and is not refused.
class HeapOverLimit final : public std::bad_alloc {
 public:
  explicit HeapOverLimit(std::string text) : text_(std::move(text)) {}
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  std::string text_;
};

/// Until the end of the scope this thread may not take more of the heap than the limit allows the process: what has no
/// room is a HeapOverLimit, which the command ends with. Not around what other threads help with: they would miss what
/// is gone. It sees the heap only in a program whose operator new asks it (cli/operator_new.cpp).
class HeapLimit {
 public:
  HeapLimit() : HeapLimit(kPiece) {}
  ~HeapLimit() { left_ = std::uncaught_exceptions() > 0 ? INT64_MAX : before_; }
  HeapLimit(const HeapLimit&) = delete;
  HeapLimit& operator=(const HeapLimit&) = delete;

  /// What the process has by now, its own code and tables, does not count.
  static void begin();
  /// Within the scope of another one: for what runs on several threads.
  static HeapLimit none() { return HeapLimit(INT64_MAX); }
  /// So many bytes are about to be taken.
  static void take(size_t bytes) {
    if ((left_ -= static_cast<int64_t>(bytes)) < 0) [[unlikely]]
      look(bytes);
  }

 private:
  // A look takes some 10 us, and so much of the heap takes 100 times as long to fill.
  static constexpr int64_t kPiece = int64_t{4} << 20;

  explicit HeapLimit(int64_t left) : before_(left_) { left_ = left; }
  static void look(size_t bytes);

  static constinit thread_local int64_t left_;  // to be taken until the next look
  const int64_t before_;
};

}  // namespace emplace
