/// NormLayout: an image as batch normalisation sees it.
#pragma once

#include <cstdint>

namespace emplace {

/// [outer, channels, inner]: the pixels of a channel are `inner` side by side, `outer` times.
struct NormLayout {
  int64_t outer = 1, channels = 0, inner = 1;
  int64_t count() const { return outer * inner; }  // elements of a channel
};

}  // namespace emplace
