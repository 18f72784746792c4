/// Writes a binary message as protobuf's text form (.pbtxt).
#pragma once

#include <string>
#include <string_view>

#include "core/formats/proto/fields.h"
#include "core/formats/proto/wire_reader.h"

namespace emplace::proto {

/// Appends `bytes` as text, indented by two spaces a level.
void write_text(Message message, std::string_view bytes, std::string& out, WireError& error);

}  // namespace emplace::proto
