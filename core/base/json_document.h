/// Reading a whole JSON text, comments allowed, whoever wrote it: what is nested too deep or too large is refused.
///
/// Not so are read: graph files, and what names a graph's nodes or belongs to a run (saved placements, checkpoints),
/// because a tree of nlohmann's has forgotten the lines that messages tell (core/formats/json_reader.h). Documents are
/// written by JsonWriter: a million rows of a placement take it 0.34 s, a tree and its dump() 1.6 s and the memory of
/// the tree.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/base/host_memory.h"
#include "core/base/status.h"

namespace emplace {

/// InvalidArgument, "README.md:1:1: not JSON: invalid literal; last read: '#'", for what is not JSON or has more than
/// 1,000 lists and objects inside each other. ResourceExhausted if the limit of host memory does not allow what the
/// document may take; `memory`, where given, holds that as long as the document lives.
Result<nlohmann::json> parse_json(std::string_view text, std::string_view origin, HostShare* memory = nullptr);

/// A value as messages show it: its text, or the begin of that.
std::string shown(const nlohmann::json& value);
/// The text at `key`; empty if there is none.
std::string text_at(const nlohmann::json& object, const char* key);

}  // namespace emplace
