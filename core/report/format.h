/// The forms that results and reports can have.
#pragma once

#include <cstdint>
#include <string_view>

namespace emplace {

enum class Format : uint8_t { kText, kJson, kJsonl, kCsv, kDot, kHtml, kMarkdown };

/// As --format spells it: "text", "json", ...
constexpr std::string_view format_name(Format format) {
  constexpr std::string_view kNames[] = {"text", "json", "jsonl", "csv", "dot", "html", "markdown"};
  return kNames[static_cast<int>(format)];
}

}  // namespace emplace
