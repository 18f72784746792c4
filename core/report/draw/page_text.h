/// The files of the page that are the same for every graph, put into the binary as they are.
#pragma once

#include <string_view>

namespace emplace {

struct PageText {
  std::string_view style, body, script, checks;  // page.css, page.html, page.js, page_check.js
};
PageText page_text();

}  // namespace emplace
