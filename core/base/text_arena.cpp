#include "core/base/text_arena.h"

namespace emplace {

void TextArena::grow(size_t size) {
  const size_t block = size > kBlock / 4 ? size : kBlock;
  blocks_.push_back(std::make_unique_for_overwrite<char[]>(block));
  next_ = blocks_.back().get();
  left_ = block;
}

}  // namespace emplace
