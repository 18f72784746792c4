/// What is known of calls of library functions while groups are built: how the graph came to be called, and what the
/// bodies looked into so far demand.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/place/placer_state.h"

namespace emplace {

/// The groups of a function's body, as far as its arguments and results belong to them.
struct BodyGroups {
  /// What a group asks for, to be demanded of its neighbours outside.
  struct Demand {
    DeviceName requested, resource;
    std::vector<std::pair<std::string, int>> types;  // device type, kernel priority
  };
  std::vector<size_t> of_argument, of_result;      // index of the group
  std::vector<Demand> demands;                     // by group
  std::vector<std::pair<int, std::string>> notes;  // as Placement::notes, of building the body's groups
};

/// The calls that led to a body, outermost first: to find recursion. Knows the bodies looked into so far, so that
/// functions that call each other many times are looked into once.
class CallStack {
 public:
  /// By the call, in TensorFlow's words: "f[T=DT_FLOAT]".
  struct Bodies {
    std::map<std::string, BodyGroups> groups;
    std::map<std::string, Status> failures;
  };

  CallStack() = default;
  /// The stack inside the body of `function`, which the node `caller` calls.
  CallStack inside(std::string_view caller, std::string_view function) const;
  bool has(std::string_view function) const;
  size_t depth() const { return frames_.size(); }
  Bodies& bodies() const { return *bodies_; }
  /// TensorFlow's words for a call of what is being called already.
  Status recursion(std::string_view caller, std::string_view function) const;

 private:
  struct Frame {
    std::string function;  // whose body holds the caller; empty: the graph
    std::string caller;
  };
  std::shared_ptr<Bodies> bodies_ = std::make_shared<Bodies>();
  std::vector<Frame> frames_;
  std::string current_;  // the function whose body is looked at; empty: the graph
};

/// Builds the groups of the body that `call` calls, bodies called in it included. `lines` gets the offenders.
using BodyGroupsFinder = Result<BodyGroups> (*)(const PlacerState& outer, NodeId call, const CallStack& stack,
                                                std::vector<std::string>& lines);

}  // namespace emplace
