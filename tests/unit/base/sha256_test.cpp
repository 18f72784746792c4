#include "core/base/sha256.h"

#include <catch2/catch.hpp>

using namespace emplace;

TEST_CASE("SHA-256 gives the published digests") {
  CHECK(sha256_hex("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256_hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  Sha256 hash;
  for (int i = 0; i < 1'000'000; ++i) hash.update("a");
  CHECK(hash.finish() == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("SHA-256: the processor's instructions and the portable code agree, in whatever pieces") {
  std::string text;
  for (size_t size = 0; size < 400; ++size, text += static_cast<char>(size * 37)) {
    Sha256 plain = Sha256::portable(), pieces;
    plain.update(text);
    for (size_t at = 0, n = 1; at < text.size(); at += n, n = n * 3 % 131)
      pieces.update(std::string_view(text).substr(at, n));
    const std::string want = plain.finish();
    CHECK(pieces.finish() == want);
    CHECK(sha256_hex(text) == want);
  }
}
