/// ExactSource: the bytes of a fuzz target as they are, without the NUL that a std::string has behind them: a reader
/// that looks one byte too far does so outside of what was allocated.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/graph/source.h"

namespace emplace {

class ExactSource final : public Source {
 public:
  explicit ExactSource(std::string_view bytes) {
    name_ = "fuzz";
    text_ = bytes;
  }
  ExactSource(const uint8_t* data, size_t size) : ExactSource({reinterpret_cast<const char*>(data), size}) {}
};

}  // namespace emplace
