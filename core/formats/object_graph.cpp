#include "core/formats/object_graph.h"

#include <algorithm>

#include "core/formats/proto/field_tables.h"
#include "core/formats/proto/message_fields.h"
#include "core/formats/proto/wire_reader.h"

namespace emplace {
namespace {

using proto::number;
using proto::WireError;
using proto::WireReader;
using proto::WireType;

/// A name in a key has ".S" for "/", and ".." for ".": tensorflow/python/trackable/trackable_utils.py.
std::string unescaped(std::string_view name) {
  std::string out;
  for (size_t i = 0; i < name.size(); ++i) {
    const bool escaped = name[i] == '.' && i + 1 < name.size();
    if (escaped) ++i;
    out += escaped && name[i] == 'S' ? '/' : name[i];
  }
  return out;
}

std::pair<std::string, size_t> read_child(std::string_view message) {
  using proto::kTrackableObjectGraphTrackableObjectObjectReferenceFields;
  std::pair<std::string, size_t> child{};
  WireError ignored;
  for (WireReader reader(message, ignored); reader.next();) {
    if (reader.is(number(kTrackableObjectGraphTrackableObjectObjectReferenceFields, "node_id"), WireType::kVarint))
      child.second = reader.number();
    if (reader.is(number(kTrackableObjectGraphTrackableObjectObjectReferenceFields, "local_name"), WireType::kBytes))
      child.first = reader.bytes();
  }
  return child;
}

bool read_trainable(std::string_view variable) {
  bool trainable = false;
  WireError ignored;
  for (WireReader reader(variable, ignored); reader.next();) {
    if (reader.is(number(proto::kSavedVariableFields, "trainable"), WireType::kVarint))
      trainable = reader.number() != 0;
  }
  return trainable;
}

}  // namespace

ObjectGraph::ObjectGraph(std::string_view message) {
  WireError ignored;
  for (WireReader reader(message, ignored); reader.next();) {
    if (reader.is(number(proto::kSavedObjectGraphFields, "nodes"), WireType::kBytes))
      objects_.push_back(read_object(reader.bytes()));
    if (reader.is(number(proto::kSavedObjectGraphFields, "concrete_functions"), WireType::kBytes))
      read_function(reader.bytes());
  }
}

void ObjectGraph::read_function(std::string_view entry) {
  using proto::kSavedObjectGraphConcreteFunctionsEntryFields;
  const std::string_view function =
      proto::text_field(entry, number(kSavedObjectGraphConcreteFunctionsEntryFields, "value"));
  std::vector<size_t>& bound = bound_inputs_[std::string(proto::entry_key(entry))];
  WireError ignored;
  for (WireReader reader(function, ignored); reader.next();) {
    if (reader.field() == number(proto::kSavedConcreteFunctionFields, "bound_inputs"))
      reader.numbers(WireType::kVarint, [&](uint64_t object) { bound.push_back(object); });
  }
}

const std::vector<size_t>* ObjectGraph::bound_inputs(std::string_view function) const {
  const auto found = bound_inputs_.find(function);
  return found == bound_inputs_.end() ? nullptr : &found->second;
}

ObjectGraph::Object ObjectGraph::read_object(std::string_view message) {
  Object object;
  WireError ignored;
  for (WireReader reader(message, ignored); reader.next();) {
    if (reader.is(number(proto::kSavedObjectFields, "children"), WireType::kBytes))
      object.children.push_back(read_child(reader.bytes()));
    if (reader.is(number(proto::kSavedObjectFields, "variable"), WireType::kBytes))
      object.trainable = read_trainable(reader.bytes());
  }
  return object;
}

std::optional<size_t> ObjectGraph::object(std::string_view key) const {
  constexpr std::string_view kAttributes = "/.ATTRIBUTES/";
  std::string_view left = key.substr(0, key.rfind(kAttributes));
  size_t at = 0;
  while (!left.empty()) {
    const std::string name = unescaped(left.substr(0, left.find('/')));
    left.remove_prefix(std::min(left.find('/'), left.size() - 1) + 1);
    if (at >= objects_.size()) return std::nullopt;
    const auto& children = objects_[at].children;
    const auto child = std::find_if(children.begin(), children.end(), [&](const auto& c) { return c.first == name; });
    if (child == children.end()) return std::nullopt;
    at = child->second;
  }
  return at < objects_.size() ? std::optional(at) : std::nullopt;
}

std::optional<bool> ObjectGraph::trainable(std::string_view key) const {
  const std::optional<size_t> at = object(key);
  return at ? objects_[*at].trainable : std::nullopt;
}

}  // namespace emplace
