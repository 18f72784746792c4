#include "core/base/json_document.h"

#include <algorithm>
#include <cstdio>
#include <optional>

#include "core/base/cat.h"

namespace emplace {
namespace {

constexpr int kDeepest = 1000;        // as in graph files
constexpr int64_t kOfCharacter = 16;  // bytes of a document for one of its text: "[0,0,0" makes most of it

/// Where a list or an object begins that is inside more than kDeepest others.
std::optional<size_t> too_deep(std::string_view text) {
  int depth = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    switch (text[at]) {
      case '"':
        for (++at; at < text.size() && text[at] != '"'; ++at) at += text[at] == '\\';
        break;
      case '/':  // a comment; anything else the library refuses
        if (text.substr(at).starts_with("//")) {
          at = std::min(text.find('\n', at), text.size());
        } else if (text.substr(at).starts_with("/*")) {
          at = std::min(text.find("*/", at + 2), text.size());
        }
        break;
      case '[':
      case '{':
        if (++depth > kDeepest) return at;
        break;
      case ']':
      case '}':
        --depth;
        break;
      default:
        break;
    }
  }
  return std::nullopt;
}

// "[json.exception.parse_error.101] parse error at line 1, column 1: syntax error while parsing value - invalid
// literal"
std::string json_error_text(std::string_view origin, std::string_view what) {
  if (size_t end = what.find("] "); what.starts_with('[') && end != what.npos) what.remove_prefix(end + 2);
  unsigned long line = 0, column = 0;
  if (std::sscanf(std::string(what).c_str(), "parse error at line %lu, column %lu:", &line, &column) != 2)
    return cat(origin, ": ", what);
  if (size_t dash = what.find(" - "); dash != what.npos) {
    what.remove_prefix(dash + 3);
  } else {
    what.remove_prefix(what.find(": ") + 2);
  }
  const std::string_view read = what.substr(std::min(what.size(), what.rfind("last read: ")));
  const bool not_finite = read.ends_with("N'") || read.ends_with("I'");
  return cat(origin, ":", line, ":", column, ": not JSON: ", what,
             not_finite ? R"(; numbers that are not finite are "NaN", "Infinity", "-Infinity")" : "");
}

}  // namespace

Result<nlohmann::json> parse_json(std::string_view text, std::string_view origin, HostShare* memory) {
  if (std::optional<size_t> at = too_deep(text)) {
    const std::string_view before = text.substr(0, *at);
    const size_t line_start = before.rfind('\n') + 1;
    return invalid_argument(cat(origin, ":", 1 + std::count(before.begin(), before.end(), '\n'), ":",
                                1 + before.size() - line_start, ": more than ", kDeepest,
                                " lists and objects inside each other"));
  }
  HostShare own(HostUseScope::current());
  Status fits = (memory ? *memory : own).resize(static_cast<int64_t>(text.size()) * kOfCharacter);
  if (!fits.ok()) return fits.with_context(origin);
  try {
    return nlohmann::json::parse(text, nullptr, true, true);
  } catch (const nlohmann::json::exception& e) {
    return invalid_argument(json_error_text(origin, e.what()));
  }
}

std::string shown(const nlohmann::json& value) {
  constexpr size_t kMost = 60;
  std::string text = value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return text.size() > kMost ? text.substr(0, kMost) + "..." : text;
}

std::string text_at(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace emplace
