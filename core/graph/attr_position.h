/// Where an attr, the op or an input of a node stands in a graph file: looked for in the text when a message needs it,
/// so that nodes need not remember.
#pragma once

#include <cstdint>
#include <string_view>

namespace emplace {

/// The position of `attr`'s key in the node whose name stands at `name_position`; that position itself if the attr is
/// not found there (it stands before the name, or comes from elsewhere). REQUIRES: `text` was read as a graph file.
int64_t attr_position(std::string_view text, int64_t name_position, std::string_view attr);

/// The same for the op's name, and for an entry of `input`; its list, if it has no such entry.
int64_t op_position(std::string_view text, int64_t name_position);
int64_t input_position(std::string_view text, int64_t name_position, size_t input);

}  // namespace emplace
