/// cat(a, b, ...): the arguments' text, one after the other. For messages and log lines.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>

namespace emplace {

namespace cat_detail {
inline void add(std::string& out, std::string_view v) { out += v; }
inline void add(std::string& out, char v) { out += v; }
void add_double(std::string& out, double v);  // shortest text that reads back to the same value
template <class T>
  requires std::is_arithmetic_v<T>
void add(std::string& out, T v) {
  if constexpr (std::is_same_v<T, bool>) {
    out += v ? "true" : "false";
  } else if constexpr (std::is_floating_point_v<T>) {
    add_double(out, v);
  } else {
    out += std::to_string(v);
  }
}
}  // namespace cat_detail

template <class... Ts>
std::string cat(const Ts&... parts) {
  std::string out;
  (cat_detail::add(out, parts), ...);
  return out;
}

/// cat() onto the end of `out`.
template <class... Ts>
void append(std::string& out, const Ts&... parts) {
  (cat_detail::add(out, parts), ...);
}

}  // namespace emplace
