#include "core/base/cat.h"

#include <charconv>

namespace emplace::cat_detail {

void Piece::append_to(std::string& out) const {
  char digits[32];
  char* end = nullptr;
  switch (kind_) {
    case kText:
      out += text_;
      return;
    case kChar:
      out += char_;
      return;
    case kSigned:
      end = std::to_chars(digits, digits + sizeof digits, signed_).ptr;
      break;
    case kUnsigned:
      end = std::to_chars(digits, digits + sizeof digits, unsigned_).ptr;
      break;
    case kDouble:
      end = std::to_chars(digits, digits + sizeof digits, double_).ptr;
      break;
  }
  out.append(digits, end);
}

std::string join(std::initializer_list<Piece> pieces) {
  std::string out;
  append(out, pieces);
  return out;
}

void append(std::string& out, std::initializer_list<Piece> pieces) {
  for (const Piece& piece : pieces) piece.append_to(out);
}

}  // namespace emplace::cat_detail
