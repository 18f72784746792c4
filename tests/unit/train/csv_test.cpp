#include "core/train/csv.h"

#include <catch2/catch.hpp>

namespace emplace {
namespace {

struct Read {
  CsvTable table;
  std::string problems;
};

Read read(const std::string& text, const std::vector<CsvSelection>& selections,
          std::optional<bool> header = std::nullopt) {
  auto source = Source::from_text("d.csv", text);
  Problems problems;
  Read r{read_csv(*source, header, selections, problems), {}};
  r.problems = problems.to_string(*source);
  return r;
}

std::vector<float> floats(const Tensor& t) { return {t.flat<float>().begin(), t.flat<float>().end()}; }

CsvSelection all(std::string columns = "") { return {std::move(columns), "x", DType::kFloat, 1, 0}; }

}  // namespace

TEST_CASE("CSV: ranges, single columns and names; a header line is noticed") {
  Read r = read("a,b,c,d\n1,2,3,4\n5,6,7,8\n", {all("0-1"), all("d"), all("c,a")});
  REQUIRE(r.problems.empty());
  CHECK(r.table.arrays[0].shape() == Shape{2, 2});
  CHECK(floats(r.table.arrays[0]) == std::vector<float>{1, 2, 5, 6});
  CHECK(floats(r.table.arrays[1]) == std::vector<float>{4, 8});
  CHECK(floats(r.table.arrays[2]) == std::vector<float>{3, 1, 7, 5});
}

TEST_CASE("CSV: doubled quotes, also very many of them") {
  const std::string quotes(2'000'000, '"');
  CsvSelection text{"0", "x", DType::kString, 1, 0};
  Read r = read("\"a\"\"b\"\n\"\"\"\"\n\"" + quotes + "\"\n\"\"\nc\"\"\n", {text}, false);
  REQUIRE(r.problems.empty());
  const std::string* texts = r.table.arrays[0].data<std::string>();
  CHECK(texts[0] == "a\"b");
  CHECK(texts[1] == "\"");
  CHECK(texts[2] == std::string(1'000'000, '"'));
  CHECK(texts[3].empty());
  CHECK(texts[4] == "c\"\"");
}

TEST_CASE("CSV: a first row with a bad field is not a header") {
  CHECK(read("1,x\n3,4\n", {all()}).problems.starts_with("d.csv:1:3: column 1: found 'x', wanted a number"));
  CHECK(read("1,,0\n3,4,1\n", {all()}).problems.starts_with("d.csv:1:3: column 1: an empty field"));
  CHECK(read("1e999,2\n3,4\n", {all()}).problems.starts_with("d.csv:1:1: column 0: found '1e999'"));
  CHECK(read("1,x\n3,4\n", {all()}).problems.find("\"header\": true") != std::string::npos);
  CHECK(read("1,x\n3,4\n", {all()}, true).problems.empty());
  CHECK(read("0,1,label\n3,4,5\n", {all()}).table.lines.size() == 1);  // as pandas writes it
  CHECK(read(",a,b\n0,4,5\n", {all()}).table.lines.size() == 1);
}

TEST_CASE("CSV: quotes, CRLF, a byte order mark, blank lines, no newline at the end") {
  Read r = read("\xef\xbb\xbf\"1\",\" 2 \"\r\n\r\n-3.5e1,4", {all()});
  REQUIRE(r.problems.empty());
  CHECK(floats(r.table.arrays[0]) == std::vector<float>{1, 2, -35, 4});
  CHECK(r.table.lines.size() == 2);
}

TEST_CASE("CSV: scale and offset, rounded once; integers stay whole") {
  Read r = read("3\n", {{"0", "x", DType::kFloat, 0.1, 1}, {"0", "n", DType::kInt64, 1, 0}});
  REQUIRE(r.problems.empty());
  CHECK(floats(r.table.arrays[0]) == std::vector<float>{static_cast<float>(3 * 0.1 + 1)});
  CHECK(*r.table.arrays[1].data<int64_t>() == 3);
}

TEST_CASE("CSV: text columns keep commas, quotes and line breaks") {
  Read r = read("\"a,\"\"b\"\"\nc\",1\n", {{"0", "s", DType::kString, 1, 0}, all("1")}, false);
  REQUIRE(r.problems.empty());
  CHECK(*r.table.arrays[0].data<std::string>() == "a,\"b\"\nc");
}

TEST_CASE("CSV: what is wrong is told with line and column") {
  CHECK(read("1,2\n3,x\n", {all()}).problems.starts_with("d.csv:2:3: column 1: found 'x', wanted a number"));
  CHECK(read("1,2\n3\n", {all()}).problems.starts_with("d.csv:2:1: found 1 column, wanted 2"));
  CHECK(read("1,2\n", {all("0-5")}).problems.starts_with("d.csv:1:1: feed 'x': found 2 columns, wanted column 5"));
  CHECK(read("left,right\n1,2\n", {all("rihgt")}).problems.find("did you mean 'right'?") != std::string::npos);
  CHECK(read("1,\n", {all()}, false).problems.starts_with("d.csv:1:3: column 1: an empty field"));
  CHECK(read("1,2.5\n", {{"1", "n", DType::kInt64, 1, 0}})
            .problems.starts_with("d.csv:1:3: column 1: found 2.5, wanted a whole number"));
  CHECK(read("300\n", {{"0", "n", DType::kUInt8, 1, 0}})
            .problems.starts_with("d.csv:1:1: column 0: 300 is out of the range of uint8"));
  CHECK(read("1,\"2\n", {all()}, false).problems.find("a quote out of place") != std::string::npos);
  CHECK(read("", {all()}).problems.starts_with("d.csv:1:1: an empty file"));
  CHECK(read("a,b\n", {all()}).problems.find("a header and no rows") != std::string::npos);
  CHECK(read("1\n", {all("3-0")}).problems.find("d.csv:1:1") == 0);
}

}  // namespace emplace
