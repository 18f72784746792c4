/// ObjectGraph: what a SavedModel of TensorFlow 2 says of the Python objects that it was made from, as far as it
/// concerns variables. Checkpoints name a variable by the way to it from the first object; a function says by objects'
/// numbers which of them it takes behind its own arguments.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace emplace {

class ObjectGraph {
 public:
  ObjectGraph() = default;
  /// `message`: a SavedObjectGraph. What cannot be read of it is as if it was not there.
  explicit ObjectGraph(std::string_view message);

  bool empty() const { return objects_.empty(); }
  /// The object with this key in a checkpoint; nothing if there is none.
  std::optional<size_t> object(std::string_view key) const;
  /// Null: no such function.
  const std::vector<size_t>* bound_inputs(std::string_view function) const;

  /// May the variable with this key in a checkpoint be trained? Nothing if there is no such variable.
  std::optional<bool> trainable(std::string_view key) const;

 private:
  struct Object {
    std::vector<std::pair<std::string, size_t>> children;  // name, object
    std::optional<bool> trainable;                         // of a variable
  };
  static Object read_object(std::string_view message);

  void read_function(std::string_view entry);

  std::vector<Object> objects_;
  std::map<std::string, std::vector<size_t>, std::less<>> bound_inputs_;
};

}  // namespace emplace
