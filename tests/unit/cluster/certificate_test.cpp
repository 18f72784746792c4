// Certificates that have expired, or are not valid yet, are told to their owner.
#include "core/cluster/certificate.h"

#include <catch2/catch.hpp>
#include <string>

using namespace emplace;

namespace {

// Made by OpenSSL for this test: from 2026-11-27 23:55:59, in two digits, until 2059-10-05 23:55:59, in four.
const std::string kCertificate =
    "-----BEGIN CERTIFICATE-----\n"
    "MIIBFDCBvAIUHeW6ex6dik5cQKk7Vn15Q5DB+rowCgYIKoZIzj0EAwIwDTELMAkG\n"
    "A1UEAwwCY2EwIBcNMjYxMTI3MjM1NTU5WhgPMjA1OTEwMDUyMzU1NTlaMAwxCjAI\n"
    "BgNVBAMMAWwwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAASFTIaSdC8HeBHx4rky\n"
    "Z6BIbwDRGENCjBuudalvQGEC08wlb1PhyDhCZPfFA3iL3FwzHAt24EC7oaPuolIH\n"
    "pJfmMAoGCCqGSM49BAMCA0cAMEQCIF616Vmo1wH3J5k2E9PSuM79qKBbxce9pLmL\n"
    "5aQbqd6CAiAb5ncunpByZ1KADIfmhcAyfNKVqeGIAYyyq0TFBt9DSw==\n"
    "-----END CERTIFICATE-----\n";

}  // namespace

TEST_CASE("a certificate is valid from its beginning to its end") {
  CHECK(check_validity(kCertificate, "2026-11-27 23:55:59").ok());
  CHECK(check_validity(kCertificate, "2059-10-05 23:55:59").ok());
  const Status early = check_validity(kCertificate, "2026-11-27 23:55:58");
  CHECK(early.message() == "this certificate is not valid before 2026-11-27 23:55:59 UTC");
  const Status late = check_validity(kCertificate, "2059-10-05 23:56:00");
  CHECK(late.message() == "this certificate has expired: 2059-10-05 23:55:59 UTC");
  CHECK(utc_now() > "2026-01-01 00:00:00");
  CHECK(utc_now().size() == 19);
}

TEST_CASE("what is no certificate is left to whoever uses it") {
  CHECK(check_validity("", "2060-01-01 00:00:00").ok());
  for (size_t length = 0; length < kCertificate.size(); ++length) {
    std::string cut = kCertificate.substr(0, length) + "\n-----END CERTIFICATE-----\n";
    static_cast<void>(check_validity(cut, "2060-01-01 00:00:00"));
    cut = kCertificate;
    cut[length] = cut[length] == 'A' ? '/' : 'A';
    static_cast<void>(check_validity(cut, "2060-01-01 00:00:00"));
  }
}
