#include "core/place/call_stack.h"

#include <algorithm>

#include "core/base/cat.h"

namespace emplace {

CallStack CallStack::inside(std::string_view caller, std::string_view function) const {
  CallStack inner = *this;
  inner.frames_.push_back({current_, std::string(caller)});
  inner.current_ = function;
  return inner;
}

bool CallStack::has(std::string_view function) const {
  return current_ == function ||
         std::any_of(frames_.begin(), frames_.end(), [&](const Frame& f) { return f.function == function; });
}

Status CallStack::recursion(std::string_view caller, std::string_view function) const {
  std::string text =
      cat("Recursive function calls are not supported. Node {{node ", caller, "}} inside the body of {{function_node ",
          current_, "}} calls function {{function_node ", function, "}} which is already present in the call stack:");
  for (size_t i = 0; i < frames_.size(); ++i) {
    const Frame& frame = frames_[i];
    const std::string& called = i + 1 < frames_.size() ? frames_[i + 1].function : current_;
    append(text, "\n  ", frame.function.empty() ? "Graph" : cat("Function {{function_node ", frame.function, "}}"),
           " contains node {{node ", frame.caller, "}}");
    append(text, "\n  Node {{node ", frame.caller, "}} calls function {{function_node ", called, "}}");
  }
  return unimplemented(std::move(text));
}

}  // namespace emplace
