#include "core/ops/text/letters.h"

#include <algorithm>
#include <span>
#include <vector>

#include "core/ops/text/unicode.h"

namespace emplace {
namespace {

/// Letters first, first + step, ..., last: the other case lies `delta` away.
struct CaseRun {
  uint32_t first, last;
  int32_t delta;
  uint8_t step;
};
/// A letter whose other case is two or three; 0: not there.
struct SeveralLetters {
  uint32_t letter;
  uint16_t other[3];
};
/// What a word's end is told by.
enum LetterKind : uint8_t { kNoLetter, kHasCase, kSkipped };

#include "core/ops/text/unicode_tables.inc"

/// Of a table of beginnings << 8 | value: the value of the stretch that has the character.
uint8_t value_in(std::span<const uint32_t> stretches, char32_t character) {
  const auto behind = std::upper_bound(stretches.begin(), stretches.end(), uint32_t{character} << 8 | 0xff);
  return static_cast<uint8_t>(*(behind - 1));
}

void append_other_case(std::span<const CaseRun> runs, std::span<const SeveralLetters> several, char32_t letter,
                       std::string& out) {
  const auto many = std::lower_bound(several.begin(), several.end(), letter,
                                     [](const SeveralLetters& s, char32_t x) { return s.letter < x; });
  if (many != several.end() && many->letter == letter) {
    for (const char32_t other : many->other) {
      if (other != 0) append_character(Encoding::kUtf8, other, out);
    }
    return;
  }
  const auto run =
      std::lower_bound(runs.begin(), runs.end(), letter, [](const CaseRun& r, char32_t x) { return r.last < x; });
  if (run != runs.end() && letter >= run->first && (letter - run->first) % run->step == 0)
    letter = static_cast<char32_t>(static_cast<int32_t>(letter) + run->delta);
  append_character(Encoding::kUtf8, letter, out);
}

std::vector<char32_t> characters_of(std::string_view text) {
  constexpr char32_t kReplacement = 0xfffd;
  std::vector<char32_t> all;
  for (text = text.substr(0, text.find('\0')); !text.empty();) {
    const ReadCharacter read = first_character(Encoding::kUtf8, text);
    all.push_back(read.value.value_or(kReplacement));
    text.remove_prefix(read.bytes);
  }
  return all;
}

/// Is the first of these that is not skipped a letter with cases?
template <class I>
bool begins_with_letter(I at, I end) {
  for (; at != end; ++at) {
    const uint8_t kind = value_in(kLetterKinds, *at);
    if (kind != kSkipped) return kind == kHasCase;
  }
  return false;
}

}  // namespace

std::string upper_of_utf8(std::string_view text) {
  std::string out;
  for (const char32_t letter : characters_of(text)) append_other_case(kUpperRuns, kUpperSeveral, letter, out);
  return out;
}

std::string lower_of_utf8(std::string_view text) {
  constexpr char32_t kSigma = 0x3a3, kFinalSigma = 0x3c2;
  const std::vector<char32_t> all = characters_of(text);
  std::string out;
  for (auto at = all.begin(); at != all.end(); ++at) {
    if (*at == kSigma && begins_with_letter(std::make_reverse_iterator(at), all.rend()) &&
        !begins_with_letter(at + 1, all.end())) {
      append_character(Encoding::kUtf8, kFinalSigma, out);
    } else {
      append_other_case(kLowerRuns, kLowerSeveral, *at, out);
    }
  }
  return out;
}

int script_of(int64_t character) {
  constexpr int64_t kLast = 0x10ffff;
  return character < 0 || character > kLast ? -1 : value_in(kScripts, static_cast<char32_t>(character));
}

}  // namespace emplace
