/// Reads protobuf's JSON mapping into the binary form.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/formats/json_reader.h"
#include "core/formats/proto/wire_writer.h"

namespace emplace::proto {

/// Keys at the top of a file that are none of the message's, and the text of their values.
using OtherKeys = std::vector<std::pair<std::string, std::string_view>>;

/// Appends what the next value says of `message` to `wire`. False if the text says anything in another way: an unknown
/// key, a value of another kind. `others`: if not null, takes unknown keys of this outermost message.
bool read_json(Message message, JsonReader& reader, WireWriter& wire, OtherKeys* others);

}  // namespace emplace::proto
