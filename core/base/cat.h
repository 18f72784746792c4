/// cat(a, b, ...): the arguments' text, one after the other. For messages and log lines.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace emplace {

namespace cat_detail {

/// An argument by its kind: the text is put together in one place, and a call compiles to little more than a list.
class Piece {
 public:
  Piece(std::string_view v) : kind_(kText), text_(v) {}
  Piece(const char* v) : Piece(std::string_view(v)) {}
  Piece(const std::string& v) : Piece(std::string_view(v)) {}
  Piece(char v) : kind_(kChar), char_(v) {}
  Piece(bool v) : Piece(std::string_view(v ? "true" : "false")) {}
  Piece(std::signed_integral auto v) : kind_(kSigned), signed_(v) {}
  Piece(std::unsigned_integral auto v) : kind_(kUnsigned), unsigned_(v) {}
  Piece(std::floating_point auto v) : kind_(kDouble), double_(static_cast<double>(v)) {}

  void append_to(std::string& out) const;

 private:
  enum { kText, kChar, kSigned, kUnsigned, kDouble } kind_;
  union {
    std::string_view text_;
    char char_;
    int64_t signed_;
    uint64_t unsigned_;
    double double_;  // written as the shortest text that reads back to the same value
  };
};

std::string join(std::initializer_list<Piece> pieces);
void append(std::string& out, std::initializer_list<Piece> pieces);

}  // namespace cat_detail

template <class... Ts>
std::string cat(const Ts&... parts) {
  return cat_detail::join({cat_detail::Piece(parts)...});
}

/// cat() onto the end of `out`.
template <class... Ts>
void append(std::string& out, const Ts&... parts) {
  cat_detail::append(out, {cat_detail::Piece(parts)...});
}

}  // namespace emplace
