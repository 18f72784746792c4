/// SsTableWriter: makes a table that SsTable reads, and TensorFlow.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace emplace {

class SsTableWriter {
 public:
  /// REQUIRES: keys ascend.
  void add(std::string_view key, std::string_view value);
  /// The whole file. Nothing may be added afterwards.
  std::string finish();

 private:
  /// Entries whose keys leave out what they share with the one before; every few, one is whole.
  struct Block {
    std::string bytes, last_key;
    std::string restarts;
    int since_restart = 0;
    void add(std::string_view key, std::string_view value);
    std::string take();
  };
  /// "offset, size" of the block in the file.
  std::string append_block(Block& block);
  void end_block();

  std::string file_;
  Block data_, index_;
};

}  // namespace emplace
