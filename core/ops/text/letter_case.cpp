// StringLower, StringUpper, StringStrip, StringLength.
#include <algorithm>

#include "core/base/cat.h"
#include "core/op/op_def.h"
#include "core/ops/text/letters.h"
#include "core/ops/text/text_map.h"

namespace emplace {
namespace {

/// Without an encoding of the letters a to z alone.
template <char first, char other, std::string (*of_utf8)(std::string_view)>
class LetterCase final : public Kernel {
 public:
  explicit LetterCase(const KernelInit& init) : encoding_(init.attrs.text("encoding")) {}
  Status run(KernelContext& c) override {
    if (!encoding_.empty() && encoding_ != "utf-8")
      return invalid_argument(cat("only utf-8 or '' (no encoding) is supported, received ", encoding_));
    return map_texts<std::string>(c, [&](std::string text) -> std::string {
      if (!encoding_.empty()) return of_utf8(text);
      for (char& x : text) {
        if (x >= first && x < first + 26) x = static_cast<char>(x - first + other);
      }
      return text;
    });
  }

 private:
  std::string encoding_;
};

Status strip_cpu(KernelContext& c) {
  static constexpr std::string_view kBlanks = " \t\n\v\f\r";
  return map_texts<std::string>(c, [](const std::string& text) {
    const size_t begin = text.find_first_not_of(kBlanks);
    return begin == text.npos ? std::string() : text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
  });
}

class StringLength final : public Kernel {
 public:
  explicit StringLength(const KernelInit& init) : bytes_(init.attrs.text("unit") == "BYTE") {}
  Status run(KernelContext& c) override {
    return map_texts<int32_t>(c, [&](const std::string& text) {
      const auto begins = [](char x) { return (x & 0xc0) != 0x80; };  // a character of UTF-8
      return static_cast<int32_t>(bytes_ ? static_cast<int64_t>(text.size())
                                         : std::count_if(text.begin(), text.end(), begins));
    });
  }

 private:
  bool bytes_;
};

}  // namespace

OpDef string_lower_op() {
  return OpDef("StringLower")
      .doc("Each text in small letters: of A to Z or, with the encoding utf-8, of all letters.")
      .shape(shape_unchanged)
      .cpu(make<LetterCase<'A', 'a', lower_of_utf8>>);
}
OpDef string_upper_op() {
  return OpDef("StringUpper")
      .doc("Each text in capital letters: of a to z or, with the encoding utf-8, of all letters.")
      .shape(shape_unchanged)
      .cpu(make<LetterCase<'a', 'A', upper_of_utf8>>);
}
OpDef string_strip_op() {
  return OpDef("StringStrip")
      .doc("Each text without white space at its ends.")
      .shape(shape_unchanged)
      .cpu(stateless<strip_cpu>);
}
OpDef string_length_op() {
  return OpDef("StringLength")
      .doc("The bytes of each text, or its characters of UTF-8.")
      .shape(shape_unchanged)
      .cpu(make<StringLength>);
}

}  // namespace emplace
