/// WireContext: what the readers of one binary graph share.
#pragma once

#include <string>
#include <string_view>

#include "core/formats/load_context.h"
#include "core/formats/proto_source.h"

namespace emplace {

struct WireContext {
  LoadContext& c;
  const ProtoSource& source;
  proto::WireError error{};

  int64_t position_of(const char* in_wire) const { return source.position_of(in_wire); }
  void problem(const char* in_wire, std::string message, std::string hint = {}) {
    c.problems.add(position_of(in_wire), std::move(message), std::move(hint));
  }
  /// Tells what is wrong with the bytes, if anything. False if there was something.
  bool sound() {
    if (!error.failed()) return true;
    problem(error.at, std::move(error.message));
    error = {};
    return false;
  }
};

}  // namespace emplace
