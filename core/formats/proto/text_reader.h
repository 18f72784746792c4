/// Reads protobuf's text form (.pbtxt) into its binary form, for those who read that.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/formats/proto/fields.h"
#include "core/graph/source.h"

namespace emplace::proto {

/// Where in the text a byte of the binary form comes from.
class TextPositions {
 public:
  /// REQUIRES: ascending `wire`.
  void add(size_t wire, size_t text) { places_.emplace_back(wire, text); }
  size_t of(size_t wire) const;

 private:
  std::vector<std::pair<size_t, size_t>> places_;
};

/// Appends what `text` says to `wire`. Problems have the place in the text: what is unknown or of a wrong kind is told
/// and passed over, an error of the grammar ends it.
void read_text(Message message, std::string_view text, std::string& wire, TextPositions& positions, Problems& problems);

}  // namespace emplace::proto
