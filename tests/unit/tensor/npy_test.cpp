#include "core/tensor/npy.h"

#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "core/tensor/zip.h"

using namespace emplace;

namespace {

struct NumpyFile {
  std::string path;
  explicit NumpyFile(const char* ending) {
    const char* folder = std::getenv("TMPDIR");
    path = std::string(folder ? folder : "/tmp") + "/emplace_npy_test_" + std::to_string(std::rand()) + ending;
  }
  ~NumpyFile() { std::remove(path.c_str()); }
};

std::string npy(const std::string& descr, const std::string& shape, const std::string& data, bool fortran = false) {
  std::string header =
      "{'descr': '" + descr + "', 'fortran_order': " + (fortran ? "True" : "False") + ", 'shape': " + shape + ", }\n";
  std::string out("\x93NUMPY\x01\x00", 8);
  out += static_cast<char>(header.size());
  out += '\0';
  return out + header + data;
}

}  // namespace

TEST_CASE("arrays of every type come back from a file as they were") {
  NumpyFile file(".npy");
  for (int type = 1; type < kDTypeCount; ++type) {
    auto dtype = static_cast<DType>(type);
    if (!kNumbersAndBool.has(dtype)) continue;
    for (const Shape& shape : {Shape{}, Shape{0}, Shape{3}, Shape{2, 3, 2}}) {
      Tensor t = Tensor::allocate(dtype, shape).take();
      for (size_t i = 0; i < t.size_bytes(); ++i)
        t.data<uint8_t>()[i] = static_cast<uint8_t>(dtype == DType::kBool ? i % 2 : i * 37);
      REQUIRE(write_npy(file.path, t).ok());
      auto back = read_npy(file.path);
      INFO(dtype_name(dtype) << shape.to_string());
      REQUIRE(back.ok());
      CHECK(same_bytes(*back, t));
    }
  }
}

TEST_CASE("an npz holds several arrays and says which") {
  NumpyFile file(".npz");
  std::vector<std::string> words = {"a", "longer", ""};
  std::vector<float> numbers = {1.5f, -2};
  Tensor text = Tensor::of<std::string>({3}, words), values = Tensor::of<float>({2}, numbers);
  REQUIRE(write_npz(file.path, {{"text", text}, {"scope/values", values}}).ok());
  CHECK(same_bytes(read_npz(file.path, "text").take(), text));
  CHECK(same_bytes(read_npz(file.path, "scope/values").take(), values));
  CHECK(read_npz(file.path)->size() == 2);
  CHECK(read_npz(file.path, "x").status().message().find("it has text, scope/values") != std::string::npos);
}

TEST_CASE("column-major, big-endian and unicode arrays are read") {
  Tensor t =
      parse_npy(npy("<i2", "(2, 3)", std::string("\x00\x00\x03\x00\x01\x00\x04\x00\x02\x00\x05\x00", 12), true), "x")
          .take();
  for (int16_t i = 0; i < 6; ++i) CHECK(t.data<int16_t>()[i] == i);
  CHECK(*parse_npy(npy(">i4", "()", std::string("\x00\x00\x01\x02", 4)), "x")->data<int32_t>() == 258);
  CHECK(*parse_npy(npy("<U2", "(1,)", std::string("\xe9\x00\x00\x00\x00\x00\x00\x00", 8)), "x")->data<std::string>() ==
        "\xc3\xa9");
}

TEST_CASE("damaged files are refused before anything is allocated") {
  CHECK(parse_npy("", "x").status().code() == Code::kInvalidArgument);
  CHECK_FALSE(parse_npy(npy("<f4", "(4611686018427387904, 4)", "1234"), "x").ok());
  CHECK_FALSE(parse_npy(npy("<f4", "(1000000000000,)", "1234"), "x").ok());
  CHECK_FALSE(parse_npy(npy("<f4", "(-1,)", "1234"), "x").ok());
  CHECK_FALSE(parse_npy(npy("|O", "(1,)", "12345678"), "x").ok());
  CHECK_FALSE(parse_npy(npy("|S0", "(1000000000000,)", ""), "x").ok());
  for (std::string_view order : {"Maybe", "1", "Truely", "'True'"}) {
    std::string header = npy("<f4", "(2,)", "12345678");
    header.replace(header.find("False"), 5, order);
    header[8] = static_cast<char>(header[8] + static_cast<char>(order.size()) - 5);
    CHECK_FALSE(parse_npy(header, "x").ok());
  }
  std::string whole = npy("<f4", "(2,)", "12345678");
  for (size_t n = 0; n < whole.size(); ++n) CHECK_FALSE(parse_npy(whole.substr(0, n), "x").ok());
  std::string archive;
  ZipWriter zip([&](std::string_view bytes) { return archive += bytes, ok_status(); });
  REQUIRE(zip.add("a.npy", {whole}).ok());
  REQUIRE(zip.finish().ok());
  for (size_t n = 0; n < archive.size(); ++n) {
    auto members = zip_members(archive.substr(0, n));
    CHECK_FALSE(members.ok());
    std::string bent = archive;
    bent[n] = static_cast<char>(bent[n] ^ 0x55);
    (void)parse_npz(bent, "x").ok();
  }
}

TEST_CASE("bools are true for any byte but 0") {
  Tensor t = parse_npy(npy("|b1", "(3,)", std::string("\x02\x00\xff", 3)), "x").take();
  CHECK(std::string(t.data<char>(), 3) == std::string("\1\0\1", 3));
}
