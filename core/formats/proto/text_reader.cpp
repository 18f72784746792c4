#include "core/formats/proto/text_reader.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "core/base/cat.h"
#include "core/base/suggest.h"
#include "core/formats/proto/text_scanner.h"
#include "core/formats/proto/wire_writer.h"

namespace emplace::proto {
namespace {

using Word = TextScanner::Kind;

std::string_view wanted(Kind kind) {
  switch (kind) {
    case Kind::kBool:
      return "true or false";
    case Kind::kEnum:
      return "a name of its kind or its number";
    case Kind::kFloat:
    case Kind::kDouble:
      return "a number";
    case Kind::kString:
    case Kind::kBytes:
      return "a text in quotes";
    case Kind::kMessage:
      return "'{'";
    default:
      return "a whole number in its range";
  }
}

bool same_letters(std::string_view text, std::string_view lower) {
  return std::equal(text.begin(), text.end(), lower.begin(), lower.end(),
                    [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b; });
}

std::optional<uint64_t> parse_unsigned(std::string_view digits) {
  int base = 10;
  if (digits.starts_with("0x") || digits.starts_with("0X")) {
    base = 16, digits.remove_prefix(2);
  } else if (digits.size() > 1 && digits.front() == '0') {
    base = 8, digits.remove_prefix(1);
  }
  uint64_t value = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

/// The bits of an integer of that kind; nothing if it is out of range.
std::optional<uint64_t> integer_bits(Kind kind, bool minus, uint64_t size) {
  const bool is_signed = kind == Kind::kInt32 || kind == Kind::kInt64 || kind == Kind::kEnum || kind == Kind::kSInt64;
  const bool narrow = kind == Kind::kInt32 || kind == Kind::kUInt32 || kind == Kind::kEnum || kind == Kind::kFixed32;
  const uint64_t top = !is_signed ? (narrow ? UINT32_MAX : UINT64_MAX) : narrow ? INT32_MAX : INT64_MAX;
  if (minus && (!is_signed || size > top + 1) && size != 0) return std::nullopt;
  if (!minus && size > top) return std::nullopt;
  const uint64_t value = minus ? 0 - size : size;
  if (kind != Kind::kSInt64) return value;
  return value << 1 ^ (minus && size != 0 ? ~uint64_t{0} : 0);
}

std::optional<double> parse_real(std::string_view text, bool minus) {
  double value = 0;
  if (same_letters(text, "inf") || same_letters(text, "infinity")) {
    value = std::numeric_limits<double>::infinity();
  } else if (same_letters(text, "nan")) {
    value = std::numeric_limits<double>::quiet_NaN();
  } else {
    if (text.size() > 1 && (text.back() == 'f' || text.back() == 'F') && !text.starts_with("0x")) text.remove_suffix(1);
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (end != text.data() + text.size()) return std::nullopt;
    if (error == std::errc::result_out_of_range) {  // strtod's words for it: infinity or 0
      value =
          text.find("e-") != text.npos || text.find("E-") != text.npos ? 0 : std::numeric_limits<double>::infinity();
    } else if (error != std::errc()) {
      return std::nullopt;
    }
  }
  return minus ? -value : value;
}

class TextMessageReader {
 public:
  TextMessageReader(std::string_view text, std::string& wire, TextPositions& positions, Problems& problems)
      : text_(text), scan_(text), writer_(wire), positions_(positions), problems_(problems) {}

  void read(Message message) {
    read_fields(message, '\0', 0);
    if (!failed_ && scan_.kind() != Word::kEnd) fail("found '", scan_.word(), "', wanted the name of a field");
  }

 private:
  template <class... Parts>
  void fail(const Parts&... parts) {
    if (failed_) return;
    failed_ = true;
    if (scan_.kind() == Word::kError) {
      problem(scan_.error());
    } else if (scan_.kind() == Word::kEnd) {
      problems_.add(static_cast<int64_t>(text_.size()), "the text ends inside a message", "a '}' is missing");
    } else {
      problem(cat(parts...));
    }
  }
  void problem(std::string message, std::string hint = {}) {
    problems_.add(static_cast<int64_t>(scan_.position()), std::move(message), std::move(hint));
  }

  void read_fields(Message message, char close, int depth) {
    if (depth > kMaxDepth) return fail("more than ", kMaxDepth, " messages inside each other");
    while (!failed_ && scan_.kind() != Word::kEnd) {
      if (close != '\0' && scan_.is(close)) return;
      if (scan_.is('[')) {
        skip_extension();
        continue;
      }
      if (scan_.kind() != Word::kName) return fail("found '", scan_.word(), "', wanted the name of a field");
      const Field* field = find_field(message, scan_.word());
      if (!field) unknown_field(message);
      scan_.advance();
      if (field) {
        read_field(*field, depth);
      } else {
        skip_value();
      }
      if (!scan_.take(',')) scan_.take(';');
    }
    if (close != '\0') fail("");
  }

  void unknown_field(Message message) {
    Suggestion near(scan_.word());
    for (const Field& f : fields_of(message)) near.offer(f.name);
    problem(cat("a ", name_of(message), " has no field '", scan_.word(), "'"), near.text());
  }

  // "[type.googleapis.com/x.Y] { ... }": a message that only the program that wrote it knows.
  void skip_extension() {
    while (!failed_ && !scan_.is(']') && scan_.kind() != Word::kEnd && scan_.kind() != Word::kError) scan_.advance();
    if (!scan_.take(']')) return fail("");
    skip_value();
    if (!scan_.take(',')) scan_.take(';');
  }

  void skip_value() {
    bool colon = scan_.take(':');
    if (scan_.is('{') || scan_.is('<') || scan_.is('[')) {
      int open = 0;
      do {
        if (scan_.is('{') || scan_.is('<') || scan_.is('[')) ++open;
        if (scan_.is('}') || scan_.is('>') || scan_.is(']')) --open;
        scan_.advance();
      } while (open > 0 && scan_.kind() != Word::kEnd && scan_.kind() != Word::kError);
      if (open > 0) fail("");
      return;
    }
    if (!colon) return fail("found '", scan_.word(), "', wanted ':' or '{'");
    skip_scalar();
  }

  void skip_scalar() {
    scan_.take('-');
    if (scan_.kind() == Word::kQuoted) {
      while (scan_.kind() == Word::kQuoted) scan_.advance();
    } else if (scan_.kind() == Word::kName || scan_.kind() == Word::kNumber) {
      scan_.advance();
    } else {
      fail("found '", scan_.word(), "', wanted a value");
    }
  }

  void read_field(const Field& field, int depth) {
    if (!scan_.take(':') && field.kind != Kind::kMessage) return fail("found '", scan_.word(), "', wanted ':'");
    if (!scan_.is('[')) return read_value(field, depth);
    if (!field.repeated()) problem(cat("a list for '", field.name, "', which has one value"));
    scan_.advance();
    if (scan_.take(']')) return;
    do read_value(field, depth);
    while (!failed_ && scan_.take(','));
    if (!scan_.take(']')) fail("found '", scan_.word(), "', wanted ',' or ']'");
  }

  void read_value(const Field& field, int depth) {
    if (field.kind == Kind::kMessage) return read_message(field, depth);
    positions_.add(writer_.out().size(), scan_.position());
    if (field.kind == Kind::kString || field.kind == Kind::kBytes) return read_quoted(field);
    const size_t at = scan_.position();
    const bool minus = scan_.take('-');
    std::optional<uint64_t> bits;
    if (scan_.kind() == Word::kName || scan_.kind() == Word::kNumber) bits = scalar_bits(field, minus);
    if (scan_.kind() == Word::kError || scan_.kind() == Word::kEnd) return fail("");
    if (!bits) {
      problems_.add(static_cast<int64_t>(at),
                    cat(field.name, ": found '", minus ? "-" : "", scan_.word(), "', wanted ", wanted(field.kind)),
                    field.kind == Kind::kEnum ? near_enum_name(field.values(), scan_.word()) : std::string());
      return skip_scalar();
    }
    scan_.advance();
    writer_.number(field.number, field.kind, *bits);
  }

  std::optional<uint64_t> scalar_bits(const Field& field, bool minus) const {
    const std::string_view word = scan_.word();
    if (field.kind == Kind::kFloat || field.kind == Kind::kDouble) {
      std::optional<double> value = parse_real(word, minus);
      if (!value) return std::nullopt;
      if (field.kind == Kind::kDouble) return std::bit_cast<uint64_t>(*value);
      return std::bit_cast<uint32_t>(float_of(word, minus, *value));
    }
    if (field.kind == Kind::kBool) {
      if (minus) return std::nullopt;
      if (word == "true" || word == "True" || word == "t" || word == "1") return 1;
      if (word == "false" || word == "False" || word == "f" || word == "0") return 0;
      return std::nullopt;
    }
    int64_t number = 0;
    if (field.kind == Kind::kEnum && !minus && enum_number(field.values(), word, number))
      return static_cast<uint64_t>(number);
    std::optional<uint64_t> size = parse_unsigned(word);
    return size ? integer_bits(field.kind, minus, *size) : std::nullopt;
  }

  // A float's text is rounded once.
  static float float_of(std::string_view word, bool minus, double value) {
    if (!std::isfinite(value) || word.empty()) return static_cast<float>(value);
    if (word.back() == 'f' || word.back() == 'F') word.remove_suffix(1);
    float f = 0;
    auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), f);
    if (error != std::errc() || end != word.data() + word.size()) return static_cast<float>(value);
    return minus ? -f : f;
  }

  void read_quoted(const Field& field) {
    if (scan_.kind() == Word::kError) return fail("");
    if (scan_.kind() != Word::kQuoted) {
      problem(cat(field.name, ": found '", scan_.word(), "', wanted ", wanted(field.kind)));
      return skip_scalar();
    }
    text_value_.clear();
    for (; scan_.kind() == Word::kQuoted; scan_.advance()) {
      if (const char* wrong = unquote(scan_.word(), text_value_)) problem(wrong);
    }
    writer_.bytes(field.number, text_value_);
  }

  void read_message(const Field& field, int depth) {
    const char close = scan_.is('<') ? '>' : '}';
    if (!scan_.is('{') && !scan_.is('<')) {
      if (scan_.kind() == Word::kError || scan_.kind() == Word::kEnd) return fail("");
      problem(cat(field.name, ": found '", scan_.word(), "', wanted ", wanted(field.kind)));
      return skip_scalar();
    }
    positions_.add(writer_.out().size(), scan_.position());
    scan_.advance();
    const size_t begin = writer_.begin(field.number);
    read_fields(field.message(), close, depth + 1);
    if (failed_) return;
    writer_.end(begin);
    if (!scan_.take(close)) fail("found '", scan_.word(), "', wanted '", close, "'");
  }

  std::string_view text_;
  TextScanner scan_;
  WireWriter writer_;
  TextPositions& positions_;
  Problems& problems_;
  std::string text_value_;
  bool failed_ = false;
};

}  // namespace

size_t TextPositions::of(size_t wire) const {
  auto after = std::upper_bound(places_.begin(), places_.end(), wire,
                                [](size_t at, const auto& place) { return at < place.first; });
  return after == places_.begin() ? 0 : (after - 1)->second;
}

void read_text(Message message, std::string_view text, std::string& wire, TextPositions& positions,
               Problems& problems) {
  TextMessageReader(text, wire, positions, problems).read(message);
}

}  // namespace emplace::proto
