/// Writes a binary message in protobuf's JSON mapping, with the keys of the .proto files.
#pragma once

#include <functional>
#include <string_view>

#include "core/base/json_writer.h"
#include "core/formats/proto/fields.h"
#include "core/formats/proto/wire_reader.h"

namespace emplace::proto {

/// May write a message in another way; false: it did not.
using WriteInstead = std::function<bool(JsonWriter& json, Message message, std::string_view bytes)>;

/// Writes `bytes` as the next value of `json`; a NodeDef on one line.
void write_json(JsonWriter& json, Message message, std::string_view bytes, WireError& error,
                const WriteInstead& instead = {}, int depth = 0);
/// The members alone, for an object that the caller opened.
void write_json_members(JsonWriter& json, Message message, std::string_view bytes, WireError& error,
                        const WriteInstead& instead = {}, int depth = 0);

}  // namespace emplace::proto
