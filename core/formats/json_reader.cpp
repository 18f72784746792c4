#include "core/formats/json_reader.h"

#include <algorithm>
#include <array>
#include <string>

#include "core/base/cat.h"
#include "core/formats/utf8.h"

namespace emplace {
namespace {

using Kind = JsonReader::Kind;

constexpr std::array<Kind, 256> kKinds = [] {
  std::array<Kind, 256> kinds{};
  kinds.fill(Kind::kError);
  kinds['n'] = Kind::kNull;
  kinds['t'] = kinds['f'] = Kind::kBool;
  kinds['"'] = Kind::kString;
  kinds['['] = Kind::kArray;
  kinds['{'] = Kind::kObject;
  kinds['-'] = Kind::kNumber;
  for (int c = '0'; c <= '9'; ++c) kinds[static_cast<size_t>(c)] = Kind::kNumber;
  return kinds;
}();

bool is_digit(char c) { return c >= '0' && c <= '9'; }

constexpr std::string_view kCompressed = "compressed";
constexpr char kMessageToJson[] = "TensorFlow writes JSON with google.protobuf.json_format.MessageToJson(graph_def)";
constexpr char kCommentHint[] = "a comment begins with // or stands between /* and */";

/// What a file that begins like this is, if it is not a text at all; else empty.
std::string_view binary_kind(std::string_view text) {
  if (text.starts_with("\x1f\x8b")) return kCompressed;
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff")) return {};  // UTF-16
  for (char c : text.substr(0, 16)) {
    if (static_cast<uint8_t>(c) < 0x20 && c != '\n' && c != '\r' && c != '\t' && c != '\f') return "binary";
  }
  return {};
}

}  // namespace

std::string_view kind_name(Kind kind) {
  static constexpr std::string_view kNames[] = {"null",   "true or false", "a number", "text",
                                                "a list", "an object",     "nothing"};
  return kNames[static_cast<size_t>(kind)];
}

JsonReader::JsonReader(std::string_view text, Problems& problems, TextArena& arena)
    : JsonScanner(text, problems, arena), opened_(std::make_unique_for_overwrite<const char*[]>(kMaxDepth)) {
  if (text.starts_with("\xef\xbb\xbf")) p_ += 3;
  if (std::string_view what = binary_kind(text); !what.empty()) {
    fail(p_, cat("the file is ", what, "; wanted JSON"),
         what == kCompressed ? "decompress it: gunzip" : kMessageToJson);
  } else if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff")) {
    fail(p_, "the file is UTF-16; wanted UTF-8", "convert it: iconv -f UTF-16 -t UTF-8");
  }
}

Kind JsonReader::kind_of(char c) { return kKinds[static_cast<uint8_t>(c)]; }

Kind JsonReader::end_of_text() {
  if (depth_ == 0) {
    fail(end_, "the file ends where a value should begin");
  } else {
    const char* open = opened_[static_cast<size_t>(depth_ - 1)];
    auto line = 1 + std::count(begin_, open, '\n');
    fail(end_, cat("the file ends inside the ", *open == '{' ? "object" : "list", " that began in line ", line));
  }
  return Kind::kError;
}

void JsonReader::enter() {
  if (depth_ == kMaxDepth) return fail(p_, cat("more than ", kMaxDepth, " lists and objects inside each other"));
  opened_[static_cast<size_t>(depth_++)] = p_++;
  fresh_ = true;
}

bool JsonReader::leave() {
  ++p_;
  --depth_;
  fresh_ = false;
  return false;
}

void JsonReader::no_comma(char close, const char* inside) {
  fail(p_,
       cat("found ", shown_character(p_, end_), " where ", inside, " should go on with ',' or end with '", close, "'"));
}

void JsonReader::comma_before(const char* comma, char close) {
  fail(comma, cat("a comma before '", close, "'"), "remove it");
}

void JsonReader::no_key() {
  fail(p_, cat("found ", shown_character(p_, end_), " where a key should begin"),
       *p_ == '#' ? kCommentHint : "keys are written in double quotes");
}

void JsonReader::no_colon() { fail(p_, cat("found ", shown_character(p_, end_), " where ':' should follow the key")); }

// Steps over the comma before the next member. False at the closing bracket, which is taken, or on an error.
bool JsonReader::separator(char close, const char* inside) {
  skip_space();
  if (p_ >= end_) {
    end_of_text();
    return false;
  }
  if (*p_ == close) return leave();
  if (fresh_) {
    fresh_ = false;
    return true;
  }
  if (*p_ != ',') {
    no_comma(close, inside);
    return false;
  }
  const char* comma = p_++;
  skip_space();
  if (p_ < end_ && *p_ == close) {
    comma_before(comma, close);
    return false;
  }
  return true;
}

bool JsonReader::next_key(std::string_view& key) { return read_key(key, true); }

bool JsonReader::read_key(std::string_view& key, bool decode) {
  if (failed_ || !separator('}', "an object")) return false;
  if (p_ >= end_) {
    end_of_text();
    return false;
  }
  if (*p_ != '"') {
    no_key();
    return false;
  }
  key = string_text(decode);
  skip_space();
  if (failed_) return false;
  if (p_ >= end_ || *p_ != ':') {
    if (p_ >= end_) {
      end_of_text();
    } else {
      no_colon();
    }
    return false;
  }
  ++p_;
  skip_space();
  return true;
}

bool JsonReader::next_element() { return !failed_ && separator(']', "a list"); }

void JsonReader::bad_value() {
  if (p_ >= end_) return static_cast<void>(end_of_text());  // after a failure, too: nothing may be read there
  static constexpr std::string_view kNonFinite[] = {"NaN", "Infinity", "-Infinity", "nan", "inf", "-inf"};
  std::string hint;
  std::string_view rest(p_, static_cast<size_t>(end_ - p_));
  for (std::string_view word : kNonFinite) {
    if (rest.starts_with(word))
      hint = "numbers that are not finite are written \"NaN\", \"Infinity\", \"-Infinity\", in quotes";
  }
  if (rest.starts_with('\'')) hint = "text is written in double quotes";
  if (rest.starts_with("True") || rest.starts_with("False")) hint = "true and false are written in small letters";
  if (rest.starts_with("None")) hint = "write null for a value that is not there";
  if (rest.starts_with('#')) hint = kCommentHint;
  if (depth_ == 0 && rest.starts_with("node")) hint = kMessageToJson;  // protobuf's text form
  if (depth_ == 0 && hint.empty()) hint = "JSON begins with {";
  if (rest.starts_with('.') || rest.starts_with('+')) hint = "numbers are written 0.5, 1, -1";
  fail(p_, cat("found ", shown_character(p_, end_), " where a value should begin"), std::move(hint));
}

void JsonReader::literal(std::string_view word) {
  if (std::string_view(p_, static_cast<size_t>(end_ - p_)).starts_with(word)) {
    p_ += word.size();
  } else {
    bad_value();
  }
}

bool JsonReader::take_bool() {
  bool value = *p_ == 't';
  literal(value ? "true" : "false");
  return value;
}

std::string_view JsonReader::take_number() {
  const char* start = p_;
  const char* p = p_;
  auto digits = [&] {
    const char* first = p;
    while (p < end_ && is_digit(*p)) ++p;
    return p > first;
  };
  if (*p == '-') ++p;
  bool zero_first = p < end_ && *p == '0';
  bool good = digits();
  if (good && zero_first && p - start > (*start == '-' ? 2 : 1)) {
    fail(start, "a number with a leading zero");
    return {};
  }
  if (good && p < end_ && *p == '.') ++p, good = digits();
  if (good && p < end_ && (*p == 'e' || *p == 'E')) {
    ++p;
    if (p < end_ && (*p == '+' || *p == '-')) ++p;
    good = digits();
  }
  if (!good) {
    if (*start == '-') {
      bad_value();
    } else {
      fail(start, "a number that breaks off; wanted digits after '.' or 'e'");
    }
    return {};
  }
  p_ = p;
  return {start, static_cast<size_t>(p - start)};
}

std::string_view JsonReader::take_string() { return string_text(true); }

std::string_view JsonReader::skip() {
  peek();
  const char* start = p_;
  const int base = depth_;
  for (;;) {
    switch (peek()) {
      case Kind::kNull:
        take_null();
        break;
      case Kind::kBool:
        take_bool();
        break;
      case Kind::kNumber:
        take_number();
        break;
      case Kind::kString:
        string_text(false);
        break;
      case Kind::kArray:
      case Kind::kObject:
        enter();
        break;
      case Kind::kError:
        bad_value();
        break;
    }
    while (depth_ > base && !failed_) {
      bool in_object = *opened_[static_cast<size_t>(depth_ - 1)] == '{';
      std::string_view key;
      if (in_object ? read_key(key, false) : next_element()) break;
    }
    if (failed_) return {};
    if (depth_ == base) return {start, static_cast<size_t>(p_ - start)};
  }
}

std::string_view JsonReader::glance(size_t limit) const {
  std::string_view text(p_, std::min(limit, static_cast<size_t>(end_ - p_)));
  int open = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    switch (text[i]) {
      case '{':
      case '[':
        ++open;
        break;
      case '}':
      case ']':
        if (--open == 0) return text.substr(0, i + 1);
        break;
      case '/':
        return {};
      case '"':
        for (++i; i < text.size() && text[i] != '"'; ++i) {
          if (text[i] == '\\') ++i;
        }
        break;
      default:
        break;
    }
  }
  return {};
}

JsonReader JsonReader::lookahead(Problems& scratch) {
  JsonReader look({begin_, static_cast<size_t>(end_ - begin_)}, scratch, arena());
  look.seek(position());
  return look;
}

void JsonReader::finish() {
  skip_space();
  if (p_ < end_ && !failed_) fail(p_, cat("found ", shown_character(p_, end_), " after the end of the graph"));
}

}  // namespace emplace
