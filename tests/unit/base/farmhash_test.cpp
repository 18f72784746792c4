#include <catch2/catch.hpp>

#include <string>

#include "core/base/farmhash.h"

using emplace::fingerprint64;

namespace {

std::string text_of_size(int n) {
  std::string s;
  for (int i = 0; i < n; ++i) s += static_cast<char>('a' + (i * 7) % 26);
  return s;
}

}  // namespace

TEST_CASE("fingerprint64 gives what TensorFlow's Fingerprint op gives, in every branch by size") {
  const struct {
    int size;
    uint64_t expected;
  } kCases[] = {{0, 11160318154034397263u},   {1, 12917804110809363939u},   {3, 3268219959478574187u},
                {4, 8899178591127745170u},    {7, 17088493756539222794u},   {8, 10643460534063147040u},
                {15, 11791221699636333675u},  {16, 17624453864830929246u},  {17, 2237273621417572890u},
                {31, 626755416451493349u},    {32, 10824083725960157628u},  {33, 8045080651094301868u},
                {63, 17616674404211046101u},  {64, 16149515108185634462u},  {65, 2768067016444695309u},
                {127, 4960837163188540313u},  {128, 10481128642166395277u}, {129, 1060550032972533880u},
                {1000, 15018149181615097552u}};
  for (const auto& c : kCases) {
    INFO("size " << c.size);
    CHECK(fingerprint64(text_of_size(c.size)) == c.expected);
  }
}
