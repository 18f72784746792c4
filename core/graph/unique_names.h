/// UniqueNames: TensorFlow's unique_name(): names of nodes and of name scopes, each given once, case ignored.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

namespace emplace {

class UniqueNames {
 public:
  void reserve(size_t names) { asked_.reserve(names); }
  /// `name` is in use.
  void take(std::string_view name);
  /// `name`, else `name_1`, `name_2`, ...; what it returns is in use from now on.
  std::string unique(std::string_view name);
  /// What unique() would return now.
  std::string next(std::string_view name) const;

 private:
  std::unordered_map<std::string, uint32_t> asked_;  // name in lower case -> how often asked for
};

}  // namespace emplace
