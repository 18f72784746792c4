/// Where an attr stands in a graph file: looked for in the text when a message needs it, so that nodes need not remember.
#pragma once

#include <cstdint>
#include <string_view>

namespace emplace {

/// The position of `attr`'s key in the node whose name stands at `name_position`; that position itself if the attr is not
/// found there (it stands before the name, or comes from elsewhere). REQUIRES: `text` was read as a graph file.
int64_t attr_position(std::string_view text, int64_t name_position, std::string_view attr);

}  // namespace emplace
