// TensorFlow's checkpoints: keys of parts, tables, and bundles that are written, merged and read again.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "core/formats/checkpoint/bundle_writer.h"
#include "core/formats/checkpoint/sstable.h"
#include "core/formats/checkpoint/sstable_writer.h"

using namespace emplace;

namespace {

struct TestFolder {
  TestFolder() { std::filesystem::create_directories(path); }
  ~TestFolder() { std::filesystem::remove_all(path); }
  std::string file(const std::string& name) const { return (path / name).string(); }
  std::filesystem::path path = std::filesystem::temp_directory_path() / "emplace_checkpoint_test";
};

Tensor rows(float first, int64_t count, int64_t columns) {
  Tensor t = Tensor::allocate(DType::kFloat, Shape{count, columns}).take();
  for (int64_t i = 0; i < t.num_elements(); ++i) t.data<float>()[i] = first + static_cast<float>(i);
  return t;
}

}  // namespace

TEST_CASE("the key of a part is TensorFlow's, and is read back", "[checkpoint]") {
  const Shape whole{5, 3};
  CHECK(slice_key("w", {{0, 0}, {3, 3}}, whole) == std::string("\0w\0\1\1\2\x80\x83\x80\x7f", 10));
  const Shape large{int64_t{1} << 40, 200};
  for (int64_t start : {int64_t{0}, int64_t{63}, int64_t{64}, int64_t{8191}, int64_t{8192}, int64_t{1} << 39}) {
    const TensorSlice slice{{start, 7}, {100, 150}};
    const std::string key = slice_key(std::string("a\0\xff", 3), slice, large);
    const auto read = parse_slice_key(key);
    REQUIRE(read);
    CHECK(read->first == std::string("a\0\xff", 3));
    CHECK(read->second == slice);
    if (start > 0) CHECK(slice_key(std::string("a\0\xff", 3), {{start - 1, 7}, {100, 150}}, large) < key);
  }
}

TEST_CASE("a table of many blocks is read as it was written", "[checkpoint]") {
  SsTableWriter writer;
  std::vector<std::pair<std::string, std::string>> entries;
  for (int i = 0; i < 3000; ++i) {
    std::string key = std::to_string(100000 + i);
    entries.emplace_back("layer/" + key, std::string(static_cast<size_t>(i % 700), 'x'));
    writer.add(entries.back().first, entries.back().second);
  }
  const std::string file = writer.finish();
  REQUIRE(SsTable::recognises(file));
  size_t next = 0;
  const Status read = SsTable::read(file, "test", [&](std::string_view key, std::string_view value) {
    CHECK((next < entries.size() && key == entries[next].first && value == entries[next].second));
    return ++next, ok_status();
  });
  CHECK(read.ok());
  CHECK(next == entries.size());
}

TEST_CASE("bundles of parts become one when they are merged", "[checkpoint]") {
  const TestFolder folder;
  const Shape whole{5, 3};
  const Tensor first = rows(0, 2, 3), second = rows(6, 3, 3);
  Tensor texts = Tensor::allocate(DType::kString, Shape{2}).take();
  texts.data<std::string>()[1] = std::string("a\0b", 3);
  const TensorToSave a[] = {{"w", first, whole, {{0, 0}, {2, 3}}}, {"texts", texts, texts.shape(), {}}};
  const TensorToSave b[] = {{"w", second, whole, {{2, 0}, {3, 3}}}};
  REQUIRE(write_bundle(folder.file("a"), a).ok());
  REQUIRE(write_bundle(folder.file("b"), b).ok());
  const std::string both[] = {folder.file("a"), folder.file("b")};
  REQUIRE(merge_bundles(both, folder.file("all"), false).ok());
  CHECK_FALSE(std::filesystem::exists(folder.file("a.index")));
  Result<std::optional<TensorBundle>> bundle = TensorBundle::find(folder.file("all"));
  REQUIRE((bundle.ok() && *bundle));
  Result<Tensor> w = (*bundle)->read("w");
  REQUIRE(w.ok());
  CHECK(w->shape() == whole);
  for (int i = 0; i < 15; ++i) CHECK(w->data<float>()[i] == static_cast<float>(i));
  Result<Tensor> part = (*bundle)->read("w", {{1, 1}, {3, 2}});
  REQUIRE(part.ok());
  CHECK(part->data<float>()[0] == 4);
  CHECK(part->data<float>()[5] == 11);
  CHECK((*bundle)->read("texts")->data<std::string>()[1] == std::string("a\0b", 3));
}

TEST_CASE("a changed byte of a text is told", "[checkpoint]") {
  const TestFolder folder;
  Tensor texts = Tensor::allocate(DType::kString, Shape{1}).take();
  texts.data<std::string>()[0] = "word";
  const TensorToSave one[] = {{"t", texts, texts.shape(), {}}};
  REQUIRE(write_bundle(folder.file("p"), one).ok());
  std::fstream data(folder.file("p.data-00000-of-00001"), std::ios::in | std::ios::out | std::ios::binary);
  data.seekp(-1, std::ios::end).put('s');
  data.close();
  Result<std::optional<TensorBundle>> bundle = TensorBundle::find(folder.file("p"));
  REQUIRE((bundle.ok() && *bundle));
  CHECK((*bundle)->read("t").status().message() == "p.data-00000-of-00001: tensor 't' is damaged (checksum)");
}

TEST_CASE("what cannot be in one checkpoint is refused", "[checkpoint]") {
  const TestFolder folder;
  const Tensor t = rows(0, 2, 3);
  const TensorToSave twice[] = {{"w", t, t.shape(), {}}, {"w", t, t.shape(), {}}};
  CHECK(write_bundle(folder.file("p"), twice).message().find("'w' stands twice") != std::string::npos);
  const TensorToSave outside[] = {{"w", t, Shape{3, 3}, {{2, 0}, {2, 3}}}};
  CHECK_FALSE(write_bundle(folder.file("p"), outside).ok());
  const std::string none[] = {folder.file("none")};
  CHECK(merge_bundles(none, folder.file("all"), false).code() == Code::kNotFound);
  CHECK(merge_bundles(none, folder.file("all"), true).ok());
}
