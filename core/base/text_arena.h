/// TextArena: keeps copies of texts at fixed addresses, many in one allocation. Nothing is freed before the arena is.
#pragma once

#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

namespace emplace {

class TextArena {
 public:
  std::string_view keep(std::string_view text) {
    if (text.empty()) return {};
    if (text.size() > left_) grow(text.size());
    char* copy = next_;
    std::memcpy(copy, text.data(), text.size());
    next_ += text.size();
    left_ -= text.size();
    return {copy, text.size()};
  }

 private:
  static constexpr size_t kBlock = 16384;
  void grow(size_t size);

  std::vector<std::unique_ptr<char[]>> blocks_;
  char* next_ = nullptr;
  size_t left_ = 0;
};

}  // namespace emplace
