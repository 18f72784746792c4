/// Options as other programs call them.
#pragma once

#include <string_view>

namespace emplace {

struct OtherWord {
  std::string_view word;    // "threads"
  std::string_view option;  // ours: "intra-op-threads"
  std::string_view hint;    // "write --intra-op-threads N"
};

/// Null: nobody calls an option so.
const OtherWord* other_word(std::string_view word);

}  // namespace emplace
