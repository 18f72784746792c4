/// JsonReader: walks JSON text without a tree: the caller takes or skips what comes next; every value has its byte
/// position, for messages; comments are white space. 500,000 nodes (74 MB) are read and validated in 0.5 s of CPU;
/// nlohmann's tree of them alone takes 1.4 s and 622 MiB, its SAX parser 0.7 s, which tells no positions of values.
///
/// The first syntax error is added to Problems; from then on peek() says kError and every loop ends, so callers need
/// no checks of their own. Everything that the grammar forbids is found (RFC 8259, UTF-8 included), but only in what
/// is read or skip()ped.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/formats/json_scanner.h"

namespace emplace {

class JsonReader : public JsonScanner {
 public:
  enum class Kind : uint8_t { kNull, kBool, kNumber, kString, kArray, kObject, kError };
  /// Nesting that is still accepted. Readers of nested values may recurse that deep.
  static constexpr int kMaxDepth = 1000;

  JsonReader(std::string_view text, Problems& problems, TextArena& arena);

  /// The kind of the next value.
  Kind peek() {
    skip_space();
    return p_ < end_ ? kind_of(*p_) : end_of_text();
  }

  // Taking a value. REQUIRES: peek() said that kind.
  void take_null() { literal("null"); }
  bool take_bool();
  std::string_view take_string();
  /// The number's own characters.
  std::string_view take_number();

  /// REQUIRES: peek() == kObject. Then next_key() until false; each key's value must be taken or skipped.
  void enter_object() { enter(); }
  bool next_key(std::string_view& key);
  /// REQUIRES: peek() == kArray. Then next_element() until false; each value must be taken or skipped.
  void enter_array() { enter(); }
  bool next_element();

  /// Takes any value, checking its syntax; its text.
  std::string_view skip();
  /// If the next value is an object or a list that ends within `limit` bytes and holds no comment: its text, which
  /// has been neither taken nor checked. Else empty.
  std::string_view glance(size_t limit) const;
  /// Does the next value begin with this text? Of an object's whole text: is that the value?
  bool begins_with(std::string_view text) const {
    return std::string_view(p_, static_cast<size_t>(end_ - p_)).starts_with(text);
  }
  /// Takes what glance() showed. REQUIRES: the same text was read before without an error.
  void take_glanced(std::string_view text) { p_ = text.data() + text.size(), fresh_ = false; }

  /// After the outermost value: nothing but white space may follow.
  void finish();

  /// Another reader at the same value, to see what it is. Its errors go to `scratch`.
  JsonReader lookahead(Problems& scratch);

  int depth() const { return depth_; }

 private:
  static Kind kind_of(char c);
  [[gnu::cold]] Kind end_of_text();
  [[gnu::cold]] void no_comma(char close, const char* inside);
  [[gnu::cold]] void comma_before(const char* comma, char close);
  [[gnu::cold]] void no_key();
  [[gnu::cold]] void no_colon();
  void enter();
  bool leave();
  bool read_key(std::string_view& key, bool decode);
  bool separator(char close, const char* inside);
  void literal(std::string_view word);
  [[gnu::cold]] void bad_value();

  int depth_ = 0;
  bool fresh_ = false;                     // in an object or list whose first member has not been asked for
  std::unique_ptr<const char*[]> opened_;  // where each open object or list began
};

/// "an object", "a list", "text", "a number": for messages.
std::string_view kind_name(JsonReader::Kind kind);

}  // namespace emplace
