/// Small values that occur all over a graph file. Each function takes the next value; if it is not what was wanted,
/// that is a problem, the value is skipped, and there is no result. `what` goes into messages.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/dtype.h"
#include "core/base/shape.h"
#include "core/formats/json_reader.h"

namespace emplace {

std::optional<std::string_view> read_text(JsonReader& reader, std::string_view what);
std::optional<bool> read_bool(JsonReader& reader, std::string_view what);
/// A whole number in [low, high], perhaps in quotes.
std::optional<int64_t> read_integer(JsonReader& reader, std::string_view what, int64_t low = INT64_MIN,
                                    int64_t high = INT64_MAX);
/// A number, perhaps in quotes, "NaN", "Infinity", "-Infinity".
std::optional<double> read_double(JsonReader& reader, std::string_view what);
/// The same, finite ones within the range of float32.
std::optional<float> read_float(JsonReader& reader, std::string_view what);
/// Protobuf's bytes: base64 text, or a list of numbers from 0 to 255.
std::optional<std::string> read_bytes(JsonReader& reader, std::string_view what);
/// A name ("float32", "DT_FLOAT") or TensorFlow's number.
std::optional<DType> read_dtype(JsonReader& reader, std::string_view what);
/// Of a value: a reference is a problem, too.
std::optional<DType> read_value_dtype(JsonReader& reader, std::string_view what);
/// A list of sizes, null, or a TensorShapeProto. Sizes are at least -1 (unknown).
std::optional<Shape> read_shape(JsonReader& reader, std::string_view what);

}  // namespace emplace
