/// Attr values of nodes: AttrValue messages and the plain forms that a person writes, read by the attr's declared type.
#pragma once

#include <optional>
#include <string_view>

#include "core/formats/load_context.h"
#include "core/op/attr_value.h"

namespace emplace {

/// Takes the next value. `declared` kNone: nobody knows, the value's own form decides. `tensor_type`: the type of a
/// plain tensor that states none. Nothing if there was a problem.
std::optional<AttrValue> read_attr(LoadContext& c, std::string_view name, AttrType declared,
                                   DType tensor_type = DType::kInvalid);

/// Takes the next value, an AttrValue message (attr_value.proto). An empty message is the zero of `declared`.
std::optional<AttrValue> read_attr_message(LoadContext& c, std::string_view what, AttrType declared);

/// Is the next value, an object, an AttrValue message (and no tensor of the form {"dtype", "shape", "data"})?
bool is_attr_message(JsonReader& reader);

/// What protobuf's printers leave out of a value of that type: false, 0, "", a scalar's shape.
AttrValue zero_attr(AttrType type);

/// What the op, or TensorFlow's habit, says of an attr; kNone: nobody knows. `signature` may be null.
AttrType declared_attr_type(const OpSignature* signature, std::string_view name);

/// "int", "list(type)": as in OpDef. Nothing if it is no attr type.
std::optional<AttrType> parse_attr_type(std::string_view text);

}  // namespace emplace
