#include "core/base/cat.h"

#include <charconv>

namespace emplace::cat_detail {

void add_double(std::string& out, double v) {
  char text[32];
  auto end = std::to_chars(text, text + sizeof text, v).ptr;
  out.append(text, end);
}

}  // namespace emplace::cat_detail
